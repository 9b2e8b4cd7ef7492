package postgres

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/stele-dev/stele/internal/postgres/pgtest"
	"github.com/stele-dev/stele/internal/secret"
)

// notSealed are the columns of bytes that hold no ciphertext, by what they hold.
var notSealed = map[string]string{
	"organizations.data_keyset":  "wrapped keys",
	"organizations.index_keyset": "wrapped keys",
	"model_imports.digest":       "hash of a plain model",
	"memories.source_key":        "keyed hash",
	"memories.title_hash":        "keyed hash",
	"memories.text_hash":         "keyed hash",
	"links.target_hash":          "keyed hash",
	"tokens.hash":                "hash of a random token",
	"answers.key_hash":           "hash of a random key",
	"sign_ins.hash":              "hash of a random text",
	"import_keys.source_key":     "keyed hash",
	"element_vectors.text_hash":  "hash of words of the model, which are plain",
}

// Every column of bytes is either sealed anew by a rotation or known not to be sealed; a rotation walks by the primary key.
func TestEverySealedColumnIsRotated(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	conn := pgtest.NewDatabase(t).ConnectOwner(t)
	rows, err := conn.Query(ctx, `
		SELECT c.relname || '.' || a.attname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
		WHERE c.relkind IN ('r', 'p') AND c.relnamespace = 'public'::regnamespace AND a.atttypid = 'bytea'::regtype ORDER BY 1`)
	if err != nil {
		t.Fatal(err)
	}
	inCatalogue, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	var known []string
	for name := range notSealed {
		known = append(known, name)
	}
	for _, c := range secret.Columns() {
		known = append(known, c.Table+"."+c.Column)
		rows, err := conn.Query(ctx, `
			SELECT a.attname, format_type(a.atttypid, NULL) FROM pg_index i
			CROSS JOIN LATERAL unnest(i.indkey) WITH ORDINALITY AS k (attnum, position)
			JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum
			WHERE i.indrelid = $1::regclass AND i.indisprimary AND a.attname <> 'org_id' ORDER BY k.position`, c.Table)
		if err != nil {
			t.Fatal(err)
		}
		key, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (k secret.KeyColumn, err error) { return k, row.Scan(&k.Name, &k.Type) })
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(key, c.Key); diff != "" {
			t.Errorf("%s: the primary key is another (-catalogue +here):\n%s", c.Table, diff)
		}
	}
	slices.Sort(known)
	if diff := cmp.Diff(inCatalogue, known); diff != "" {
		t.Errorf("columns of bytes (-catalogue +here); add a sealed one to secret.Columns:\n%s", diff)
	}
}

// A rotation seals for the place that reading opens from.
func TestSealedLocations(t *testing.T) {
	t.Parallel()
	conn := pgtest.NewDatabase(t).ConnectOwner(t)
	id, hash := uuid.New(), slices.Repeat([]byte{0xc5, 0x0a}, 16)
	for _, c := range []struct {
		want   secret.Location
		values []any // of the primary key
	}{
		{bodyLocation(id, 7), []any{id, 7}},
		{linkLocation(id, 12), []any{id, 12}},
		{doubtLocation(id), []any{id}},
		{remarkLocation(id), []any{id}},
		{answerLocation(hash), []any{hash}},
		{sessionLocation(id), []any{id}},
		{followUpLocation(id), []any{id}},
		{noteLocation(id), []any{id}},
	} {
		all := secret.Columns()
		i := slices.IndexFunc(all, func(s secret.Column) bool { return s.Table == c.want.Table && s.Column == c.want.Column })
		if i < 0 {
			t.Errorf("%s.%s is not among the sealed columns", c.want.Table, c.want.Column)
			continue
		}
		s := all[i]
		var columns []string
		for n, k := range s.Key {
			columns = append(columns, fmt.Sprintf("$%d::%s AS %s", n+1, k.Type, k.Name))
		}
		var got []string
		err := conn.QueryRow(context.Background(), fmt.Sprintf("SELECT ARRAY[%s] FROM (SELECT %s) AS t", strings.Join(s.Row(), ", "), strings.Join(columns, ", ")), c.values...).Scan(&got)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, s.Location(got)); diff != "" {
			t.Errorf("%s.%s (-read +rotation):\n%s", s.Table, s.Column, diff)
		}
	}
	if n := len(secret.Columns()); n != 8 {
		t.Errorf("%d sealed columns: compare the location of each", n)
	}
}
