package setup

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/stele-dev/stele/internal/postgres/installation"
	"github.com/stele-dev/stele/internal/problem"
)

// Step is one thing to do: a POSIX shell script that is shown as it is run.
type Step struct {
	Why    string // one line for people
	Script string // run with sh -eu
	Root   bool   // needs the rights of root
}

// Plan is what has to be done. No steps: everything is there.
type Plan struct {
	Steps []Step
	Again bool // the steps only make the next plan possible (a package list was missing)
}

// homebrewMajor and pgdgMajor are the releases installed where the system has no favourite of its own. 17 is the oldest
// for which Homebrew's pgvector is built.
const (
	homebrewMajor = 17
	pgdgMajor     = 17
)

// source names the newer release of the same distribution whose pgvector source builds on an older one. Its archive is
// on the same mirrors and signed by the same keys, so nothing new has to be trusted.
type source struct {
	suite, component, keyring, keyringPackage string
}

var sources = map[string]source{
	"debian": {"trixie", "main", "/usr/share/keyrings/debian-archive-keyring.gpg", "debian-archive-keyring"},
	"ubuntu": {"resolute", "universe", "/usr/share/keyrings/ubuntu-archive-keyring.gpg", "ubuntu-keyring"},
}

// MakePlan decides what to install on a machine with these facts. It does nothing itself. The error is a *problem.Error
// that names what to do by hand when there is no way Stele knows.
func MakePlan(f Facts) (Plan, error) {
	for _, i := range f.Installed {
		if i.Check() == nil {
			return Plan{}, nil
		}
	}
	switch {
	case f.OS == "darwin":
		return homebrew(f)
	case f.OS != "linux":
		return Plan{}, byHand(f)
	case f.Apt != nil:
		return apt(f)
	case f.Dnf != nil:
		return dnf(f)
	}
	return Plan{}, byHand(f)
}

func homebrew(f Facts) (Plan, error) {
	if !f.Brew {
		return Plan{}, problem.New(problem.Unavailable, "", "PostgreSQL and pgvector come from Homebrew on macOS, and brew is not installed",
			"install Homebrew (https://brew.sh) and run stele setup again", "or name the folder of another PostgreSQL in STELE_POSTGRES_BIN",
			"or name a database server in STELE_DATABASE_URL")
	}
	if f.Root {
		return Plan{}, problem.New(problem.Unavailable, "", "Homebrew refuses to run as root",
			"run stele setup as your own user")
	}
	return Plan{Steps: []Step{{
		Why:    fmt.Sprintf("install PostgreSQL %d and pgvector with Homebrew", homebrewMajor),
		Script: fmt.Sprintf("brew install postgresql@%d pgvector\n", homebrewMajor),
	}}}, nil
}

func apt(f Facts) (Plan, error) {
	const update = "apt-get update -q\n"
	if f.Apt.DefaultMajor == 0 && len(f.Installed) == 0 {
		if f.Apt.Updated {
			return Plan{}, byHand(f)
		}
		return Plan{Again: true, Steps: []Step{{Why: "fetch the package lists", Script: update, Root: true}}}, nil
	}
	// The newest installed server gets its pgvector; only a machine without a usable one gets a server.
	major, have := f.Apt.DefaultMajor, false
	for _, i := range f.Installed {
		if i.Major >= installation.MinMajor && i.BinDir == fmt.Sprintf("/usr/lib/postgresql/%d/bin", i.Major) {
			major, have = i.Major, true
			break
		}
	}
	if major < installation.MinMajor {
		return Plan{}, problem.New(problem.Unavailable, "",
			fmt.Sprintf("%s packages PostgreSQL %d, Stele needs %d or later", f.name(), major, installation.MinMajor),
			"add PostgreSQL's own repository (apt-get install postgresql-common && /usr/share/postgresql-common/pgdg/apt.postgresql.org.sh) and run stele setup again",
			"or name a database server in STELE_DATABASE_URL")
	}
	server := fmt.Sprintf("postgresql-%d", major)
	vector := server + "-pgvector"
	if v := f.Apt.Vector[major]; v != "" && installation.VersionAtLeast(v, installation.MinVectorVersion) {
		packages := []string{vector}
		why := fmt.Sprintf("install pgvector %s for PostgreSQL %d", v, major)
		if !have {
			packages = append([]string{server}, packages...)
			why = fmt.Sprintf("install PostgreSQL %d and pgvector %s", major, v)
		}
		return Plan{Steps: []Step{{Why: why, Root: true, Script: update + install(!have, packages)}}}, nil
	}
	src, known := sources[f.ID]
	if !known || f.Apt.Mirror == "" {
		return Plan{}, byHand(f)
	}
	packages := []string{fmt.Sprintf("postgresql-server-dev-%d", major), "gcc", "libc6-dev", "make", src.keyringPackage}
	why := fmt.Sprintf("install what builds an extension of PostgreSQL %d", major)
	if !have {
		packages = append([]string{server}, packages...)
		why = fmt.Sprintf("install PostgreSQL %d and what builds an extension of it", major)
	}
	return Plan{Steps: []Step{
		{Why: why, Root: true, Script: update + install(!have, packages)},
		{
			Why: fmt.Sprintf("build pgvector %s or later, which %s does not package, from the source package of %s (apt's lists are not changed)",
				installation.MinVectorVersion, f.name(), src.suite),
			Root:   true,
			Script: build(src, f.Apt.Mirror, major),
		},
	}}, nil
}

