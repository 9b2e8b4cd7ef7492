package session

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

// What the trail records of sessions; the subject is the session.
const (
	VerbStart   memory.Verb = "start_session"
	VerbAdopt   memory.Verb = "adopt_session"
	VerbReopen  memory.Verb = "reopen_session"
	VerbFinish  memory.Verb = "finish_session"
	VerbExpire  memory.Verb = "expire_session"
	VerbCancel  memory.Verb = "cancel_session"
	namePrefix              = "ws-"
	nameLength              = 7 // base32 characters, as of a memory's handle
	clientField             = "sessionId"
)

// Service is work sessions behind every door. It is safe for concurrent use.
type Service struct {
	memory *memory.Service
	store  Store
	beats  beats
}

// New makes a Service beside a memory.Service on the same database.
func New(m *memory.Service, store Store) *Service { return &Service{memory: m, store: store} }

var nameEncoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

func newName() string {
	var b [5]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand)
	return namePrefix + nameEncoding.EncodeToString(b[:])[:nameLength]
}

// IsName tells whether a reference has the form of a session's name; anything else is an id of a client.
func IsName(ref string) bool {
	if len(ref) != len(namePrefix)+nameLength || !strings.HasPrefix(ref, namePrefix) {
		return false
	}
	_, err := nameEncoding.DecodeString(ref[len(namePrefix):] + "a")
	return err == nil
}

// keyPrefix begins what an id of a client is kept as.
const keyPrefix = "c-"

// keyOf is what a reference of a user is kept as: a session's name as it is, an id of a client as a hash that is the user's own.
// So nobody speaks for another's client by an id they saw, and the database holds none.
func keyOf(user, ref string) string {
	if ref == "" || IsName(ref) || isKey(ref) {
		return ref
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q", user, ref))
	return keyPrefix + nameEncoding.EncodeToString(sum[:])[:keyLength]
}

// keyLength is 130 bits in base32: two ids never meet.
const keyLength = 26

func isKey(ref string) bool {
	return len(ref) == len(keyPrefix)+keyLength && strings.HasPrefix(ref, keyPrefix)
}

func unknown(ref string) error {
	detail := fmt.Sprintf("no work session %q of yours is known here", clip(ref))
	if isKey(ref) { // nobody gave it
		detail = "no work session of yours is open here"
	}
	return problem.New(problem.NotFound, clientField, detail, "start one with start_work_session (stele session start), or leave the id out")
}

// clip cuts a text for an error.
func clip(s string) string {
	const most = 80
	if s = memory.Line(s); len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}

// projectSpace is what a change of who works where holds.
func projectSpace(project uuid.UUID) memory.SpaceKey {
	return memory.SpaceKey{Scope: memory.Project, Owner: project.String()}
}

// Arrive is what every call of a session passes: it is the session's sign of life. It gives the caller with the session's name
// for whatever id the client knows it by. An id that no open session has gets a name of its own: what it is shown becomes part of
// the session that is started under it next. An expired session goes on. A name that is no session of the caller is an error.
func (s *Service) Arrive(ctx context.Context, c memory.Caller) (memory.Caller, error) {
	if c.Session == "" || c.Role == memory.RoleCI {
		return c, nil
	}
	if err := c.Check(); err != nil {
		return c, err
	}
	c.Session = keyOf(c.User, c.Session)
	now := s.memory.Now()
	if s.beats.fresh(c, now) {
		return c, nil
	}
	found, ok, err := s.store.Beat(ctx, c.Org, c.User, c.Session, now)
	switch {
	case err != nil:
		return c, fmt.Errorf("work session: %w", err)
	case !ok && IsName(c.Session):
		return c, unknown(c.Session)
	case !ok:
		return c, nil
	case found.State == Expired:
		if err := s.reopen(ctx, c, found); err != nil {
			return c, fmt.Errorf("work session: %w", err)
		}
	case found.State != Active:
		return c, nil
	}
	c.Session = found.Name
	s.beats.note(c, now)
	return c, nil
}

// beatEvery is how often the signs of life of a session are written: seldom enough to cost nothing, often enough for Lifetime.
const beatEvery = time.Minute

// beats remembers which sessions, by name, showed life a moment ago in this process.
type beats struct {
	mu   sync.Mutex
	last map[beatKey]time.Time
}

type beatKey struct {
	org        uuid.UUID
	user, name string
}

// mostBeats bounds what is remembered; beyond it everything is forgotten, which costs one write per session.
const mostBeats = 10_000

func (b *beats) fresh(c memory.Caller, now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	at, ok := b.last[beatKey{c.Org, c.User, c.Session}]
	return ok && now.Sub(at) < beatEvery && !now.Before(at)
}

func (b *beats) note(c memory.Caller, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.last == nil || len(b.last) >= mostBeats {
		b.last = map[beatKey]time.Time{}
	}
	b.last[beatKey{c.Org, c.User, c.Session}] = now
}

func (b *beats) forget(c memory.Caller, name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.last, beatKey{c.Org, c.User, name})
}

// write changes sessions of the caller's project.
func (s *Service) write(ctx context.Context, c memory.Caller, fn func(Tx) error) error {
	if err := c.Check(); err != nil {
		return err
	}
	if c.Project == uuid.Nil {
		return noProject()
	}
	for range memory.MaxDraws {
		if err := s.store.WriteSessions(ctx, c.Org, []memory.SpaceKey{projectSpace(c.Project)}, fn); !errors.Is(err, memory.ErrTaken) {
			return err
		}
	}
	return problem.New(problem.Conflict, "", "this write kept meeting others", "try again")
}

// view reads sessions of the caller's project.
func (s *Service) view(ctx context.Context, c memory.Caller, fn func(View) error) error {
	if err := c.Check(); err != nil {
		return err
	}
	if c.Project == uuid.Nil {
		return noProject()
	}
	return s.store.ViewSessions(ctx, c.Org, fn)
}

func noProject() error {
	return problem.Invalidf("project", "no project is chosen").Fix("name one, or run `stele init` in the repository")
}

// own finds a session of the caller in its project, by what was given or else the caller's own.
func own(ctx context.Context, v View, c memory.Caller, ref string) (Stored, error) {
	if ref == "" {
		ref = c.Session
	}
	if ref == "" {
		return Stored{}, problem.Invalidf(clientField, "no work session is named").Fix("pass the session_id that start_work_session gave")
	}
	found, ok, err := v.Session(ctx, c.User, keyOf(c.User, ref))
	switch {
	case err != nil:
		return Stored{}, err
	case !ok:
		return Stored{}, unknown(ref)
	case found.Project != c.Project:
		return Stored{}, problem.New(problem.NotFound, clientField, fmt.Sprintf("the work session %s is of another project", found.Name),
			"name the project it was started in")
	}
	return found, nil
}

// author is who a session is of, as a caller.
func (st Stored) author(org uuid.UUID) memory.Caller {
	return memory.Caller{Org: org, Project: st.Project, Agent: st.Agent, User: st.User, Role: memory.RoleAgent, Door: memory.FromSession, Session: st.Name}
}

// by names who a session is of.
func (st Stored) by() string {
	agent := st.Label
	if agent == "" {
		agent = st.Agent
	}
	return memory.AuthorName(agent, st.User)
}
