package postgres

import (
	"context"
	"fmt"

	"github.com/stele-dev/stele/memory"
)

// Loaded is a memory for Load: a live one in its first revision, with what became of it since.
type Loaded struct {
	memory.Record
	Attached []memory.Attachment
	CitedBy  []string  // sessions that relied on it
	Vector   []float32 // nil for none
}

// Load puts new memories into one space, all in one transaction: what remembering them one by one would leave behind, at a twentieth of
// the cost, since nothing is looked up. That no two of them restate each other, that titles are free and that texts are clean is up to
// the caller; it is for test data. Space, Seq, Citations and the audit trail are filled in; model is that of the vectors.
func (s *Store) Load(ctx context.Context, by memory.Caller, space memory.SpaceKey, model string, all []Loaded) error {
	return s.Write(ctx, by.Org, []memory.SpaceKey{space}, func(write memory.Tx) error {
		t, ok := write.(*tx)
		if !ok {
			return fmt.Errorf("load within %T", write)
		}
		for i := range all {
			m := &all[i]
			m.Citations = len(m.CitedBy)
			if err := t.add(&m.Record, addition{at: m.Attached, index: memory.IndexOf(&m.Memory), citedBy: m.CitedBy}); err != nil {
				return err
			}
			if err := t.Audit(ctx, by, memory.AuditEntry{At: m.CreatedAt, Verb: memory.VerbRemember, Subject: m.ID, Revision: m.Revision, Space: m.Space}); err != nil {
				return err
			}
			if m.Vector != nil {
				if err := t.SetVector(ctx, m.Space, m.Seq, model, m.Vector); err != nil {
					return err
				}
			}
		}
		return nil
	})
}
