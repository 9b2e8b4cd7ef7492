package verify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/stele-dev/stele/internal/postgres"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/internal/secret"
)

// sealedColumn is a column of sealed texts. row are the SQL expressions, as text, of what the sealing ties a text to: the
// primary key without org_id.
type sealedColumn struct {
	table, column string
	row           []string
}

// sealed are all of them. A test holds this list against the schema: a column of bytes is either here or a hash or keyset
// in plain.
var sealed = []sealedColumn{
	{"memory_versions", "body", []string{"memory_id::text", "revision::text"}},
	{"links", "target", []string{"memory_id::text", "ordinal::text"}},
	{"doubts", "reason", []string{"doubt_id::text"}},
	{"remarks", "body", []string{"remark_id::text"}},
	{"answers", "body", []string{"encode(substring(key_hash FOR 16), 'hex')::uuid::text"}}, // a hash has no id; its first half is one
}

// plain are the columns of bytes that are no sealed texts.
var plain = []string{
	"organizations.data_keyset", "organizations.index_keyset", "tokens.hash", "answers.key_hash", "model_imports.digest",
	"memories.source_key", "memories.title_hash", "memories.text_hash", "links.target_hash",
}

const defaultSample = 100_000

// openTexts opens the keysets of every organization and, as the service and with its keys, their texts.
func (s Server) openTexts(ctx context.Context, conn *pgx.Conn, restored postgres.Contents, r *Report) error {
	columns := slices.DeleteFunc(slices.Clone(sealed), func(c sealedColumn) bool {
		_, there := restored.Rows[c.table] // a backup of an older migration lacks some
		return !there
	})
	for _, c := range columns {
		var n int64
		if err := conn.QueryRow(ctx, fmt.Sprintf("SELECT count(%s) FROM public.%s", c.column, c.table)).Scan(&n); err != nil {
			return fmt.Errorf("counting the texts of %s: %w", c.table, err)
		}
		r.Texts += n
	}
	sample := ""
	if most := cmp.Or(s.Sample, defaultSample); r.Texts > most {
		// Each text with the probability that makes it about so many.
		sample = fmt.Sprintf("TABLESAMPLE BERNOULLI (%f)", 100*float64(most)/float64(r.Texts))
	}
	rows, err := conn.Query(ctx, "SELECT org_id, master_key_id, data_keyset, index_keyset FROM public.organizations ORDER BY org_id")
	if err != nil {
		return fmt.Errorf("listing the organizations: %w", err)
	}
	type organization struct {
		id uuid.UUID
		secret.Wrapped
	}
	orgs, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (organization, error) {
		var o organization
		return o, row.Scan(&o.id, &o.MasterKeyID, &o.Data, &o.Index)
	})
	if err != nil {
		return fmt.Errorf("listing the organizations: %w", err)
	}
	r.Organizations = len(orgs)
	for _, o := range orgs {
		keys, err := s.Master.OpenKeys(o.id, o.Wrapped)
		if errors.Is(err, secret.ErrAltered) {
			return unproved(r.File, fmt.Sprintf("the keys of organization %s were altered", o.id)).Because(err)
		}
		if p, ok := problem.As(err); ok {
			return problem.New(p.Code, p.Field, "the backup "+r.File+" was restored, but "+p.Detail, p.Fixes...).Because(err)
		}
		if err != nil {
			return fmt.Errorf("opening the keys of an organization: %w", err)
		}
		err = asService(ctx, conn, o.id.String(), func(tx pgx.Tx) error {
			if err := seesItself(ctx, tx, r.File, o.id); err != nil {
				return err
			}
			for _, c := range columns {
				n, err := c.open(ctx, tx, keys, sample)
				if errors.Is(err, secret.ErrAltered) || errors.Is(err, secret.ErrUnknownKey) {
					return unproved(r.File, fmt.Sprintf("a text in %s of organization %s does not open", c.table, o.id)).Because(err)
				}
				if err != nil {
					return err
				}
				r.Opened += n
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	if sample == "" && r.Opened != r.Texts {
		return unproved(r.File, fmt.Sprintf("%d texts belong to no organization", r.Texts-r.Opened))
	}
	return nil
}

// seesItself makes sure that the service sees the organization it names and no other.
func seesItself(ctx context.Context, tx pgx.Tx, file string, org uuid.UUID) error {
	rows, err := tx.Query(ctx, "SELECT org_id FROM public.organizations LIMIT 2")
	if err != nil {
		return fmt.Errorf("asking for the organizations that the service sees: %w", err)
	}
	seen, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	if err != nil {
		return fmt.Errorf("asking for the organizations that the service sees: %w", err)
	}
	if len(seen) != 1 || seen[0] != org {
		return unproved(file, fmt.Sprintf("a service that names organization %s sees %d organizations, or another", org, len(seen)))
	}
	return nil
}

// open opens the texts of a column that the transaction sees and gives their number.
func (c sealedColumn) open(ctx context.Context, tx pgx.Tx, keys *secret.Keys, sample string) (int64, error) {
	rows, err := tx.Query(ctx, fmt.Sprintf("SELECT ARRAY[%s], %s FROM public.%s %s WHERE %[2]s IS NOT NULL", strings.Join(c.row, ", "), c.column, c.table, sample))
	if err != nil {
		return 0, fmt.Errorf("reading the texts of %s: %w", c.table, err)
	}
	defer rows.Close()
	var n int64
	for rows.Next() {
		var row []string
		var text []byte
		if err := rows.Scan(&row, &text); err != nil {
			return n, fmt.Errorf("reading the texts of %s: %w", c.table, err)
		}
		if _, err := keys.Open(secret.Location{Table: c.table, Column: c.column, Row: row}, text); err != nil {
			return n, err
		}
		n++
	}
	if err := rows.Err(); err != nil {
		return n, fmt.Errorf("reading the texts of %s: %w", c.table, err)
	}
	return n, nil
}
