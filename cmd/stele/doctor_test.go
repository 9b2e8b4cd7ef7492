package main

import (
	"os"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stele-dev/stele/doctor"
	"github.com/stele-dev/stele/internal/config"
	"github.com/stele-dev/stele/internal/postgres/pgtest"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/internal/secret"
	"github.com/stele-dev/stele/memory"
	store "github.com/stele-dev/stele/memory/postgres"
)

// row is the beginning of a row of a table in docs/doctor.md.
var row = regexp.MustCompile("(?m)^\\| `([a-z]+)` \\| (.+?) \\|")

// The document has a row for every check and every invariant, and for nothing else.
func TestEveryCheckIsDocumented(t *testing.T) {
	t.Parallel()
	x := &examination{app: &app{}, now: time.Now}
	ids := map[string]bool{}
	for _, probes := range [][]doctor.Probe{x.machine(), x.local(true), x.remote(true), x.agents(), serverProbes(&backend{})} {
		before := map[string]bool{}
		for _, p := range probes {
			if before[p.ID] {
				t.Errorf("%s is asked twice", p.ID)
			}
			before[p.ID], ids[p.ID] = true, true
		}
	}
	master, err := secret.GenerateMaster()
	if err != nil {
		t.Fatal(err)
	}
	s := store.New(pgtest.New(t), master)
	org, err := memory.New(s, memory.Options{}).EnsureOrganization(t.Context(), "acme")
	if err != nil {
		t.Fatal(err)
	}
	found, err := s.Invariants(t.Context(), org, 0)
	if err != nil {
		t.Fatal(err)
	}
	claims := map[string]string{}
	for _, i := range found {
		claims[i.ID], ids[i.ID] = i.Claim, true
	}
	text, err := os.ReadFile("../../docs/doctor.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]bool{}
	for _, m := range row.FindAllStringSubmatch(string(text), -1) {
		documented[m[1]] = true
		if claim := claims[m[1]]; claim != "" && claim != m[2] {
			t.Errorf("%s: docs say %q, the code %q", m[1], m[2], claim)
		}
	}
	if diff := cmp.Diff(ids, documented); diff != "" {
		t.Errorf("docs/doctor.md (-code +docs):\n%s", diff)
	}
	for id := range deepFixes {
		if claims[id] == "" {
			t.Errorf("there is a fix for %s, which is no invariant", id)
		}
	}
}

// Which probe tells why a database could not be opened.
func TestWhoseFaultItIs(t *testing.T) {
	t.Parallel()
	c := config.Config{MasterKeyFile: "/keys/master.key"}
	for want, err := range map[string]error{
		"roles":  problem.New(problem.Forbidden, "STELE_DATABASE_URL", "it is a superuser"),
		"schema": problem.New(problem.Unavailable, "STELE_DATABASE_OWNER_URL", "it is old"),
		"keys":   problem.New(problem.Unavailable, "/keys/master.key", "it is lost"),
		"":       problem.New(problem.Unavailable, "", "it is away"),
	} {
		if got := whose(c, err); got != want {
			t.Errorf("%v is told by %q, want %q", err, got, want)
		}
	}
}

func TestVersionSkew(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]bool{"1.2": true, "v0.3.1": true, "development": false, "": false, "v": false} {
		if released(version) != want {
			t.Errorf("%q is released: %t", version, !want)
		}
	}
	if !slices.Contains([]doctor.State{doctor.OK}, versions("it answers", "development").State) {
		t.Error("whoever builds from source is warned")
	}
}
