package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"github.com/stele-dev/stele/doctor"
	"github.com/stele-dev/stele/internal/config"
	"github.com/stele-dev/stele/internal/postgres"
	"github.com/stele-dev/stele/internal/postgres/embedded"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

func (a *app) dbCommand() *cobra.Command {
	c := &cobra.Command{Use: "db", Short: "Look after the database", Args: cobra.NoArgs, Example: "  stele db status",
		RunE: a.group}
	c.AddCommand(
		a.dbStatusCommand(), a.dbMigrateCommand(), a.dbIndexCommand(),
		a.embeddedCommand("stop", "Stop the embedded database now", "stop", cobra.NoArgs, func(ctx context.Context, c *embedded.Cluster, _ []string) (any, string, error) {
			return map[string]any{"running": false}, "Stopped; the next command that needs it starts it again", c.Stop(ctx)
		}),
		a.dbBackupCommand(), a.dbVerifyCommand(),
		a.embeddedCommand("restore FILE", "Replace the embedded database by a backup", "restore stele.dump", cobra.ExactArgs(1),
			func(ctx context.Context, c *embedded.Cluster, args []string) (any, string, error) {
				path, err := filepath.Abs(args[0])
				if err != nil {
					return nil, "", fmt.Errorf("resolving %s: %w", args[0], err)
				}
				before, err := c.Restore(ctx, path)
				return map[string]any{"file": path, "before": before}, "Restored; what was there before is in " + before, err
			}),
		a.embeddedCommand("upgrade", "Carry the embedded database over to a newer PostgreSQL", "upgrade", cobra.NoArgs,
			func(ctx context.Context, c *embedded.Cluster, _ []string) (any, string, error) {
				steps := []string{}
				err := c.Upgrade(ctx, func(step string) {
					steps = append(steps, step)
					if !a.json {
						fmt.Fprintln(flushing{a.out}, step)
					}
				})
				return map[string]any{"steps": steps}, "", err
			}),
		&cobra.Command{
			// The embedded database's parent; its last argument is the data folder, for whoever reads process lists.
			Use: "run", Hidden: true, Args: cobra.ArbitraryArgs,
			RunE: func(cmd *cobra.Command, _ []string) error { return embedded.Supervise(cmd.Context()) },
		},
	)
	return c
}

// embeddedCommand is a command that only the embedded database has.
func (a *app) embeddedCommand(use, about, example string, args cobra.PositionalArgs, run func(context.Context, *embedded.Cluster, []string) (any, string, error)) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: about, Args: args, Example: "  stele db " + example,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			c, err := a.load()
			if err != nil {
				return err
			}
			if c.DatabaseURL != "" {
				return problem.New(problem.Invalid, config.Prefix+"DATABASE_URL", "the database is a server of your own, not the embedded one",
					"use the tools of that server (pg_dump, pg_restore)", "or unset "+config.Prefix+"DATABASE_URL")
			}
			cluster, err := newCluster(c)
			if err != nil {
				return err
			}
			defer func() { _ = cluster.Close() }() // the lock ends with the process, too
			shape, text, err := run(cmd.Context(), cluster, args)
			if err != nil {
				return err
			}
			return a.answer(shape, func(p *printer) {
				if text != "" {
					p.prose("", text)
				}
			})
		},
	}
}

func (a *app) dbStatusCommand() *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: "Say where the database is and how it is", Args: cobra.NoArgs, Example: "  stele db status",
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.load()
			if err != nil {
				return err
			}
			if c.DatabaseURL != "" {
				return a.serverStatus(cmd.Context(), c)
			}
			cluster, err := newCluster(c)
			if err != nil {
				return err
			}
			s, err := cluster.Status(cmd.Context())
			if err != nil {
				return err
			}
			shape := struct {
				Kind string `json:"kind"`
				embedded.Status
			}{"embedded", s}
			return a.answer(shape, func(p *printer) { p.databaseStatus(s) })
		},
	}
}

func (p *printer) databaseStatus(s embedded.Status) {
	state := "stopped; the next command that needs it starts it"
	switch {
	case s.Running:
		state = fmt.Sprintf("running PostgreSQL %s, pgvector %s, %s", s.Version, s.Vector, count(s.Connections, "connection"))
	case s.Major == 0:
		state = "not made yet; the first command that needs it makes it"
	}
	row := func(name, value string) { p.hanging(pad(name, 13), strings.Repeat(" ", 13), memory.Line(value)) }
	row("database", "embedded, "+state)
	row("data", s.DataDir+" ("+doctor.Size(s.SizeBytes)+")")
	row("log", s.Log)
	if s.Migration != nil {
		row("schema", migrated(*s.Migration))
	}
	if s.LastBackup != nil {
		verified := "none was ever verified: stele db verify FILE"
		if s.Verified != nil {
			verified = "one was verified " + s.Verified.UTC().Format(dateTime)
		}
		row("last backup", s.LastBackup.UTC().Format(dateTime)+"; "+verified)
	}
}

