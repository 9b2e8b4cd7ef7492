package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/stele-dev/stele/internal/postgres/installation"
	"github.com/stele-dev/stele/internal/problem"
)

// Backup writes a logical backup of the database that adminURL names (as a superuser: row-level security binds everyone
// else, and what it hides would be missing) into file, in pg_dump's custom format. The file appears when it is whole
// and is readable by its owner only; it holds everything but the master key. Whoever writes meanwhile is not disturbed,
// and the backup is the database at one moment.
func Backup(ctx context.Context, inst installation.Installation, adminURL, file string) error {
	return dump(ctx, inst, adminURL, file)
}

// dump is Backup with further arguments of pg_dump.
func dump(ctx context.Context, inst installation.Installation, adminURL, file string, args ...string) (err error) {
	out, err := os.CreateTemp(filepath.Dir(file), ".backup-*")
	if err != nil {
		return problem.New(problem.Invalid, "FILE", fmt.Sprintf("cannot write a backup into %s: %v", filepath.Dir(file), err),
			"name a file in a folder you may write to").Because(err)
	}
	defer func() {
		err = errors.Join(err, out.Close())
		if err != nil {
			if rerr := os.Remove(out.Name()); !errors.Is(rerr, fs.ErrNotExist) {
				err = errors.Join(err, rerr)
			}
		}
	}()
	cmd, err := program(ctx, inst, "pg_dump", adminURL, "", append(args, "--format=custom", "--no-password", "--lock-wait-timeout=60000")...)
	if err != nil {
		return err
	}
	cmd.Stdout = out // opened here: the file is ours, whoever runs pg_dump
	if err := runProgram(cmd); err != nil {
		return err
	}
	if err := out.Sync(); err != nil {
		return err
	}
	return os.Rename(out.Name(), file)
}

// Restore replaces the database that adminURL names by the backup in file. The backup is read into a new database and
// checked there; only then the two change names, in one transaction. Whatever fails before leaves the data as it was.
// Whoever is connected is disconnected by the change. beforeSwap, if not nil, runs when the backup has proved good and
// the old data is still in place; its error keeps it there.
func Restore(ctx context.Context, inst installation.Installation, adminURL, file string, beforeSwap func(context.Context) error) error {
	config, err := pgx.ParseConfig(adminURL)
	if err != nil {
		return problem.New(problem.Invalid, "", "the administrator's address of the database cannot be read",
			"write it as postgres://postgres:PASSWORD@HOST:5432/stele")
	}
	name := config.Database
	if err := readable(ctx, inst, file); err != nil {
		return err
	}
	admin, err := connectAdmin(ctx, adminURL, "postgres")
	if err != nil {
		return err
	}
	defer admin.Close(context.WithoutCancel(ctx))
	fresh := beside(name, "_restoring")
	if _, err := admin.Exec(ctx, dropDatabase(fresh)); err != nil {
		return notAllowed("removing an unfinished restore", err)
	}
	if err := Bootstrap(ctx, adminURL, Roles{Database: fresh}); err != nil {
		return err
	}
	err = fill(ctx, inst, adminURL, fresh, file)
	if err == nil && beforeSwap != nil {
		err = beforeSwap(ctx)
	}
	if err == nil {
		err = swap(ctx, admin, name, fresh)
	}
	if err != nil {
		// The old data is untouched; what was half restored is of no use.
		cleanup, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		if _, derr := admin.Exec(cleanup, dropDatabase(fresh)); derr != nil {
			err = errors.Join(err, derr)
		}
	}
	return err
}

// readable makes sure that a file is a backup before anything is done with it.
func readable(ctx context.Context, inst installation.Installation, file string) error {
	if _, err := os.Stat(file); err != nil {
		return problem.New(problem.Invalid, "FILE", fmt.Sprintf("cannot read the backup: %v", err), "name a file made by: stele db backup FILE").Because(err)
	}
	if out, err := exec.CommandContext(ctx, inst.Program("pg_restore"), "--list", file).CombinedOutput(); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return problem.New(problem.Invalid, "FILE", fmt.Sprintf("%s is no backup that PostgreSQL %s can read: %s", file, inst.Version, lastLine(out)),
			"name a file made by: stele db backup FILE").Because(err)
	}
	return nil
}

// maxName is how many bytes of a name PostgreSQL keeps; what is longer it cuts without an error.
const maxName = 63

// beside names a database that belongs to another. A long name is cut by us, since PostgreSQL would cut the suffix: what
// is dropped would then be the database itself.
func beside(name, suffix string) string {
	if len(name)+len(suffix) > maxName {
		sum := sha256.Sum256([]byte(name))
		mark := "_" + hex.EncodeToString(sum[:4])
		name = strings.ToValidUTF8(name[:maxName-len(suffix)-len(mark)], "") + mark
	}
	return name + suffix
}

