package api

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/api/auth"
	"github.com/stele-dev/stele/internal/problem"
)

// slots bound what is worked on at once, in all and for each caller: a request occupies one from its head on, so whoever
// sends bodies slowly would keep everybody else out.
type slots struct {
	size     int // of all
	perToken int

	mu     sync.Mutex
	used   int
	orgs   map[uuid.UUID]int
	tokens map[uuid.UUID]int
}

func newSlots(size int) *slots {
	return &slots{size: size, perToken: max(1, size/8), orgs: map[uuid.UUID]int{}, tokens: map[uuid.UUID]int{}}
}

// take occupies a slot. An organization may have as many as are free: alone half of all, beside others half of what they
// leave, so that there is room for one that comes; as requests end, the shares of those that want more become equal.
func (s *slots) take(org, token uuid.UUID) (give func(), err *problem.Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch free := s.size - s.used; {
	case free == 0:
		return nil, problem.New(problem.Unavailable, "", "the server is working on as many requests as it can", "try again in a moment")
	case s.tokens[token] >= s.perToken:
		return nil, problem.New(problem.TooMany, "", "the server is working on as many requests of this token as it may have at once", "wait for the answers before sending more")
	case s.orgs[org] >= free:
		return nil, problem.New(problem.TooMany, "", "the server is working on as many requests of this organization as it may have at once", "try again in a moment")
	}
	s.used++
	s.orgs[org]++
	s.tokens[token]++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.used--
		drop(s.orgs, org)
		drop(s.tokens, token)
	}, nil
}

func drop(counts map[uuid.UUID]int, id uuid.UUID) {
	if counts[id]--; counts[id] == 0 {
		delete(counts, id)
	}
}

// answerTimeout is how long a request is worked on: less than its connection is held for, so that whoever asked is told.
const answerTimeout = 55 * time.Second

// bounded works on so many requests at once and tells the others to come back: a queue without end helps nobody. Streams do
// no work and are counted by the gate.
func bounded(s *slots, streams func(*http.Request) bool, refused func(reason string), next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if streams(r) {
			next.ServeHTTP(w, r)
			return
		}
		c, t, err := auth.CallerFrom(r.Context())
		if p, ok := problem.As(err); ok { // somebody mounted it past the gate
			auth.Refuse(w, p)
			return
		}
		give, busy := s.take(c.Org, t.ID)
		if busy != nil {
			refused("busy")
			auth.Refuse(w, busy)
			return
		}
		defer give()
		ctx, cancel := context.WithTimeout(r.Context(), answerTimeout)
		defer cancel()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}
