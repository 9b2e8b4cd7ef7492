package memory

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// Health is how an organization stands, in counts and times: nothing of it quotes a memory.
type Health struct {
	Keys     KeyHealth
	Models   []VectorCount   // vectors of each model, by its name
	Backlog  BacklogHealth   // of the configured model
	Projects []ProjectHealth // by name

	Memories    StatusCounts
	TextBytes   int64 // sealed texts, of all versions
	Postings    int64 // rows of the index of words
	Impressions int64 // rows that tell what was shown to whom, as far as they are not folded yet
	Sessions    int64 // work sessions, as far as they are kept
	Runs        int64 // of drift, as far as they are kept
	Trail       int64 // lines of the trail

	LastMemory *time.Time // when the newest memory was written; nil: none yet
	LastServed *time.Time // when a memory was last shown to anybody; nil: never, or longer ago than impressions are kept
}

// KeyHealth is how an organization's keys stand. Ids name keys and tell nothing about them.
type KeyHealth struct {
	Since       time.Time // of the organization: what was never changed is as old
	Changes     int       // of its keysets since then
	MasterKey   string    // id of the master key that wraps both keysets
	IndexKey    string    // id of the key of its hashes
	DataKeys    int       // 1, more while a rotation is under way
	SealedOlder int       // texts that an older data key sealed; counted only while there is more than one
}

// VectorCount is what there is of a model.
type VectorCount struct {
	ModelCount
	Dimensions int
}

// BacklogHealth is what waits for a vector.
type BacklogHealth struct {
	Model   string // of the configured provider; "" for none, and then nothing waits
	Waiting int
	Refused int        // live memories that the model does not embed
	Oldest  *time.Time // when the oldest of those that wait was written; nil: none waits
}

// ProjectHealth is how the model of a project stands, and its comparison with the code.
type ProjectHealth struct {
	ID         uuid.UUID
	Name       string
	Elements   int        // of its model, those that stand for no code (people, what is outside) included
	Unbound    int        // containers and components in scope that have no binding, nor has anything below them
	Bound      bool       // some element has a binding
	ImportedAt *time.Time // nil: no model was imported
	RanAt      *time.Time // the newest run; nil: none
}

// Invariant is one statement that holds of every organization whose data is whole, and what was found of it.
type Invariant struct {
	ID       string   `json:"id"`       // stable
	Claim    string   `json:"claim"`    // the statement, in words
	Checked  int64    `json:"checked"`  // rows or texts that were looked at
	Broken   int64    `json:"broken"`   // that contradict it
	Subjects []string `json:"subjects"` // some of these, by ids and handles, at most MaxSubjects
}

// MaxSubjects bounds how many contradictions of one Invariant are named.
const MaxSubjects = 20

// healthStore tells how an organization stands.
type healthStore interface {
	// KeyHealth tells how the keys of an organization stand.
	KeyHealth(ctx context.Context, org uuid.UUID) (KeyHealth, error)
	// Health counts, with the backlog of a model.
	Health(ctx context.Context, org uuid.UUID, model string) (Health, error)
	// Invariants looks at everything an organization has, on one snapshot. Of the live memories, and of all sealed texts, it
	// opens about sample; 0 = all of them. The order is stable.
	Invariants(ctx context.Context, org uuid.UUID, sample int) ([]Invariant, error)
}

// Diagnoses refuses a caller who may not know how the organization as a whole stands: who is no admin of all of it.
func (c Caller) Diagnoses() error { return c.administers("looking after the organization") }

// KeyHealth tells how the keys of the caller's organization stand. It needs the admin role.
func (s *Service) KeyHealth(ctx context.Context, c Caller) (KeyHealth, error) {
	if err := c.Diagnoses(); err != nil {
		return KeyHealth{}, err
	}
	h, err := s.store.KeyHealth(ctx, c.Org)
	return h, wrap("keys", err)
}

// Health tells how the caller's organization stands. It needs the admin role, and reads counts of whole tables: for
// questions that somebody asks, not for every page.
func (s *Service) Health(ctx context.Context, c Caller) (Health, error) {
	if err := c.Diagnoses(); err != nil {
		return Health{}, err
	}
	h, err := s.store.Health(ctx, c.Org, s.embedder.Model())
	if err != nil {
		return Health{}, fmt.Errorf("health: %w", err)
	}
	return h, nil
}

// Invariants tells whether the data of the caller's organization is whole. It needs the admin role and reads everything;
// sample bounds how many texts are opened, 0 opens all.
func (s *Service) Invariants(ctx context.Context, c Caller, sample int) ([]Invariant, error) {
	if err := c.Diagnoses(); err != nil {
		return nil, err
	}
	found, err := s.store.Invariants(ctx, c.Org, max(sample, 0))
	if err != nil {
		return nil, fmt.Errorf("invariants: %w", err)
	}
	return found, nil
}
