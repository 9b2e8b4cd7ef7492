package api

import (
	"github.com/stele-dev/stele/memory"
	"github.com/stele-dev/stele/review"
	"github.com/stele-dev/stele/session"
)

// Domain is the domain packages as one value: what every door asks. No two of them have a method of the same name.
type Domain struct {
	*MemoryService
	*SessionService
	*ReviewService
}

// The names under which the services are parts of a Domain.
//
//nolint:revive // one comment for the three
type (
	MemoryService  = memory.Service
	SessionService = session.Service
	ReviewService  = review.Service
)

var _ Service = Domain{}

// Store keeps what the domain packages beside memory need.
type Store interface {
	session.Store
	review.Store
}

// NewDomain puts the other domain packages beside memory, on the same database.
func NewDomain(m *memory.Service, s Store) Domain {
	sessions := session.New(m, s)
	return Domain{MemoryService: m.WithWorkers(sessions), SessionService: sessions, ReviewService: review.New(m, s)}
}
