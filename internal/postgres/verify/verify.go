// Package verify proves that a backup is worth something, by using it: it is restored into a scratch database, compared
// with the database it was taken from, tried as the service would, and opened with the master key. What has not been
// restored is a hope, and a backup whose key is lost looks as good as any.
package verify

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/stele-dev/stele/internal/postgres"
	"github.com/stele-dev/stele/internal/postgres/installation"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/internal/secret"
)

// Server is where backups are taken and tried.
type Server struct {
	Programs installation.Installation // pg_dump and pg_restore
	// AdminURL names the database, as a superuser: pg_dump must see what row-level security hides from others, and the
	// scratch database is made beside it, on the same disk.
	AdminURL string
	Master   *secret.Master // the key that the texts are to open with
	// Sample is about how many texts are opened where there are more; default 100,000. They take some seconds, and a fault of
	// one text in ten thousand is found all the same.
	Sample int64
}

// Report is what was proved.
type Report struct {
	File          string `json:"file"`
	SizeBytes     int64  `json:"size_bytes"`
	Migration     int64  `json:"migration"`
	Tables        int    `json:"tables"`
	Rows          int64  `json:"rows"`
	Compared      bool   `json:"compared"` // the rows of every table are as many as the database had when the backup was taken
	Organizations int    `json:"organizations"`
	Texts         int64  `json:"texts"`  // sealed texts in the backup
	Opened        int64  `json:"opened"` // of these were opened, all or a sample
	Milliseconds  int64  `json:"milliseconds"`
}

// Backup takes a backup into file and proves it. When it does not prove good the file stays, and the error names it.
func (s Server) Backup(ctx context.Context, file string) (Report, error) {
	began := time.Now()
	counted, err := postgres.CountedBackup(ctx, s.Programs, s.AdminURL, file)
	if err != nil {
		return Report{}, err
	}
	r, err := s.examine(ctx, file, &counted)
	r.Milliseconds = time.Since(began).Milliseconds()
	return r, err
}

// File proves a backup that is there. What it was taken from has gone on since, so rows are counted and not compared.
func (s Server) File(ctx context.Context, file string) (Report, error) {
	began := time.Now()
	r, err := s.examine(ctx, file, nil)
	r.Milliseconds = time.Since(began).Milliseconds()
	return r, err
}

// examine tries a backup. source is what the database held, nil when that is not known.
func (s Server) examine(ctx context.Context, file string, source *postgres.Contents) (Report, error) {
	if s.Master == nil {
		return Report{}, errors.New("verify: no master key")
	}
	r := Report{File: file, Compared: source != nil}
	err := postgres.InScratch(ctx, s.Programs, s.AdminURL, file, func(ctx context.Context, conn *pgx.Conn) error {
		restored, err := postgres.Count(ctx, conn)
		if err != nil {
			return err
		}
		r.Migration, r.Tables, r.Rows = restored.Migration, len(restored.Rows), restored.Total()
		if source != nil {
			if differs := source.Differences(restored); len(differs) > 0 {
				return unproved(file, "it does not hold what the database held: "+strings.Join(differs, ", "))
			}
		}
		if err := nothingWithoutOrganization(ctx, conn, file); err != nil {
			return err
		}
		return s.openTexts(ctx, conn, restored, &r)
	})
	if err != nil {
		return r, err
	}
	info, err := os.Stat(file)
	if err != nil {
		return r, fmt.Errorf("looking at the backup: %w", err)
	}
	r.SizeBytes = info.Size()
	return r, nil
}

// unproved says that a backup was restored and is not what it should be.
func unproved(file, what string) *problem.Error {
	return problem.New(problem.Unavailable, "FILE", "the backup "+file+" cannot be relied on: "+what,
		"take another: stele db backup --verify", "keep the backups from before until one is verified")
}

// nothingWithoutOrganization asks every table of a tenant as the service does, without naming an organization. The
// catalogue was read when the backup was restored; this sees whether the server does what it says there.
func nothingWithoutOrganization(ctx context.Context, conn *pgx.Conn, file string) error {
	rows, err := conn.Query(ctx, `SELECT c.relname FROM pg_class c
		WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND c.relrowsecurity ORDER BY 1`)
	if err != nil {
		return fmt.Errorf("listing the tables of tenants: %w", err)
	}
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return fmt.Errorf("listing the tables of tenants: %w", err)
	}
	return asService(ctx, conn, "", func(tx pgx.Tx) error {
		for _, table := range tables {
			var seen bool
			if err := tx.QueryRow(ctx, "SELECT EXISTS (SELECT FROM public."+pgx.Identifier{table}.Sanitize()+")").Scan(&seen); err != nil {
				return fmt.Errorf("asking %s as %s: %w", table, postgres.AppRole, err)
			}
			if seen {
				return unproved(file, table+" shows rows to a service that names no organization")
			}
		}
		return nil
	})
}

// asService runs fn as stele_app, in a transaction of one organization ("" for none) that is not kept.
func asService(ctx context.Context, conn *pgx.Conn, org string, fn func(pgx.Tx) error) error {
	tx, err := conn.Begin(ctx)
	if err != nil {
		return fmt.Errorf("beginning to try the backup: %w", err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }() // the database is dropped next
	if _, err := tx.Exec(ctx, "SELECT set_config('role', $1, true), set_config('app.org_id', $2, true)", postgres.AppRole, org); err != nil {
		return fmt.Errorf("trying the backup as %s: %w", postgres.AppRole, err)
	}
	return fn(tx)
}
