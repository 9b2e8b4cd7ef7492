package main

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stele-dev/stele/internal/git"
	"github.com/stele-dev/stele/internal/git/gittest"
	"github.com/stele-dev/stele/memory"
)

func TestParseOwners(t *testing.T) {
	t.Parallel()
	rule := func(pattern string, owners ...string) memory.OwnerRule {
		return memory.OwnerRule{Pattern: pattern, Owners: append([]string{}, owners...)}
	}
	for _, test := range []struct {
		line string
		want []memory.OwnerRule
	}{
		{"* @kim", []memory.OwnerRule{rule("*", "@kim")}},
		{"/api/\t@org/team  ana@example.org", []memory.OwnerRule{rule("/api/", "@org/team", "ana@example.org")}},
		{"/generated/", []memory.OwnerRule{rule("/generated/")}},
		{"/a\\ b/ @kim", []memory.OwnerRule{rule("/a b/", "@kim")}},
		{"/a @kim # since then", []memory.OwnerRule{rule("/a", "@kim")}},
		{"# @kim", nil},
		{"", nil},
		{"!/a @kim", nil},
		{"/a[bc] @kim", nil},
		{"[Section][2] @kim", nil},
		{"^[Section]", nil},
		{"/a kim @kim", []memory.OwnerRule{rule("/a", "@kim")}},
	} {
		if diff := cmp.Diff(append([]memory.OwnerRule{}, test.want...), parseOwners(test.line+"\n")); diff != "" {
			t.Errorf("%q gives\n%s", test.line, diff)
		}
	}
}

// The file is read from the commit, and the first place counts.
func TestCodeOwners(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	g := gittest.New(t).Write("a.go", "package a\n").Commit("Open")
	owners := func() []memory.OwnerRule {
		t.Helper()
		repo, err := git.Open(ctx, g.Dir)
		if err != nil {
			t.Fatal(err)
		}
		out, err := codeOwners(ctx, repo, "")
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	if got := owners(); got == nil || len(got) != 0 {
		t.Errorf("without a file: %v", got)
	}
	g.Write("docs/CODEOWNERS", "* @docs\n").Write("CODEOWNERS", "* @top\n").Commit("Say who")
	g.Write("CODEOWNERS", "* @uncommitted\n")
	if got := owners(); len(got) != 1 || got[0].Owners[0] != "@top" {
		t.Errorf("with two files: %v", got)
	}
	g.Write(".github/CODEOWNERS", "* @github\n").Commit("Say it where GitHub looks first")
	if got := owners(); len(got) != 1 || got[0].Owners[0] != "@github" {
		t.Errorf("with three files: %v", got)
	}
}
