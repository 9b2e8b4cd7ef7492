package memory_test

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/stele-dev/stele/memory"
)

// Values that no list or recall could show do not get into the database, whoever writes them.
func TestImpossibleValuesAreRefused(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := newWorld(t, nil)
	m := w.remember(memory.RememberRequest{Content: "what is counted is not below nothing"}).Memory
	owner := w.h.database.ConnectAdmin(t)
	for _, set := range []string{"citations = -1", "ignored_by = -1", "confirmations = -1", "served = -1", "term_count = -1", "revision = 0", "confirmed_at = 'infinity'",
		"created_at = '-infinity'", "expires_at = 'infinity'", "confirmed_at = '10000-01-01'", "expires_at = '0044-03-15 BC'"} {
		_, err := owner.Exec(ctx, `UPDATE memories SET `+set+` WHERE memory_id = $1`, m.ID)
		var refused *pgconn.PgError
		if !errors.As(err, &refused) || refused.Code != "23514" {
			t.Errorf("%s: %v, want a violated check", set, err)
		}
	}
	if _, err := owner.Exec(ctx, `UPDATE memories SET citations = 0, expires_at = '9999-12-31 23:59:59Z' WHERE memory_id = $1`, m.ID); err != nil {
		t.Error(err)
	}
}

// A list with a hole has no place in a program's list, so no array of any table holds one.
func TestArraysHaveNoHoles(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := newWorld(t, nil)
	w.remember(memory.RememberRequest{Content: "every word of this is some number", Elements: []string{"shop.web"}, Tags: []string{"numbers"}})
	owner := w.h.database.ConnectAdmin(t)
	for _, set := range []string{"memory_terms SET terms = '{NULL,1,NULL}'", "memory_terms SET tags = '{NULL}'", "elements SET tags = '{a,NULL}'"} {
		_, err := owner.Exec(ctx, `UPDATE `+set)
		var refused *pgconn.PgError
		if !errors.As(err, &refused) || refused.Code != "23514" {
			t.Errorf("%s: %v, want a violated check", set, err)
		}
	}
	rows, err := owner.Query(ctx, `SELECT c.relname || '.' || a.attname FROM pg_class c
		JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped JOIN pg_type t ON t.oid = a.atttypid AND t.typcategory = 'A'
		WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT EXISTS (SELECT FROM pg_constraint k
			WHERE k.conrelid = c.oid AND k.contype = 'c' AND strpos(pg_get_constraintdef(k.oid), format('array_position(%I, NULL', a.attname)) > 0)`)
	w.must(err)
	unchecked, err := pgx.CollectRows(rows, pgx.RowTo[string])
	w.must(err)
	if len(unchecked) > 0 {
		t.Errorf("arrays that may have holes: %v", unchecked)
	}
}