// install gives the script for packages. withServer: Debian's server package makes and starts a cluster on port 5432,
// which Stele does not use and nobody asked for, so the script switches that off while it runs.
func install(withServer bool, packages []string) string {
	var b strings.Builder
	if withServer {
		b.WriteString("conf=/etc/postgresql-common/createcluster.d/stele-setup.conf\n")
		b.WriteString("trap 'rm -f \"$conf\"' EXIT\ntrap 'exit 130' INT TERM\n")
		b.WriteString("mkdir -p /etc/postgresql-common/createcluster.d\n")
		b.WriteString("echo 'create_main_cluster = false' > \"$conf\"\n")
	}
	b.WriteString("DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends " + strings.Join(packages, " ") + "\n")
	return b.String()
}

// build gives the script that builds pgvector. The list with the deb-src line and everything apt fetches for it live in
// a scratch folder that is gone afterwards, also when a command fails. Without LLVM the JIT inlining code is not built,
// which the cluster has switched off anyway.
func build(src source, mirror string, major int) string {
	lines := []string{
		`scratch=$(mktemp -d)`,
		`trap 'rm -rf "$scratch"' EXIT`,
		`trap 'exit 130' INT TERM`,
		`chmod 755 "$scratch"`,
		`cd "$scratch"`,
		`mkdir -p lists/partial download`,
		`chown _apt download || true`, // apt fetches as that user, and only warns where it cannot
		fmt.Sprintf(`echo 'deb-src [signed-by=%s] %s %s %s' > sources.list`, src.keyring, mirror, src.suite, src.component),
		`fetch() { apt-get -q -o Dir::Etc::sourcelist="$scratch/sources.list" -o Dir::Etc::sourceparts=- -o Dir::State::lists="$scratch/lists" "$@"; }`,
		`fetch update`,
		`cd download`,
		`fetch source --download-only pgvector`,
		`cd ..`,
		`mkdir pgvector`,
		`tar -xf download/pgvector_*.orig.tar.* -C pgvector --strip-components=1`,
		fmt.Sprintf(`make -s -C pgvector PG_CONFIG=/usr/lib/postgresql/%d/bin/pg_config with_llvm=no OPTFLAGS=""`, major),
		fmt.Sprintf(`make -s -C pgvector PG_CONFIG=/usr/lib/postgresql/%d/bin/pg_config with_llvm=no install`, major),
	}
	return strings.Join(lines, "\n") + "\n"
}

func dnf(f Facts) (Plan, error) {
	major := pgdgMajor
	have := false
	for _, i := range f.Installed {
		if i.Major >= installation.MinMajor && i.BinDir == fmt.Sprintf("/usr/pgsql-%d/bin", i.Major) {
			major, have = i.Major, true
			break
		}
	}
	var b strings.Builder
	if !f.Dnf.PGDG {
		repo, err := pgdgRepository(f)
		if err != nil {
			return Plan{}, err
		}
		fmt.Fprintf(&b, "dnf install -y %s\n", repo)
		if f.ID != "fedora" {
			// The distribution's module hides PGDG's packages of the same name. Release 10 has no modules.
			b.WriteString("dnf -qy module disable postgresql || true\n")
		}
	}
	packages := []string{fmt.Sprintf("pgvector_%d", major)}
	why := fmt.Sprintf("install pgvector for PostgreSQL %d from PostgreSQL's own repository", major)
	if !have {
		packages = append([]string{fmt.Sprintf("postgresql%d-server", major)}, packages...)
		why = fmt.Sprintf("install PostgreSQL %d and pgvector from PostgreSQL's own repository", major)
	}
	fmt.Fprintf(&b, "dnf install -y %s\n", strings.Join(packages, " "))
	return Plan{Steps: []Step{{Why: why, Script: b.String(), Root: true}}}, nil
}

var releaseNumber = regexp.MustCompile(`^\d+`)

// pgdgRepository gives the address of the package that adds PostgreSQL's repository.
func pgdgRepository(f Facts) (string, error) {
	release := releaseNumber.FindString(f.VersionID)
	arch, ok := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[f.Arch]
	if release == "" || !ok {
		return "", byHand(f)
	}
	const base = "https://download.postgresql.org/pub/repos/yum/reporpms"
	if f.ID == "fedora" {
		return fmt.Sprintf("%s/F-%s-%s/pgdg-fedora-repo-latest.noarch.rpm", base, release, arch), nil
	}
	return fmt.Sprintf("%s/EL-%s-%s/pgdg-redhat-repo-latest.noarch.rpm", base, release, arch), nil
}

// byHand is the answer for a system without a recipe.
func byHand(f Facts) error {
	return problem.New(problem.Unavailable, "", "stele setup has no recipe for "+f.name(),
		fmt.Sprintf("install PostgreSQL %d or later and pgvector %s or later and name the folder of its programs in STELE_POSTGRES_BIN",
			installation.MinMajor, installation.MinVectorVersion),
		"or name a database server in STELE_DATABASE_URL")
}
