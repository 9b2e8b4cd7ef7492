package draft_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"pgregory.net/rapid"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/c4model/structurizr"
	"github.com/stele-dev/stele/drift"
	"github.com/stele-dev/stele/drift/draft"
	"github.com/stele-dev/stele/internal/git"
	"github.com/stele-dev/stele/internal/git/gittest"
	"github.com/stele-dev/stele/internal/problem"
)

// plainNames are what folders are called; hostileNames are what git allows as well.
var (
	plainNames = []string{
		"src", "cmd", "internal", "pkg", "services", "orders", "billing", "web", "api", "core", "test", "examples", "vendor", "tools", "main", "lib",
	}
	hostileNames = []string{
		`say "hi"`, "a{b", "}", "{", "new\nline", "größe", "->", "this", "model", "workspace", "a,b", "a;b", "a;;b", "x:12", "#L1", " lead", "trail ",
		`back\slash`, "!neg", "~home", "home", "root", "[id]", "*", "?", "*.go", "${x}", "$", "=", "\xff\xfe", "C:", "file:", "...", "//", "Überweisung", "日本",
		"tab\t", "'", "`", "<b>", "container", "softwareSystem", "a->b", `"""`, "x\r", "\u202e", "100", "_", "Node.js",
	}
)

func name(t *rapid.T) string {
	if rapid.IntRange(0, 2).Draw(t, "hostile") == 0 {
		return strings.ReplaceAll(rapid.SampledFrom(hostileNames).Draw(t, "name"), "/", "")
	}
	return rapid.SampledFrom(plainNames).Draw(t, "name")
}

// quoted is a name as JSON.
func quoted(t *rapid.T) string {
	text, err := json.Marshal(name(t))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// invented makes the files of a repository.
func invented(t *rapid.T) map[string]string {
	files := map[string]string{}
	var folders []string
	for range rapid.IntRange(1, 7).Draw(t, "folders") {
		folder := ""
		if len(folders) > 0 && rapid.Bool().Draw(t, "inside") {
			folder = rapid.SampledFrom(folders).Draw(t, "parent")
		}
		if n := name(t); n != "" && rapid.IntRange(0, 5).Draw(t, "top") > 0 {
			folder = path.Join(folder, n)
		}
		folders = append(folders, folder)
	}
	for i, folder := range folders {
		at := func(file string) string { return path.Join(folder, file) }
		other := rapid.SampledFrom(folders).Draw(t, "imported")
		switch rapid.IntRange(0, 8).Draw(t, "kind") {
		case 0:
			files[at("go.mod")] = fmt.Sprintf("module example.org/m%d\n", i)
			files[at("main.go")] = "package main\n\nimport _ \"example.org/m0/" + other + "\"\n"
		case 1:
			files[at("a.go")] = "// Package a does \"things\" with ${x} and \\.\npackage a\n\nimport _ \"example.org/m0/" + other + "\"\n"
		case 2:
			files[at("package.json")] = fmt.Sprintf(`{"name": %s, "description": %s, "workspaces": ["*", "packages/*"], "bin": "x"}`, quoted(t), quoted(t))
			files[at("index.ts")] = "import './part'\nimport { x } from '" + strings.Repeat("../", strings.Count(folder, "/")+1) + other + "/index'\n"
			files[at("part.ts")] = "export const x = 1\n"
		case 3:
			files[at("pyproject.toml")] = "[project]\nname = \"" + name(t) + "\"\n"
			files[at("shop/__init__.py")] = "\"\"\"Sells \\\"things\\\".\"\"\"\n"
			files[at("shop/a.py")] = "from . import b\nfrom shop.c import d\n"
			files[at("shop/b.py")] = "import os\n"
			files[at("shop/c/d.py")] = "from ..b import x\n"
		case 4:
			files[at("pom.xml")] = "<project><groupId>x</groupId><artifactId>m" + fmt.Sprint(i) + "</artifactId><name>" + name(t) + "</name></project>"
			files[at("src/main/java/org/shop/a/A.java")] = "package org.shop.a;\nimport org.shop.b.B;\nclass A {}\n"
			files[at("src/main/java/org/shop/b/B.java")] = "package org.shop.b;\npublic class B {}\n"
		case 5:
			files[at("Cargo.toml")] = "[package]\nname = \"" + name(t) + "\"\n"
			files[at("src/main.rs")] = "//! Runs \"it\".\nmod a;\nmod b;\nuse crate::a::x;\n"
			files[at("src/a.rs")] = "use crate::b::y;\n"
			files[at("src/b/mod.rs")] = "pub fn y() {}\n"
		case 6:
			files[at("compose.yaml")] = "services:\n  app:\n    build: ./" + rapid.SampledFrom(plainNames).Draw(t, "context") + "\n    depends_on: [db]\n" +
				"  db:\n    image: registry.example.org/postgres:16\n  \"" + rapid.SampledFrom(plainNames).Draw(t, "service") + "\":\n    image: redis\n    depends_on:\n      app: {}\n"
		case 7:
			files[at("App.csproj")] = `<Project Sdk="Microsoft.NET.Sdk.Web"></Project>`
			files[at("Orders/A.cs")] = "using Shop.Billing;\nnamespace Shop.Orders;\nclass A {}\n"
			files[at("Billing/B.cs")] = "namespace Shop.Billing;\npublic class B {}\n"
		case 8:
			files[at("README.md")] = "# " + name(t) + "\n\n" + name(t) + " is what this is for. More.\n"
			files[at("x.rb")] = "puts 1\n"
		}
	}
	return files
}

// commit makes a repository of the files; false when one stands where another has a folder.
func commit(t *testing.T, files map[string]string) (*git.Repository, bool) {
	t.Helper()
	repo := gittest.New(t)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		file := filepath.Join(repo.Dir, filepath.FromSlash(name))
		if os.MkdirAll(filepath.Dir(file), 0o750) != nil || os.WriteFile(file, []byte(files[name]), 0o600) != nil {
			return nil, false
		}
	}
	repo.Git("add", "--force", "--all")
	repo.Commit("All of it")
	opened, err := git.Open(t.Context(), repo.Dir)
	if err != nil {
		t.Fatal(err)
	}
	return opened, true
}

