package postgres

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/stele-dev/stele/internal/postgres"
	"github.com/stele-dev/stele/internal/postgres/pgtest"
	"github.com/stele-dev/stele/internal/secret"
	"github.com/stele-dev/stele/memory"
)

// eraseOne erases a memory as far as answers are concerned.
func eraseOne(ctx context.Context, s *Store, org uuid.UUID, key memory.SpaceKey) error {
	return s.Write(ctx, org, []memory.SpaceKey{key}, func(w memory.Tx) error {
		return w.Erase(ctx, &memory.Record{Memory: memory.Memory{ID: uuid.New(), Status: memory.Retired}, Space: w.Space(key).ID}, time.Now())
	})
}

// answer answers a write under a key, doing something between its beginning and its end.
func answer(ctx context.Context, s *Store, org uuid.UUID, space memory.SpaceKey, key byte, during func() error) error {
	return s.Write(ctx, org, []memory.SpaceKey{space}, func(w memory.Tx) error {
		if _, _, err := w.Answered(ctx, [32]byte{key}); err != nil {
			return err
		}
		if err := during(); err != nil {
			return err
		}
		return w.Answer(ctx, memory.Answer{Key: [32]byte{key}, At: time.Now(), Body: []byte(`{}`)})
	})
}

// given tells whether an answer is there and is given.
func given(t *testing.T, s *Store, org uuid.UUID, key byte) (found, whole bool) {
	t.Helper()
	err := s.View(context.Background(), org, func(v memory.View) error {
		a, there, err := v.(*view).Answered(context.Background(), [32]byte{key})
		found, whole = there, a.Body != nil
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found, whole
}

func nothing() error { return nil }

// An erasure takes every answer that may quote the memory, also of writes that it meets, and waits for nobody who holds one.
func TestErasureTakesAnswers(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s, _, org := keysStore(t)
	a, b := memory.SpaceKey{Scope: memory.Personal, Owner: "a"}, memory.SpaceKey{Scope: memory.Personal, Owner: "b"}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(answer(ctx, s, org, a, 1, nothing))
	must(answer(ctx, s, org, b, 2, nothing))
	must(s.db.InOrg(ctx, org, postgres.TxOptions{}, func(held pgx.Tx) error {
		if _, err := held.Exec(ctx, `SELECT FROM answers WHERE org_id = $1 AND key_hash = $2 FOR UPDATE`, org, append([]byte{1}, make([]byte, 31)...)); err != nil {
			return err
		}
		return answer(ctx, s, org, a, 3, func() error { return eraseOne(ctx, s, org, b) })
	}))
	must(answer(ctx, s, org, a, 4, nothing))
	for key, want := range map[byte]bool{1: false, 2: false, 3: false, 4: true} {
		if found, whole := given(t, s, org, key); !found || whole != want {
			t.Errorf("answer %d: there %v, given %v; want given %v", key, found, whole, want)
		}
	}
	bodies := func() (n int) {
		t.Helper()
		must(s.db.InOrg(ctx, org, postgres.TxOptions{ReadOnly: true}, func(t pgx.Tx) error {
			return t.QueryRow(ctx, `SELECT count(body) FROM answers WHERE org_id = $1`, org).Scan(&n)
		}))
		return n
	}
	if n := bodies(); n != 3 { // the one that was held and the one that was not there yet, besides the last
		t.Errorf("%d bodies are left after the erasure, want that of answer 2 to be destroyed at once", n)
	}
	if n, err := s.DropAnswers(ctx, org, time.Time{}); err != nil || n != 0 {
		t.Errorf("dropped %d, %v", n, err)
	}
	if n := bodies(); n != 1 {
		t.Errorf("%d bodies are left, want the one that is given", n)
	}
}

// However many answers there are, they are removed a page at a time.
func TestAnswersAreDroppedInPages(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	d := pgtest.NewDatabase(t)
	master, err := secret.GenerateMaster()
	if err != nil {
		t.Fatal(err)
	}
	s := New(d.DB, master)
	org, err := s.CreateOrganization(ctx, "o", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	const many = 2*answersPage + 7
	for sql, args := range map[string][]any{
		`CREATE FUNCTION few() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			IF (SELECT count(*) FROM gone) > 1000 THEN RAISE 'too many at once'; END IF; RETURN NULL; END $$;
		CREATE TRIGGER few AFTER DELETE ON answers REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION few()`: nil,
		`INSERT INTO answers (org_id, key_hash, answered_at, erasures, body)
			SELECT $1, sha256(i::text::bytea), '2020-01-01'::timestamptz + i * interval '1 s', 0, 'x' FROM generate_series(1, $2::int) i`: {org, many},
		`INSERT INTO answers (org_id, key_hash, answered_at, erasures) VALUES ($1, 'kept', '2021-01-01', 0)`: {org},
	} {
		if _, err := d.ConnectAdmin(t).Exec(ctx, sql, args...); err != nil {
			t.Fatal(err)
		}
	}
	n, err := s.DropAnswers(ctx, org, time.Date(2020, 6, 1, 0, 0, 0, 0, time.UTC))
	if err != nil || n != many {
		t.Errorf("%d were dropped, %v; want %d", n, err, many)
	}
}
