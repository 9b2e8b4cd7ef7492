package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/stele-dev/stele/internal/secret"
	"github.com/stele-dev/stele/memory"
)

// whole looks at what only the keys can tell, in the transaction of its view.
type whole struct {
	view
	sample int
}

// opens tells whether every sealed text opens: those of memories are named by handle, others by their place.
func (w *whole) opens(ctx context.Context) (memory.Invariant, error) {
	out := memory.Invariant{ID: "texts", Claim: "every sealed text opens with the keys at hand", Subjects: []string{}}
	var total int64
	for _, c := range sealedColumns() {
		var n int64
		if err := w.tx.QueryRow(ctx, fmt.Sprintf(`SELECT count(%s) FROM %s WHERE org_id = $1`, c.Column.Column, c.Table), w.org).Scan(&n); err != nil {
			return out, err
		}
		total += n
	}
	part := share(total, w.sample)
	for _, c := range sealedColumns() {
		if err := w.openColumn(ctx, c, part, &out); err != nil {
			return out, fmt.Errorf("%s.%s: %w", c.Table, c.Column.Column, err)
		}
	}
	return out, nil
}

// openColumn opens the texts of one column, one after the other as they arrive.
func (w *whole) openColumn(ctx context.Context, c sealedColumn, part float64, out *memory.Invariant) error {
	subject := "NULL::text"
	if slices.ContainsFunc(c.Key, func(k secret.KeyColumn) bool { return k.Name == "memory_id" }) {
		subject = "(SELECT m.handle FROM memories m WHERE m.org_id = $1 AND m.memory_id = t.memory_id)"
	}
	rows, err := w.tx.Query(ctx, fmt.Sprintf(`SELECT ARRAY[%s], %s, %s FROM %s t WHERE org_id = $1 AND %[2]s IS NOT NULL AND ($2::float8 >= 1 OR random() < $2)`,
		strings.Join(c.Row(), ", "), c.Column.Column, subject, c.Table), w.org, part)
	if err != nil {
		return err
	}
	var row []string
	var sealed []byte
	var handle *string
	_, err = pgx.ForEachRow(rows, []any{&row, &sealed, &handle}, func() error {
		out.Checked++
		_, err := w.keys.Open(c.Location(row), sealed)
		if errors.Is(err, secret.ErrAltered) || errors.Is(err, secret.ErrUnknownKey) {
			name := fmt.Sprintf("%s %s", c.Table, strings.Join(row, " "))
			if handle != nil {
				name = fmt.Sprintf("%s (%s %s)", *handle, c.Table, row[len(row)-1])
			}
			contradict(out, name)
			return nil
		}
		return err
	})
	return err
}

func contradict(out *memory.Invariant, subject string) {
	out.Broken++
	if len(out.Subjects) < memory.MaxSubjects {
		out.Subjects = append(out.Subjects, subject)
	}
}

// terms tells whether live memories are found by the words of their texts as they are. Those that do not open are told by
// opens and left out here.
func (w *whole) terms(ctx context.Context) (memory.Invariant, error) {
	out := memory.Invariant{ID: "words", Claim: "a live memory is found by the words of its text, as this program finds words", Subjects: []string{}}
	var live int64
	if err := w.tx.QueryRow(ctx, `SELECT count(*) FROM `+liveMemories, w.org).Scan(&live); err != nil {
		return out, err
	}
	part := share(live, w.sample)
	for last := uuid.Nil; ; {
		// What lacks its entry, its text or its space is told above.
		rows, err := w.tx.Query(ctx, `SELECT m.memory_id, m.title_hash, m.text_hash, array_remove(t.terms, NULL), array_remove(t.tags, NULL) FROM memories m
			JOIN memory_terms t ON t.org_id = m.org_id AND t.space_id = m.space_id AND t.seq = m.seq
			JOIN memory_versions v ON v.org_id = m.org_id AND v.memory_id = m.memory_id AND v.revision = m.revision
			JOIN spaces s ON s.org_id = m.org_id AND s.space_id = m.space_id
			WHERE m.org_id = $1 AND m.status = 'live' AND m.memory_id > $2 AND ($3::float8 >= 1 OR random() < $3) ORDER BY m.memory_id LIMIT $4`,
			w.org, last, part, indexPage)
		if err != nil {
			return out, err
		}
		stored := map[uuid.UUID]entry{}
		var ids []uuid.UUID
		var id uuid.UUID
		var e entry
		_, err = pgx.ForEachRow(rows, []any{&id, &e.title, &e.text, &e.terms, &e.tags}, func() error {
			ids, stored[id] = append(ids, id), e
			last, e = id, entry{}
			return nil
		})
		if err != nil || len(ids) == 0 {
			return out, err
		}
		records, err := w.Records(ctx, ids)
		if err != nil {
			return out, err
		}
		for i := range records {
			r := &records[i]
			if r.Unreadable() {
				continue
			}
			out.Checked++
			if !stored[r.ID].equal(w.entry(memory.IndexOf(&r.Memory))) {
				contradict(&out, r.Handle)
			}
		}
	}
}

// equal compares what a memory is found by.
func (e entry) equal(o entry) bool {
	return slices.Equal(e.terms, o.terms) && slices.Equal(e.tags, o.tags) && bytes.Equal(e.title, o.title) && bytes.Equal(e.text, o.text)
}