func migrated(v postgres.Version) string {
	switch {
	case v.Current == v.Wanted:
		return fmt.Sprintf("migration %d, the newest", v.Current)
	case v.Current < v.Wanted:
		return fmt.Sprintf("migration %d, this program wants %d: stele db migrate", v.Current, v.Wanted)
	case v.Serves() == nil:
		return fmt.Sprintf("migration %d, newer than this program, which knows %d and serves it (floor %d)", v.Current, v.Wanted, v.Floor)
	}
	return fmt.Sprintf("migration %d, which needs a program that knows %d; this one knows %d: install the newer stele", v.Current, v.Floor, v.Wanted)
}

// serverStatus looks at a database of the user's own, without migrating it.
func (a *app) serverStatus(ctx context.Context, c config.Config) error {
	conn, err := pgx.Connect(ctx, c.DatabaseURL)
	if err != nil {
		// The driver's text may quote the address.
		return problem.New(problem.Unavailable, config.Prefix+"DATABASE_URL", "the database cannot be reached", "start the server, or check address, user and password").Because(err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	var s struct {
		Kind      string           `json:"kind"`
		Version   string           `json:"postgres_version"`
		Vector    string           `json:"pgvector_version"`
		Role      string           `json:"role"`
		Migration postgres.Version `json:"migration"`
	}
	s.Kind = "server"
	err = conn.QueryRow(ctx, `SELECT current_setting('server_version'), current_user,
		coalesce((SELECT extversion FROM pg_extension WHERE extname = 'vector'), '')`).Scan(&s.Version, &s.Role, &s.Vector)
	if err != nil {
		return fmt.Errorf("asking the database: %w", err)
	}
	if s.Migration, err = postgres.ReadVersion(ctx, conn); err != nil {
		return err
	}
	return a.answer(s, func(p *printer) {
		p.line("%s%s", pad("database", 13), memory.Line("PostgreSQL "+s.Version+", pgvector "+s.Vector+", as "+s.Role))
		p.line("%s%s", pad("schema", 13), migrated(s.Migration))
	})
}

func (a *app) dbMigrateCommand() *cobra.Command {
	return &cobra.Command{
		Use: "migrate", Short: "Bring the schema up to this program", Args: cobra.NoArgs,
		Long: "Apply missing migrations. The embedded database does so by itself. On a server\n" +
			"of your own it needs STELE_DATABASE_OWNER_URL; with STELE_DATABASE_ADMIN_URL\n" +
			"too, roles, database and pgvector are made first.",
		Example: "  stele db migrate",
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.load()
			if err != nil {
				return err
			}
			owner, err := a.prepareMigration(cmd.Context(), c)
			if err != nil {
				return err
			}
			before, err := postgres.Migrate(cmd.Context(), owner)
			if err != nil {
				return err
			}
			return a.answer(map[string]any{"from": before.Current, "to": max(before.Current, before.Wanted)}, func(p *printer) {
				switch {
				case before.Current == before.Wanted:
					p.line("The schema is at migration %d already", before.Wanted)
				case before.Current > before.Wanted:
					p.line("The schema is at migration %d, newer than this program, which serves it: left as it is", before.Current)
				default:
					p.line("Migrated the schema from %d to %d", before.Current, before.Wanted)
				}
			})
		},
	}
}

// prepareMigration gives the owner's address; where an administrator's is known, roles and database are made first.
func (a *app) prepareMigration(ctx context.Context, c config.Config) (owner string, err error) {
	if c.DatabaseURL == "" && c.DatabaseOwnerURL == "" {
		cluster, err := newCluster(c)
		if err != nil {
			return "", err
		}
		// Held until the program ends: it must not stop meanwhile.
		dsns, err := cluster.Start(ctx)
		return dsns.Owner, err
	}
	if c.DatabaseOwnerURL == "" {
		return "", problem.New(problem.Invalid, config.Prefix+"DATABASE_OWNER_URL", "it is not set, and "+postgres.AppRole+" may not migrate",
			"set it to the same database as "+postgres.OwnerRole)
	}
	if c.DatabaseAdminURL == "" {
		return c.DatabaseOwnerURL, nil
	}
	roles, err := postgres.RolesFor(c.DatabaseURL, c.DatabaseOwnerURL)
	if err != nil {
		return "", err
	}
	return c.DatabaseOwnerURL, postgres.Bootstrap(ctx, c.DatabaseAdminURL, roles)
}
