package api

import (
	"time"

	"github.com/google/uuid"
)

// Hurry makes a server as impatient as a test.
func (s *Server) Hurry(d time.Duration) { s.timeouts = timeouts{header: d, read: d, write: d, idle: d} }

// Slots are those of a server that works on so many requests at once.
type Slots struct{ *slots }

// NewSlots makes them.
func NewSlots(size int) Slots { return Slots{newSlots(size)} }

// Take occupies one; nil when there is none.
func (s Slots) Take(org, token uuid.UUID) (give func()) {
	give, _ = s.take(org, token)
	return give
}

// Known tells how many organizations and tokens are counted.
func (s Slots) Known() (orgs, tokens int) { return len(s.orgs), len(s.tokens) }
