package setup

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What the programs print, with the lines that could mislead.
const (
	policy = `postgresql:
  Installed: (none)
  Candidate: 15+248+deb12u1
  Version table:
     15+248+deb12u1 500
        500 http://mirror.example/debian bookworm/main amd64 Packages
postgresql-15-pgvector:
  Installed: (none)
  Candidate: (none)
  Version table:
postgresql-17-pgvector:
  Installed: (none)
  Candidate: 0.8.0-1
  Version table:
     0.8.0-1 500
        500 http://mirror.example/debian trixie/main amd64 Packages
`
	targets = `Translations|Debian|bookworm|main|http://mirror.example/debian/
Packages|Debian|bookworm-updates|main|http://mirror.example/updates/
Packages|Debian|bookworm-security|main|http://mirror.example/debian-security/
Packages|Example|stable|main|http://packages.example/
Packages|Debian|bookworm|contrib|http://mirror.example/contrib/
Packages|Debian|bookworm|main|http://mirror.example/debian/
Packages|Debian|bookworm|main|http://second.example/debian/
`
	release = `PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"
# ID=comment
VERSION_ID="12"
ID=debian
HOME_URL='https://www.debian.org/'
not an assignment
`
)

func TestReadingApt(t *testing.T) {
	t.Parallel()
	var got Apt
	got.Vector = map[int]string{}
	parsePolicy(policy, &got)
	parseTargets(targets, &got)
	want := Apt{DefaultMajor: 15, Vector: map[int]string{17: "0.8.0-1"}, Mirror: "http://mirror.example/debian/", Updated: true}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var empty Apt
	parsePolicy("N: Unable to locate package postgresql\n", &empty)
	parseTargets("", &empty)
	if diff := cmp.Diff(Apt{}, empty); diff != "" {
		t.Errorf("without package lists (-want +got):\n%s", diff)
	}
}

func TestReadingOSRelease(t *testing.T) {
	t.Parallel()
	got := parseOSRelease(release)
	for key, want := range map[string]string{"ID": "debian", "VERSION_ID": "12", "PRETTY_NAME": "Debian GNU/Linux 12 (bookworm)", "HOME_URL": "https://www.debian.org/"} {
		if got[key] != want {
			t.Errorf("%s is %q, want %q", key, got[key], want)
		}
	}
}