// fill reads the backup into the new database and makes sure that this binary can serve it.
func fill(ctx context.Context, inst installation.Installation, adminURL, database, file string) error {
	cmd, err := program(ctx, inst, "pg_restore", adminURL, database, "--no-password", "--exit-on-error", "--single-transaction")
	if err != nil {
		return err
	}
	cmd.Args = append(cmd.Args, file)
	if err := runProgram(cmd); err != nil {
		return problem.New(problem.Invalid, "FILE", fmt.Sprintf("the backup cannot be restored, the data is as it was: %v", err),
			"use another backup").Because(err)
	}
	conn, err := connectAdmin(ctx, adminURL, database)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	v, err := version(ctx, conn)
	switch {
	case err != nil:
		return err
	case v.Current == 0:
		return problem.New(problem.Invalid, "FILE", "the backup is not one of Stele's databases, the data is as it was", "name a file made by: stele db backup FILE")
	case v.Current > v.Wanted && v.Serves() != nil:
		return v.Serves()
	}
	if err := VerifyIsolation(ctx, conn); err != nil {
		return problem.New(problem.Invalid, "FILE", "the backup does not keep organizations apart, the data is as it was: "+
			strings.ReplaceAll(err.Error(), "\n", ", "), "use another backup").Because(err)
	}
	if _, err := conn.Exec(ctx, "ANALYZE"); err != nil { // the planner knows nothing of restored tables
		return err
	}
	return nil
}

// swap puts the new database in the place of the old one and drops the old one.
func swap(ctx context.Context, admin *pgx.Conn, name, fresh string) error {
	old := beside(name, "_replaced")
	if _, err := admin.Exec(ctx, dropDatabase(old)); err != nil {
		return err
	}
	var exists bool
	if err := admin.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_catalog.pg_database WHERE datname = $1)", name).Scan(&exists); err != nil {
		return err
	}
	quote := func(s string) string { return pgx.Identifier{s}.Sanitize() }
	rename := "ALTER DATABASE " + quote(fresh) + " RENAME TO " + quote(name)
	if exists {
		// A database with sessions cannot be renamed, and clients reconnect faster than a rename.
		if _, err := admin.Exec(ctx, "ALTER DATABASE "+quote(name)+" WITH ALLOW_CONNECTIONS false"); err != nil {
			return err
		}
		defer func() {
			// Also after a failure: the old database, whatever its name is, opens again.
			reopen, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
			defer cancel()
			_, _ = admin.Exec(reopen, "ALTER DATABASE "+quote(name)+" WITH ALLOW_CONNECTIONS true")
		}()
		rename = "ALTER DATABASE " + quote(name) + " RENAME TO " + quote(old) + "; " + rename
	}
	if err := disconnect(ctx, admin, name, fresh); err != nil {
		return err
	}
	// Several statements in one message are one transaction.
	if _, err := admin.Exec(ctx, rename); err != nil {
		return fmt.Errorf("putting the restored database in place: %w", err)
	}
	// The data is in place; a leftover that cannot be dropped now is dropped by the next restore.
	_, _ = admin.Exec(ctx, dropDatabase(old))
	return nil
}

// disconnect ends all sessions of the databases and waits until they are gone.
func disconnect(ctx context.Context, admin *pgx.Conn, names ...string) error {
	for deadline := time.Now().Add(30 * time.Second); ; {
		var left int
		err := admin.QueryRow(ctx, `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = ANY ($1) AND pid <> pg_backend_pid()`,
			names).Scan(&left)
		switch {
		case err != nil:
			return err
		case left == 0:
			return nil
		case time.Now().After(deadline):
			return problem.New(problem.Unavailable, "", fmt.Sprintf("%d sessions of the database do not end", left), "stop what uses it and try again")
		}
		timer := time.NewTimer(10 * time.Millisecond)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
}

func dropDatabase(name string) string {
	return "DROP DATABASE IF EXISTS " + pgx.Identifier{name}.Sanitize() + " WITH (FORCE)"
}

// program prepares one of PostgreSQL's programs against a database. The password goes by the environment, which only
// the same user can read; arguments are for everyone.
func program(ctx context.Context, inst installation.Installation, name, address, database string, args ...string) (*exec.Cmd, error) {
	u, err := parseAddress(address)
	if err != nil {
		return nil, err
	}
	env := append(os.Environ(), "LC_ALL=C")
	if password, ok := u.User.Password(); ok {
		env = append(env, "PGPASSWORD="+password)
		u.User = url.User(u.User.Username())
	}
	if database != "" {
		u.Path = "/" + database
	}
	cmd := exec.CommandContext(ctx, inst.Program(name), append(args, "--dbname="+u.String())...)
	cmd.Env = env
	cmd.WaitDelay = 10 * time.Second
	return cmd, nil
}

// parseAddress reads an administrator's address, which must be a URL: pg_dump and pg_restore get it with another database.
func parseAddress(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	if err != nil || (u.Scheme != "postgres" && u.Scheme != "postgresql") {
		return nil, problem.New(problem.Invalid, "", "the administrator's address of the database cannot be read",
			"write it as postgres://postgres:PASSWORD@HOST:5432/stele")
	}
	return u, nil
}

func runProgram(cmd *exec.Cmd) error {
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w: %s", filepath.Base(cmd.Path), err, lastLine([]byte(stderr.String())))
	}
	return nil
}

func lastLine(out []byte) string {
	text := strings.TrimSpace(string(out))
	return text[strings.LastIndexByte(text, '\n')+1:]
}
