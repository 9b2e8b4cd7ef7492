// Package installation finds the PostgreSQL programs installed on this machine and the pgvector that belongs to them.
//
// It only looks at files and asks programs for their version; it installs nothing (that is package setup) and starts
// nothing (that is package embedded).
package installation

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"sort"
	"strconv"
	"strings"

	"github.com/stele-dev/stele/internal/problem"
)

// What Stele needs. PostgreSQL 15 is the oldest release it is tested with; pgvector 0.8 brought iterative index scans,
// without which a filtered search over an HNSW index may come back with fewer rows than asked for.
const (
	MinMajor         = 15
	MinVectorVersion = "0.8"
)

// programs are those the embedded cluster runs. A folder which lacks one of them is no installation: client packages
// put psql and pg_dump where the server's programs would be.
var programs = []string{"postgres", "initdb", "pg_dump", "pg_restore"}

// Installation is one PostgreSQL release on this machine.
type Installation struct {
	BinDir  string `json:"bin_dir"` // absolute folder with postgres, initdb, pg_dump and pg_restore
	Version string `json:"version"` // as the server says it, such as "15.18"
	Major   int    `json:"major"`   // such as 15
	Vector  string `json:"vector"`  // version of pgvector that CREATE EXTENSION would install, "" when there is none
}

// Program gives the path of one of the installation's programs.
func (i Installation) Program(name string) string { return filepath.Join(i.BinDir, name) }

// Check tells what keeps Stele from using the installation, nil when nothing does. The problem names `stele setup`.
func (i Installation) Check() error {
	switch {
	case i.Major < MinMajor:
		return problem.New(problem.Unavailable, "", fmt.Sprintf("PostgreSQL %s in %s is too old, Stele needs %d or later",
			i.Version, i.BinDir, MinMajor), "run: stele setup", "or name another folder in STELE_POSTGRES_BIN")
	case i.Vector == "":
		return problem.New(problem.Unavailable, "", fmt.Sprintf("PostgreSQL %s in %s has no pgvector, Stele needs %s or later",
			i.Version, i.BinDir, MinVectorVersion), "run: stele setup")
	case !VersionAtLeast(i.Vector, MinVectorVersion):
		return problem.New(problem.Unavailable, "", fmt.Sprintf("pgvector %s of PostgreSQL %s in %s is too old, Stele needs %s or later",
			i.Vector, i.Version, i.BinDir, MinVectorVersion), "run: stele setup")
	}
	return nil
}

// Find gives the installation to use: the one in binDir when that is not empty (the value of STELE_POSTGRES_BIN), else
// the newest on this machine that passes Check. The error is a *problem.Error that names the fix.
func Find(ctx context.Context, binDir string) (Installation, error) {
	if binDir != "" {
		i, err := Inspect(ctx, binDir)
		if err != nil {
			return Installation{}, problem.New(problem.Unavailable, "STELE_POSTGRES_BIN",
				fmt.Sprintf("no PostgreSQL server in %s: %v", binDir, err),
				"name the folder that holds postgres and initdb", "or unset it and run: stele setup").Because(err)
		}
		return i, i.Check()
	}
	all := All(ctx)
	if len(all) == 0 {
		return Installation{}, problem.New(problem.Unavailable, "", "no PostgreSQL server is installed",
			"run: stele setup", "or name the folder of its programs in STELE_POSTGRES_BIN",
			"or name a database server in STELE_DATABASE_URL")
	}
	var first error
	for _, i := range all {
		err := i.Check()
		if err == nil {
			return i, nil
		}
		if first == nil {
			first = err
		}
	}
	return Installation{}, first
}

// All gives every installation found, newest major first; those that Stele cannot use are among them.
func All(ctx context.Context) []Installation {
	seen := map[string]bool{}
	var all []Installation
	for _, dir := range candidates(ctx) {
		resolved, err := filepath.EvalSymlinks(dir)
		if err != nil || seen[resolved] {
			continue
		}
		seen[resolved] = true
		if i, err := Inspect(ctx, dir); err == nil {
			all = append(all, i)
		}
	}
	sort.SliceStable(all, func(a, b int) bool { return all[a].Major > all[b].Major })
	return all
}

