package memory

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
)

// backlog is the part of a Store that knows which memories lack a vector.
type backlog interface {
	// Waiting gives live memories of the organization with an id above after that have no vector of the model and were not
	// refused by it, by id, at most limit.
	Waiting(ctx context.Context, model string, after uuid.UUID, limit int) ([]uuid.UUID, error)
	// CountWaiting is how many there are in all; it looks at every memory.
	CountWaiting(ctx context.Context, model string, after uuid.UUID) (int, error)
}

// backfillBatch is how many texts are sent to a provider at once, and stored in one transaction of a space at most: a
// remember of that space waits no longer than storing so many vectors takes.
const backfillBatch = 32

// Backfilled tells what a backfill did.
type Backfilled struct {
	Model   string `json:"model"`
	Filled  int    `json:"filled"`  // vectors stored
	Refused int    `json:"refused"` // texts the model cannot embed; they are found by words
	Waiting int    `json:"waiting"` // still without a vector, of those that were when it began
}

// Backfill gives vectors of the configured model to live memories of an organization that have none: written while the
// provider was away, before there was one, or under another model. Several processes may do so at once; a vector is stored
// only while the text is the one it was made of. since limits it to memories written from then on; zero means all. It ends
// with the provider's error when that is away, and goes on where it ended when it is called again.
//
// A late vector never merges two memories: whoever reads them decides.
func (s *Service) Backfill(ctx context.Context, org uuid.UUID, since time.Time, progress func(Backfilled)) (Backfilled, error) {
	out := Backfilled{Model: s.embedder.Model()}
	if out.Model == "" {
		return out, nil
	}
	after := idBefore(since)
	for begun := false; ; begun = true {
		var recs []Record
		var total int
		err := s.store.View(ctx, org, func(v View) error {
			ids, err := v.Waiting(ctx, out.Model, after, backfillBatch)
			if err != nil {
				return err
			}
			if total = len(ids); !begun && total == backfillBatch {
				if total, err = v.CountWaiting(ctx, out.Model, after); err != nil {
					return err
				}
			}
			recs, err = v.Records(ctx, ids)
			return err
		})
		if err != nil {
			return out, fmt.Errorf("backfill: %w", err)
		}
		// Others may write meanwhile, or make vectors: what is looked at now is known, the rest is not counted again.
		if out.Waiting = max(out.Waiting-backfillBatch, total); len(recs) == 0 {
			out.Waiting = 0
		}
		if progress != nil {
			progress(out)
		}
		if len(recs) == 0 {
			return out, nil
		}
		after = recs[len(recs)-1].ID
		if recs = slices.DeleteFunc(recs, func(r Record) bool { return r.Unreadable() }); len(recs) == 0 {
			continue
		}
		if err := s.fill(ctx, org, recs, &out); err != nil {
			return out, fmt.Errorf("backfill: %w", err)
		}
	}
}

// idBefore is an id that sorts before all ids made since a moment: ids are UUIDv7, which begin with milliseconds.
func idBefore(since time.Time) uuid.UUID {
	var id uuid.UUID
	if since.IsZero() {
		return id
	}
	var ms [8]byte
	binary.BigEndian.PutUint64(ms[:], uint64(max(since.UnixMilli(), 0)))
	copy(id[:6], ms[2:])
	return id
}

// fillIn stores a vector; the first that a memory gets shows what it is similar to.
func (s *Service) fillIn(ctx context.Context, tx Tx, r *Record, vector []float32, first bool) error {
	if err := tx.SetVector(ctx, r.Space, r.Seq, s.embedder.Model(), vector); err != nil || !first {
		return err
	}
	return s.noteLate(ctx, tx, r, vector, s.now())
}

// fill embeds the texts of memories and stores the vectors, space by space.
func (s *Service) fill(ctx context.Context, org uuid.UUID, recs []Record, out *Backfilled) error {
	texts := make([]string, len(recs))
	for n := range recs {
		texts[n] = embeddingText(recs[n].Title, recs[n].Content)
	}
	vectors, err := s.embedder.Embed(ctx, texts)
	if err == nil && len(vectors) != len(texts) {
		err = fmt.Errorf("the provider gave %d vectors for %d texts", len(vectors), len(texts))
	}
	if err != nil {
		return err
	}
	bySpace := map[SpaceKey][]int{}
	for n := range recs {
		bySpace[recs[n].spaceKey()] = append(bySpace[recs[n].spaceKey()], n)
	}
	for key, members := range bySpace {
		var filled, refused int
		err := s.store.Write(ctx, org, []SpaceKey{key}, func(tx Tx) error {
			filled, refused = 0, 0
			ids := make([]uuid.UUID, len(members))
			for i, n := range members {
				ids[i] = recs[n].ID
			}
			now, err := tx.Records(ctx, ids)
			if err != nil {
				return err
			}
			current := map[uuid.UUID]*Record{}
			for i := range now {
				current[now[i].ID] = &now[i]
			}
			embedded, err := tx.Embedded(ctx, ids)
			if err != nil {
				return err
			}
			for _, n := range members {
				// Forgotten, erased or changed meanwhile: the vector would be of a text that is no more.
				r := current[recs[n].ID]
				if r == nil || r.Status != Live || r.Title != recs[n].Title || r.Content != recs[n].Content {
					continue
				}
				if !usable(vectors[n]) {
					refused++
					err = tx.RefuseVector(ctx, r.ID, out.Model)
				} else {
					filled++
					err = s.fillIn(ctx, tx, r, vectors[n], !embedded[r.ID])
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		out.Filled += filled
		out.Refused += refused
	}
	return nil
}
