package setup

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stele-dev/stele/internal/postgres/installation"
	"github.com/stele-dev/stele/internal/problem"
)

var update = flag.Bool("update", false, "write the plans into testdata/plans instead of comparing them")

func installed(bin string, major int, version, vector string) []installation.Installation {
	return []installation.Installation{{BinDir: bin, Major: major, Version: version, Vector: vector}}
}

// machines are facts as Discover finds them.
var machines = map[string]Facts{
	"debian-12-with-postgresql": {
		OS: "linux", Arch: "amd64", ID: "debian", VersionID: "12", Pretty: "Debian GNU/Linux 12 (bookworm)", Root: true,
		Apt:       &Apt{DefaultMajor: 15, Vector: map[int]string{}, Mirror: "http://mirror.example/debian/", Updated: true},
		Installed: installed("/usr/lib/postgresql/15/bin", 15, "15.20", ""),
	},
	"debian-12-bare": {
		OS: "linux", Arch: "amd64", ID: "debian", VersionID: "12", Pretty: "Debian GNU/Linux 12 (bookworm)", Sudo: true,
		Apt: &Apt{DefaultMajor: 15, Vector: map[int]string{}, Mirror: "http://mirror.example/debian/", Updated: true},
	},
	"debian-12-without-package-lists": {
		OS: "linux", Arch: "amd64", ID: "debian", VersionID: "12", Pretty: "Debian GNU/Linux 12 (bookworm)", Root: true,
		Apt: &Apt{Vector: map[int]string{}},
	},
	"debian-12-with-pgdg": {
		OS: "linux", Arch: "amd64", ID: "debian", VersionID: "12", Pretty: "Debian GNU/Linux 12 (bookworm)", Root: true,
		Apt:       &Apt{DefaultMajor: 18, Vector: map[int]string{16: "0.8.1-1.pgdg12+1", 17: "0.8.1-1.pgdg12+1", 18: "0.8.1-1.pgdg12+1"}, Mirror: "http://mirror.example/debian/", Updated: true},
		Installed: append(installed("/usr/lib/postgresql/17/bin", 17, "17.6", ""), installed("/usr/lib/postgresql/15/bin", 15, "15.20", "")...),
	},
	"debian-13-bare": {
		OS: "linux", Arch: "arm64", ID: "debian", VersionID: "13", Pretty: "Debian GNU/Linux 13 (trixie)", Root: true,
		Apt: &Apt{DefaultMajor: 17, Vector: map[int]string{17: "0.8.0-1"}, Mirror: "http://mirror.example/debian/", Updated: true},
	},
	"debian-11": {
		OS: "linux", Arch: "amd64", ID: "debian", VersionID: "11", Pretty: "Debian GNU/Linux 11 (bullseye)", Root: true,
		Apt: &Apt{DefaultMajor: 13, Vector: map[int]string{}, Mirror: "http://mirror.example/debian/", Updated: true},
	},
	// The release packages pgvector 0.6, which is too old.
	"ubuntu-24.04": {
		OS: "linux", Arch: "amd64", ID: "ubuntu", VersionID: "24.04", Pretty: "Ubuntu 24.04.3 LTS", Sudo: true,
		Apt: &Apt{DefaultMajor: 16, Vector: map[int]string{16: "0.6.0-1"}, Mirror: "http://mirror.example/ubuntu/", Updated: true},
	},
	"ubuntu-26.04": {
		OS: "linux", Arch: "amd64", ID: "ubuntu", VersionID: "26.04", Pretty: "Ubuntu 26.04 LTS", Sudo: true,
		Apt: &Apt{DefaultMajor: 18, Vector: map[int]string{18: "0.8.1-2"}, Mirror: "http://mirror.example/ubuntu/", Updated: true},
	},
	"apt-of-another-distribution": {
		OS: "linux", Arch: "amd64", ID: "devuan", VersionID: "5", Pretty: "Devuan GNU/Linux 5", Root: true,
		Apt: &Apt{DefaultMajor: 15, Vector: map[int]string{}, Updated: true},
	},
	"fedora": {
		OS: "linux", Arch: "amd64", ID: "fedora", VersionID: "43", Pretty: "Fedora Linux 43", Sudo: true, Dnf: &Dnf{},
	},
	"rocky-9": {
		OS: "linux", Arch: "arm64", ID: "rocky", VersionID: "9.6", Pretty: "Rocky Linux 9.6", Root: true, Dnf: &Dnf{},
	},
	"rocky-9-with-pgdg": {
		OS: "linux", Arch: "amd64", ID: "rocky", VersionID: "9.6", Pretty: "Rocky Linux 9.6", Root: true, Dnf: &Dnf{PGDG: true},
		Installed: installed("/usr/pgsql-16/bin", 16, "16.10", ""),
	},
	"dnf-on-another-processor": {
		OS: "linux", Arch: "s390x", ID: "rhel", VersionID: "9.6", Pretty: "Red Hat Enterprise Linux 9.6", Root: true, Dnf: &Dnf{},
	},
	"macos":               {OS: "darwin", Arch: "arm64", Brew: true},
	"macos-without-brew":  {OS: "darwin", Arch: "arm64"},
	"macos-as-root":       {OS: "darwin", Arch: "arm64", Brew: true, Root: true},
	"alpine":              {OS: "linux", Arch: "amd64", ID: "alpine", VersionID: "3.22", Pretty: "Alpine Linux v3.22", Root: true},
	"freebsd":             {OS: "freebsd", Arch: "amd64", Root: true},
	"everything-is-there": {OS: "linux", Arch: "amd64", Installed: installed("/usr/lib/postgresql/17/bin", 17, "17.6", "0.8.0")},
}

// TestPlans compares every plan, as it is shown before it runs, with the one that was read and approved.
func TestPlans(t *testing.T) {
	t.Parallel()
	for name, facts := range machines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plan, err := MakePlan(facts)
			shown := Describe(facts, plan)
			switch p, ok := problem.As(err); {
			case ok:
				shown = "problem: " + p.Error() + "\n"
				if len(p.Fixes) == 0 {
					t.Error("the problem names no fix")
				}
			case err != nil:
				t.Fatal(err)
			case len(plan.Steps) == 0:
				shown = "nothing to do\n"
			}
			if plan.Again {
				shown += "then look again\n"
			}
			file := filepath.Join("testdata", "plans", name+".txt")
			if *update {
				if err := os.WriteFile(file, []byte(shown), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), shown); diff != "" {
				t.Errorf("the plan changed (-want +got):\n%s", diff)
			}
		})
	}
}

// TestPlansNameNoMirror: where packages come from is for the machine to say.
func TestPlansNameNoMirror(t *testing.T) {
	t.Parallel()
	for name, facts := range machines {
		plan, err := MakePlan(facts)
		if err != nil {
			continue
		}
		for _, step := range plan.Steps {
			if strings.Contains(step.Script, "debian.org") || strings.Contains(step.Script, "ubuntu.com") {
				t.Errorf("%s: a mirror is written down in\n%s", name, step.Script)
			}
		}
	}
}