// parse reads a draft as the reader of models does.
func parse(t *testing.T, dsl string) (*c4model.Model, error) {
	t.Helper()
	files := fstest.MapFS{"workspace.dsl": &fstest.MapFile{Data: []byte(dsl), Mode: fs.ModePerm}}
	return structurizr.ReadDSL(t.Context(), c4model.NewRoot(files), "workspace.dsl")
}

func TestDraftsHold(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		repo, ok := commit(t, invented(rt))
		if !ok {
			return // a file is in the way of a folder
		}
		o := draft.Options{Repository: repo, Name: "shop"}
		d, err := draft.Propose(t.Context(), o)
		if problem.Is(err, problem.NotFound) {
			return // there is nothing to draft, and the error says so
		}
		if err != nil {
			rt.Fatal(err)
		}
		m, err := parse(t, d.DSL)
		if err != nil {
			rt.Fatalf("%v\n%s", err, d.DSL)
		}
		if len(m.Warnings) > 0 {
			rt.Fatalf("the reader warns: %v\n%s", m.Warnings, d.DSL)
		}
		in, err := drift.Source{Repository: repo, Model: m}.Load(t.Context(), "")
		if err != nil {
			rt.Fatal(err)
		}
		if len(in.Model.Warnings) > 0 {
			rt.Fatalf("bindings cannot be used: %v\n%s", in.Model.Warnings, d.DSL)
		}
		for _, b := range in.Bindings {
			if !slices.ContainsFunc(in.Tree, func(e git.Entry) bool { return c4model.Matches(b.Pattern, e.Path) }) {
				rt.Fatalf("%s is bound to %s, and no tracked file is there\n%s", b.Element, b.Pattern, d.DSL)
			}
		}
		if len(d.Ignore) > 0 {
			in.Ignore = d.Ignore
		}
		r, err := drift.Run(t.Context(), repo, in, drift.Options{History: -1})
		if err != nil {
			rt.Fatal(err)
		}
		switch {
		case r.Score != nil && *r.Score == 100 && len(r.Findings) == 0:
		case r.Status == drift.NotChecked && r.Reason != "":
		default:
			rt.Fatalf("score %v, findings %v\n%s", r.Score, r.Findings, d.DSL)
		}
		const settings = 2 // files beside the folders of units, which tools read, belong to nobody
		if r.Score != nil && r.Files.Owned*10 < (r.Files.Source-settings)*9 {
			rt.Fatalf("only %d of %d source files are owned\n%s", r.Files.Owned, r.Files.Source, d.DSL)
		}
		again, err := draft.Propose(t.Context(), o)
		if err != nil || again.DSL != d.DSL {
			rt.Fatalf("the second draft differs (%v)\n%s\n%s", err, d.DSL, again.DSL)
		}
	})
}