// candidates lists folders that may hold the programs of a server, most telling first.
func candidates(ctx context.Context) []string {
	var dirs []string
	if out, err := exec.CommandContext(ctx, "pg_config", "--bindir").Output(); err == nil {
		dirs = append(dirs, strings.TrimSpace(string(out)))
	}
	if p, err := exec.LookPath("postgres"); err == nil {
		dirs = append(dirs, filepath.Dir(p))
	}
	globs := []string{
		"/usr/lib/postgresql/*/bin", // Debian, Ubuntu and PGDG's apt repository
		"/usr/pgsql-*/bin",          // PGDG's yum repository
		"/usr/local/pgsql/bin",      // built from source
	}
	if runtime.GOOS == "darwin" {
		globs = append(globs, "/opt/homebrew/opt/postgresql@*/bin", "/usr/local/opt/postgresql@*/bin",
			"/opt/homebrew/opt/postgresql/bin", "/usr/local/opt/postgresql/bin",
			"/Applications/Postgres.app/Contents/Versions/*/bin")
	} else {
		globs = append(globs, "/home/linuxbrew/.linuxbrew/opt/postgresql@*/bin", "/usr/bin")
	}
	for _, g := range globs {
		found, err := filepath.Glob(g)
		if err != nil {
			continue // the patterns are constants, so this cannot happen
		}
		dirs = append(dirs, found...)
	}
	return dirs
}

var versionPattern = regexp.MustCompile(`\(PostgreSQL\) (\d+)(\S*)`)

// Inspect looks at one folder of programs.
func Inspect(ctx context.Context, binDir string) (Installation, error) {
	dir, err := filepath.Abs(binDir)
	if err != nil {
		return Installation{}, err
	}
	for _, name := range programs {
		if _, err := exec.LookPath(filepath.Join(dir, name)); err != nil {
			return Installation{}, fmt.Errorf("%s is not there", name)
		}
	}
	out, err := exec.CommandContext(ctx, filepath.Join(dir, "postgres"), "--version").Output()
	if err != nil {
		return Installation{}, fmt.Errorf("asking postgres for its version: %w", err)
	}
	m := versionPattern.FindStringSubmatch(string(out))
	if m == nil {
		return Installation{}, fmt.Errorf("postgres --version said %q", strings.TrimSpace(string(out)))
	}
	major, err := strconv.Atoi(m[1])
	if err != nil {
		return Installation{}, fmt.Errorf("postgres --version said %q", strings.TrimSpace(string(out)))
	}
	return Installation{BinDir: dir, Version: m[1] + m[2], Major: major, Vector: vectorVersion(ctx, dir, major)}, nil
}

var defaultVersionPattern = regexp.MustCompile(`(?m)^\s*default_version\s*=\s*'([^']*)'`)

// vectorVersion reads the version out of pgvector's control file.
func vectorVersion(ctx context.Context, binDir string, major int) string {
	up := filepath.Dir(binDir)
	// Some packages leave pg_config to their development part; these are where their builds put shared files.
	shares := []string{
		filepath.Join("/usr/share/postgresql", strconv.Itoa(major)),
		filepath.Join(up, "share"),
		filepath.Join(up, "share", "postgresql"),
		filepath.Join(up, "share", fmt.Sprintf("postgresql@%d", major)),
		"/usr/share/pgsql",
	}
	if out, err := exec.CommandContext(ctx, filepath.Join(binDir, "pg_config"), "--sharedir").Output(); err == nil {
		// What pg_config says is the truth: a file elsewhere would belong to another server.
		shares = []string{strings.TrimSpace(string(out))}
	}
	for _, share := range shares {
		control, err := os.ReadFile(filepath.Join(share, "extension", "vector.control"))
		if err != nil {
			continue
		}
		if m := defaultVersionPattern.FindSubmatch(control); m != nil {
			return string(m[1])
		}
	}
	return ""
}

// VersionAtLeast compares dotted versions number by number ("0.10" is later than "0.8", "0.8" is "0.8.0"); what follows
// the first part that is no number ("0.8.0-1", "17beta1") is left out of the comparison. No version is none at all.
func VersionAtLeast(have, want string) bool {
	h, w := numbers(have), numbers(want)
	if len(h) == 0 {
		return false
	}
	for n := range w {
		part := 0
		if n < len(h) {
			part = h[n]
		}
		if part != w[n] {
			return part > w[n]
		}
	}
	return true
}

func numbers(version string) []int {
	var out []int
	for part := range strings.SplitSeq(version, ".") {
		end := strings.IndexFunc(part, func(r rune) bool { return r < '0' || r > '9' })
		digits := part
		if end >= 0 {
			digits = part[:end]
		}
		n, err := strconv.Atoi(digits)
		if err != nil {
			return out
		}
		out = append(out, n)
		if end >= 0 {
			return out
		}
	}
	return out
}
