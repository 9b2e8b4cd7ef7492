package setup

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"

	"github.com/stele-dev/stele/internal/postgres/installation"
)

// Facts are what a plan depends on.
type Facts struct {
	OS        string // runtime.GOOS
	Arch      string // runtime.GOARCH
	ID        string // ID of os-release, such as "debian"
	VersionID string // VERSION_ID of os-release, such as "12"
	Pretty    string // PRETTY_NAME of os-release
	Root      bool   // running as root
	Sudo      bool   // sudo is installed
	Brew      bool   // Homebrew is installed
	Apt       *Apt   // nil where apt-get is not the package manager
	Dnf       *Dnf   // nil where dnf is not the package manager
	Installed []installation.Installation
}

// Apt is what apt knows.
type Apt struct {
	DefaultMajor int            // major release that the package postgresql would bring, 0 when no list names it
	Vector       map[int]string // version of pgvector packaged for a major release
	Mirror       string         // base address of the distribution's archive on the mirror in use
	Updated      bool           // package lists are present, so what they do not name does not exist
}

// Dnf is what dnf knows.
type Dnf struct {
	PGDG bool // PostgreSQL's own repository is configured
}

func (f Facts) name() string {
	switch {
	case f.Pretty != "":
		return f.Pretty
	case f.ID != "":
		return f.ID
	}
	return f.OS
}

// Discover looks at this machine. binDir is STELE_POSTGRES_BIN or empty.
func Discover(ctx context.Context, binDir string) Facts {
	f := Facts{OS: runtime.GOOS, Arch: runtime.GOARCH, Root: os.Geteuid() == 0}
	if binDir != "" {
		if i, err := installation.Inspect(ctx, binDir); err == nil {
			f.Installed = append(f.Installed, i)
		}
	} else {
		f.Installed = installation.All(ctx)
	}
	for _, i := range f.Installed {
		if i.Check() == nil {
			return f // nothing to plan, so nothing else is worth the time
		}
	}
	f.Sudo = has("sudo")
	f.Brew = has("brew")
	if release, err := os.ReadFile("/etc/os-release"); err == nil {
		values := parseOSRelease(string(release))
		f.ID, f.VersionID, f.Pretty = values["ID"], values["VERSION_ID"], values["PRETTY_NAME"]
	}
	switch {
	case has("apt-get") && has("apt-cache"):
		f.Apt = discoverApt(ctx)
	case has("dnf"):
		repos, err := filepath.Glob("/etc/yum.repos.d/pgdg*.repo")
		f.Dnf = &Dnf{PGDG: err == nil && len(repos) > 0}
	}
	return f
}

func has(program string) bool {
	_, err := exec.LookPath(program)
	return err == nil
}

// newestMajor bounds the releases asked for; a release that does not exist costs nothing to ask for.
const newestMajor = 30

func discoverApt(ctx context.Context) *Apt {
	a := &Apt{Vector: map[int]string{}}
	args := []string{"policy", "postgresql"}
	for major := installation.MinMajor; major <= newestMajor; major++ {
		args = append(args, "postgresql-"+strconv.Itoa(major)+"-pgvector")
	}
	if out, err := command(ctx, "apt-cache", args...).Output(); err == nil {
		parsePolicy(string(out), a)
	}
	out, err := command(ctx, "apt-get", "indextargets", "--format", "$(CREATED_BY)|$(ORIGIN)|$(CODENAME)|$(COMPONENT)|$(REPO_URI)").Output()
	if err == nil {
		parseTargets(string(out), a)
	}
	return a
}

// command runs a program with messages in English, since its output is read.
func command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	return cmd
}

var (
	majorPattern  = regexp.MustCompile(`^(\d+)\+`)
	vectorPattern = regexp.MustCompile(`^postgresql-(\d+)-pgvector$`)
)

// parsePolicy reads `apt-cache policy`: a package's name at the start of a line, then "  Candidate: VERSION".
func parsePolicy(out string, a *Apt) {
	name := ""
	for line := range strings.Lines(out) {
		line = strings.TrimRight(line, "\n")
		if !strings.HasPrefix(line, " ") {
			name = strings.TrimSuffix(line, ":")
			continue
		}
		version, ok := strings.CutPrefix(strings.TrimSpace(line), "Candidate: ")
		if !ok || version == "(none)" {
			continue
		}
		if name == "postgresql" {
			if m := majorPattern.FindStringSubmatch(version); m != nil {
				a.DefaultMajor, _ = strconv.Atoi(m[1])
			}
			continue
		}
		if m := vectorPattern.FindStringSubmatch(name); m != nil {
			major, err := strconv.Atoi(m[1])
			if err == nil {
				a.Vector[major] = version
			}
		}
	}
}

// parseTargets reads `apt-get indextargets`: the archive from which the distribution's own packages come. Security and
// update suites sit on the same mirror or on one that lacks other releases, so the plain suite is looked for.
func parseTargets(out string, a *Apt) {
	for line := range strings.Lines(out) {
		field := strings.Split(strings.TrimSpace(line), "|")
		if len(field) != 5 || field[0] != "Packages" {
			continue
		}
		a.Updated = true
		origin, suite, component, mirror := field[1], field[2], field[3], field[4]
		if (origin == "Debian" || origin == "Ubuntu") && component == "main" && !strings.Contains(suite, "-") && a.Mirror == "" {
			a.Mirror = mirror
		}
	}
}

// parseOSRelease reads the shell-like assignments of os-release(5).
func parseOSRelease(text string) map[string]string {
	values := map[string]string{}
	scanner := bufio.NewScanner(strings.NewReader(text))
	for scanner.Scan() {
		key, value, ok := strings.Cut(strings.TrimSpace(scanner.Text()), "=")
		if ok && !strings.HasPrefix(key, "#") {
			values[key] = strings.Trim(value, `"'`)
		}
	}
	return values
}
