package api

import (
	"github.com/stele-dev/stele/hook"
	"github.com/stele-dev/stele/memory"
	"github.com/stele-dev/stele/review"
	"github.com/stele-dev/stele/session"
)

// Domain is the domain packages as one value: what every door asks. No two of them have a method of the same name.
type Domain struct {
	*MemoryService
	*SessionService
	*ReviewService
	*HookService
}

// The names under which the services are parts of a Domain.
//
//nolint:revive // one comment for them all
type (
	MemoryService  = memory.Service
	SessionService = session.Service
	ReviewService  = review.Service
	HookService    = hook.Service
)

var _ Service = Domain{}

// Store keeps what the domain packages beside memory need.
type Store interface {
	session.Store
	review.Store
	hook.Store
}

// NewDomain puts the other domain packages beside memory, on the same database.
func NewDomain(m *memory.Service, s Store) Domain {
	sessions := session.New(m, s)
	m = m.WithWorkers(sessions)
	return Domain{MemoryService: m, SessionService: sessions, ReviewService: review.New(m, s), HookService: hook.New(m, sessions, s)}
}
