package postgres

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"

	"github.com/stele-dev/stele/internal/postgres/installation"
	"github.com/stele-dev/stele/internal/problem"
)

// ClientPrograms finds pg_dump and pg_restore for a server elsewhere: of its release or a later one, since an older pg_dump
// refuses it. binDir is the folder to look in, "" for the usual places. The server's own programs are not needed.
func ClientPrograms(ctx context.Context, adminURL, binDir string) (installation.Installation, error) {
	conn, err := connectAdmin(ctx, adminURL, "")
	if err != nil {
		return installation.Installation{}, err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	var number int
	if err := conn.QueryRow(ctx, "SELECT current_setting('server_version_num')::int").Scan(&number); err != nil {
		return installation.Installation{}, fmt.Errorf("asking the server for its version: %w", err)
	}
	major := number / 10000
	var best installation.Installation
	consider := func(i installation.Installation) {
		// The oldest that will do writes what the server itself would.
		if i.Major >= major && (best.BinDir == "" || i.Major < best.Major) {
			best = i
		}
	}
	if binDir != "" {
		if i, ok := clientIn(ctx, binDir); ok {
			consider(i)
		}
	} else {
		for _, i := range installation.All(ctx) {
			consider(i)
		}
		if path, err := exec.LookPath("pg_dump"); err == nil {
			if i, ok := clientIn(ctx, filepath.Dir(path)); ok {
				consider(i)
			}
		}
	}
	if best.BinDir == "" {
		return installation.Installation{}, problem.New(problem.Unavailable, "STELE_POSTGRES_BIN",
			fmt.Sprintf("pg_dump and pg_restore of PostgreSQL %d or later, which the server is, are not installed here", major),
			fmt.Sprintf("install the client programs of PostgreSQL %d, or name their folder in STELE_POSTGRES_BIN", major),
			"or run this on the server's machine")
	}
	return best, nil
}

var dumpVersion = regexp.MustCompile(`\(PostgreSQL\) ((\d+)\S*)`)

// clientIn looks for the client programs in a folder.
func clientIn(ctx context.Context, dir string) (installation.Installation, bool) {
	if _, err := exec.LookPath(filepath.Join(dir, "pg_restore")); err != nil {
		return installation.Installation{}, false
	}
	out, err := exec.CommandContext(ctx, filepath.Join(dir, "pg_dump"), "--version").Output()
	if err != nil {
		return installation.Installation{}, false
	}
	m := dumpVersion.FindSubmatch(out)
	if m == nil {
		return installation.Installation{}, false
	}
	major, err := strconv.Atoi(string(m[2]))
	return installation.Installation{BinDir: dir, Version: string(m[1]), Major: major}, err == nil
}

// AdminOf gives an administrator's address of another database on its server: the one to back up, when the address names
// the one to connect to first.
func AdminOf(adminURL, database string) (string, error) {
	u, err := parseAddress(adminURL)
	if err != nil {
		return "", err
	}
	u.Path = "/" + database
	return u.String(), nil
}
