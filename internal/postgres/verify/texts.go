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

const defaultSample = 100_000

// openTexts opens the keysets of every organization and, as the service and with its keys, their texts.
func (s Server) openTexts(ctx context.Context, conn *pgx.Conn, restored postgres.Contents, r *Report) error {
	columns := slices.DeleteFunc(secret.Columns(), func(c secret.Column) bool {
		_, there := restored.Rows[c.Table] // a backup of an older migration lacks some
		return !there
	})
	for _, c := range columns {
		var n int64
		if err := conn.QueryRow(ctx, fmt.Sprintf("SELECT count(%s) FROM public.%s", c.Column, c.Table)).Scan(&n); err != nil {
			return fmt.Errorf("counting the texts of %s: %w", c.Table, err)
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
				n, err := openColumn(ctx, tx, keys, c, sample)
				if errors.Is(err, secret.ErrAltered) || errors.Is(err, secret.ErrUnknownKey) {
					return unproved(r.File, fmt.Sprintf("a text in %s of organization %s does not open", c.Table, o.id)).Because(err)
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

// openColumn opens the texts of a column that the transaction sees and gives their number.
func openColumn(ctx context.Context, tx pgx.Tx, keys *secret.Keys, c secret.Column, sample string) (int64, error) {
	rows, err := tx.Query(ctx, fmt.Sprintf("SELECT ARRAY[%s], %s FROM public.%s %s WHERE %[2]s IS NOT NULL", strings.Join(c.Row(), ", "), c.Column, c.Table, sample))
	if err != nil {
		return 0, fmt.Errorf("reading the texts of %s: %w", c.Table, err)
	}
	defer rows.Close()
	var n int64
	for rows.Next() {
		var row []string
		var text []byte
		if err := rows.Scan(&row, &text); err != nil {
			return n, fmt.Errorf("reading the texts of %s: %w", c.Table, err)
		}
		if _, err := keys.Open(c.Location(row), text); err != nil {
			return n, err
		}
		n++
	}
	if err := rows.Err(); err != nil {
		return n, fmt.Errorf("reading the texts of %s: %w", c.Table, err)
	}
	return n, nil
}
