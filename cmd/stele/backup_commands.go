package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"github.com/stele-dev/stele/doctor"
	"github.com/stele-dev/stele/internal/config"
	"github.com/stele-dev/stele/internal/postgres"
	"github.com/stele-dev/stele/internal/postgres/embedded"
	"github.com/stele-dev/stele/internal/postgres/installation"
	"github.com/stele-dev/stele/internal/postgres/verify"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/internal/secret"
)

func (a *app) dbBackupCommand() *cobra.Command {
	var prove bool
	c := &cobra.Command{
		Use: "backup [FILE]", Short: "Write a backup of the database", Args: cobra.MaximumNArgs(1),
		Long: "Write a backup of the database as it is at this moment; nobody is disturbed.\n" +
			"With --verify, restore it into a scratch database beside the data, compare all\n" +
			"row counts, and open the texts with the master key at hand. On a server of your\n" +
			"own it needs STELE_DATABASE_ADMIN_URL and PostgreSQL's client programs.",
		Example: "  stele db backup --verify stele.dump",
		RunE: func(cmd *cobra.Command, args []string) error {
			file := "stele-" + time.Now().UTC().Format("20060102-150405") + ".dump"
			if len(args) == 1 {
				file = args[0]
			}
			path, err := filepath.Abs(file)
			if err != nil {
				return fmt.Errorf("resolving %s: %w", file, err)
			}
			if _, err := os.Lstat(path); err == nil {
				return problem.New(problem.Conflict, "file", path+" is there already", "name another file, or move that one away")
			}
			ctx := cmd.Context()
			keeper, err := a.backupKeeper(ctx, prove)
			if err != nil {
				return err
			}
			defer keeper.close()
			shape := struct {
				File     string         `json:"file"`
				Verified *verify.Report `json:"verified"`
			}{File: path}
			told := a.tellWhenSlow("taking the backup")
			defer told.Stop()
			if prove {
				report, err := keeper.Backup(ctx, path)
				if err != nil {
					return err
				}
				shape.Verified = &report
				if err := keeper.noteVerified(); err != nil {
					return err
				}
			} else if err := postgres.Backup(ctx, keeper.Programs, keeper.AdminURL, path); err != nil {
				return err
			}
			return a.answer(shape, func(p *printer) {
				p.prose("", "Wrote "+path+"; it is worth nothing without the master key, which must be kept elsewhere")
				if shape.Verified != nil {
					p.verified(*shape.Verified)
				}
			})
		},
	}
	c.Flags().BoolVar(&prove, "verify", false, "prove it by restoring it into a scratch database")
	return c
}

func (a *app) dbVerifyCommand() *cobra.Command {
	return &cobra.Command{
		Use: "verify FILE", Short: "Prove a backup by restoring it into a scratch database", Args: cobra.ExactArgs(1),
		Long: "Restore a backup into a scratch database on the server of the data, look whether\n" +
			"it keeps organizations apart, open its texts with the master key at hand, and\n" +
			"drop it again. The data is not touched; there must be room for it once more.",
		Example: "  stele db verify stele.dump",
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := filepath.Abs(args[0])
			if err != nil {
				return fmt.Errorf("resolving %s: %w", args[0], err)
			}
			keeper, err := a.backupKeeper(cmd.Context(), true)
			if err != nil {
				return err
			}
			defer keeper.close()
			told := a.tellWhenSlow("restoring the backup beside the data")
			defer told.Stop()
			report, err := keeper.File(cmd.Context(), path)
			if err != nil {
				return err
			}
			if err := keeper.noteVerified(); err != nil {
				return err
			}
			return a.answer(report, func(p *printer) { p.verified(report) })
		},
	}
}

func (p *printer) verified(r verify.Report) {
	compared := "counted"
	if r.Compared {
		compared = "as many as in the database"
	}
	opened := "all"
	if r.Opened < r.Texts {
		opened = fmt.Sprintf("%d, taken at random,", r.Opened)
	}
	p.prose("", fmt.Sprintf("Verified: migration %d, %s of %s (%s), the keys of %s; of %s %s opened (%s, %.1f s)",
		r.Migration, count(int(r.Rows), "row"), count(r.Tables, "table"), compared, count(r.Organizations, "organization"),
		count(int(r.Texts), "text"), opened, doctor.Size(r.SizeBytes), float64(r.Milliseconds)/1000))
}

// keeper takes and verifies backups of the configured database.
type keeper struct {
	verify.Server
	cluster *embedded.Cluster // nil with a server of the user's own
}

func (k keeper) close() {
	if k.cluster != nil {
		_ = k.cluster.Close() // the lock ends with the process, too
	}
}

func (k keeper) noteVerified() error {
	if k.cluster == nil {
		return nil
	}
	return k.cluster.Verified()
}

// backupKeeper finds what backups need; the master key only when they are to be opened.
func (a *app) backupKeeper(ctx context.Context, opens bool) (k keeper, err error) {
	c, err := a.load()
	if err != nil {
		return keeper{}, err
	}
	if opens {
		if k.Master, err = masterAtHand(c); err != nil {
			return keeper{}, err
		}
	}
	if c.DatabaseURL != "" {
		k.Programs, k.AdminURL, err = ownServer(ctx, c)
		return k, err
	}
	if k.cluster, err = newCluster(c); err != nil {
		return keeper{}, err
	}
	if k.Programs, k.AdminURL, err = k.cluster.Administer(ctx); err != nil {
		k.close()
	}
	return k, err
}

// ownServer gives what administers the database on a server of the user's own.
func ownServer(ctx context.Context, c config.Config) (programs installation.Installation, adminURL string, err error) {
	if c.DatabaseAdminURL == "" {
		return programs, "", problem.New(problem.Invalid, config.Prefix+"DATABASE_ADMIN_URL",
			"it is not set, and a backup of a server of your own is taken and tried by its administrator: row-level security hides rows from everyone else",
			"set it to the address of a superuser of that server", "or back up with the tools of that server (pg_dump, snapshots)")
	}
	served, err := pgx.ParseConfig(c.DatabaseURL)
	if err != nil {
		return programs, "", problem.New(problem.Invalid, config.Prefix+"DATABASE_URL", "the address of the database cannot be read",
			"write it as postgres://"+postgres.AppRole+":PASSWORD@HOST:5432/stele")
	}
	if adminURL, err = postgres.AdminOf(c.DatabaseAdminURL, served.Database); err != nil {
		return programs, "", err
	}
	programs, err = postgres.ClientPrograms(ctx, adminURL, c.PostgresBin)
	return programs, adminURL, err
}

// masterAtHand is the master key that is there. None is made: a new one opens nothing.
func masterAtHand(c config.Config) (*secret.Master, error) {
	if c.MasterKey != "" {
		return secret.ParseMaster(c.MasterKey, secret.EnvKey)
	}
	if c.MasterKeyFile == "" { // there is no home
		_, err := secret.DefaultMasterFile()
		return nil, err
	}
	master, err := secret.LoadMasterFile(c.MasterKeyFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, problem.New(problem.Unavailable, c.MasterKeyFile, "there is no master key here to open the texts of a backup with",
			"set "+secret.EnvFile+" to the file that holds it, or "+secret.EnvKey+" to the key itself").Because(err)
	}
	return master, err
}
