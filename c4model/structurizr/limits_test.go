package structurizr_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/c4model/structurizr"
	"github.com/stele-dev/stele/internal/problem"
)

// garbage is content that must be refused within the memory and steps that the limits promise, whatever its kind.
func garbage(size int) map[string][]byte {
	random := make([]byte, size)
	source := rand.NewChaCha8([32]byte{1})
	_, _ = source.Read(random)
	fill := func(head, line string) []byte {
		return append([]byte(head), bytes.Repeat([]byte(line), (size-len(head))/len(line))...)
	}
	model := "workspace {\nmodel {\n"
	return map[string][]byte{
		"one long line":       bytes.Repeat([]byte("a"), size),
		"one long quote":      append([]byte(model+`person "`), bytes.Repeat([]byte("a"), size-len(model)-8)...),
		"one joined line":     fill(model, "person \\\n"),
		"one text block":      fill(model+"person \"\"\"\n", "text\n"),
		"one comment":         fill("/*\n", "text\n"),
		"deep braces":         fill(model, "group a {\n"),
		"deep braces skipped": fill("workspace {\nviews {\n", "{\n"),
		"closing braces":      fill(model, "}\n"),
		"tiny elements":       fill(model, "person a\n"),
		"tiny identifiers":    fill(model+"deploymentEnvironment e {\n", "x = y\n"),
		"tiny relationships":  fill(model+"a = person a\nb = person b\n", "a -> b\n"),
		"many tags":           fill(model+"a = person a {\n", "tag a,b,c,d\n"),
		"many groups":         fill(model+"softwareSystem a {\ncontainer b {\ncomponent c {\n", "group g\n"),
		"many constants":      fill("", "!const A ${A}${A}\n"),
		"random bytes":        random,
		"zero bytes":          make([]byte, size),
		"braces of JSON":      bytes.Repeat([]byte("{"), size),
		"lists of JSON":       bytes.Repeat([]byte("["), size),
		"tiny JSON objects":   fill(`{"model":{"people":[`, "{},"),
		"tiny JSON lists":     fill(`{"model":{"people":[`, "[],"),
	}
}

// TestGarbage feeds ten megabytes of each kind, and half of what the size limit lets through, to the readers. The bound
// on memory is what matters: it is checked after the size has passed, where only the other limits help.
//
//nolint:paralleltest // it counts what is allocated
func TestGarbage(t *testing.T) {
	const most = 256 << 20 // bytes allocated in total, nearly all of it short-lived
	for _, size := range []int{10 << 20, structurizr.MaxDSLBytes / 2} {
		for kind, data := range garbage(size) {
			for _, name := range []string{"w.dsl", "w.json"} {
				if strings.Contains(kind, "JSON") != (name == "w.json") && !strings.Contains(kind, "bytes") {
					continue // refused at its first byte
				}
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				m, err := read(t.Context(), c4model.NewRoot(fstest.MapFS{name: {Data: data}}), name)
				runtime.ReadMemStats(&after)
				if m != nil || !problem.Is(err, problem.Invalid) {
					t.Errorf("%s of %d bytes as %s: model %t, error %v", kind, size, name, m != nil, err)
					continue
				}
				if len(err.Error()) > 1000 {
					t.Errorf("%s as %s: an error of %d bytes", kind, name, len(err.Error()))
				}
				if used := after.TotalAlloc - before.TotalAlloc; used > most {
					t.Errorf("%s of %d bytes as %s: allocated %d MB", kind, size, name, used>>20)
				}
			}
		}
	}
}

// TestLimits checks each limit just inside and just outside.
func TestLimits(t *testing.T) {
	t.Parallel()
	repeat := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format+"\n", i)
		}
		return b.String()
	}
	nested := func(n int) string {
		return inModel(strings.TrimSpace(repeat(n, "group g%d {")), strings.TrimSpace(strings.Repeat("}\n", n)))
	}
	doubling := func(n int) string {
		return "!const c0 0123456789\n" + func() string {
			var b strings.Builder
			for i := range n {
				fmt.Fprintf(&b, "!const c%d ${c%d}${c%d}\n", i+1, i, i)
			}
			return b.String()
		}() + "workspace {\n}\n"
	}
	bulk := func(n int) string {
		return inModel(repeat(2000, "person p%d"), strings.Repeat("!elements * {\ntag a\ndescription b\n}\n", n))
	}
	tests := []struct {
		name, inside, outside, want string
	}{
		{"elements", inModel(repeat(structurizr.MaxElements, "person p%d")), inModel(repeat(structurizr.MaxElements+1, "person p%d")), "more than 10000 elements"},
		{"relationships", inModel("a = person a", repeat(structurizr.MaxRelationships, "a -> a d%d")), inModel("a = person a", repeat(structurizr.MaxRelationships+1, "a -> a d%d")), "more than 50000 relationships"},
		{"nesting", nested(structurizr.MaxNesting - 2), nested(structurizr.MaxNesting - 1), "more than 64 nested blocks"},
		{"tags", inModel("person a {", repeat(structurizr.MaxTags, "tag t%d"), "}"), inModel("person a {", repeat(structurizr.MaxTags+1, "tag t%d"), "}"), "more than 100 tags"},
		{"line", inModel("person \"" + strings.Repeat("a", structurizr.MaxLineBytes-20) + "\""), inModel("person \"" + strings.Repeat("a", structurizr.MaxLineBytes) + "\""), "a line of more than 1048576 bytes"},
		{"constants", doubling(17), doubling(40), "constants that expand to more than"},
		{"bulk operations", bulk(10), bulk(1_000), "bulk operations that touch more than"},
		{"archetypes", inModel("archetypes {", "a0 = container", "a1 = a0", "}"), inModel("archetypes {", "a = container", strings.Repeat("a = a\n", 20), "}"), "more than 16 deep"},
		{"expressions", inModel("person a", "!elements "+strings.Repeat("a||", 100)+"* {", "}"), "", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if _, err := dsl(t, test.inside); err != nil {
				t.Errorf("inside the limit: %v", err)
			}
			if test.outside == "" {
				return
			}
			if _, err := dsl(t, test.outside); !problem.Is(err, problem.Invalid) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("outside the limit: %v; want %q", err, test.want)
			}
		})
	}
}

func TestIncludeLimits(t *testing.T) {
	t.Parallel()
	chain := func(n int) fstest.MapFS {
		files := fstest.MapFS{"w.dsl": {Data: []byte(inModel("!include 1.dsl"))}}
		for i := 1; i <= n; i++ {
			line := fmt.Sprintf("!include %d.dsl\n", i+1)
			if i == n {
				line = "person last\n"
			}
			files[fmt.Sprintf("%d.dsl", i)] = &fstest.MapFile{Data: []byte(line)}
		}
		return files
	}
	folder := func(n int) fstest.MapFS {
		files := fstest.MapFS{"w.dsl": {Data: []byte(inModel("!include all"))}}
		for i := range n {
			files[fmt.Sprintf("all/%d.dsl", i)] = &fstest.MapFile{Data: []byte("# nothing\n")}
		}
		return files
	}
	bomb := fstest.MapFS{"w.dsl": {Data: []byte(inModel("!include 1.dsl", "!include 1.dsl"))}}
	for i := 1; i < 15; i++ {
		bomb[fmt.Sprintf("%d.dsl", i)] = &fstest.MapFile{Data: fmt.Appendf(nil, "!include %d.dsl\n!include %d.dsl\n", i+1, i+1)}
	}
	bomb["15.dsl"] = &fstest.MapFile{Data: []byte("# end\n")}
	large := fstest.MapFS{"w.dsl": {Data: []byte(inModel(strings.Repeat("!include big.dsl\n", 5)))}, "big.dsl": {Data: bytes.Repeat([]byte("# a comment\n"), 100_000)}}
	tests := []struct {
		name  string
		files fstest.MapFS
		want  string // "" reads
	}{
		{"depth inside", chain(structurizr.MaxIncludeDepth), ""},
		{"depth outside", chain(structurizr.MaxIncludeDepth + 1), "files included more than 16 deep"},
		{"folder", folder(100), ""},
		{"large folder", folder(structurizr.MaxIncludedFiles + 2), "more than 2000 files"},
		{"bomb", bomb, "more than 2000 included files"},
		{"bytes of all files", large, "more than 4194304 bytes of DSL with big.dsl"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := structurizr.ReadDSL(t.Context(), c4model.NewRoot(test.files), "w.dsl")
			switch {
			case test.want == "" && err != nil:
				t.Error(err)
			case test.want != "" && (!problem.Is(err, problem.Invalid) || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), ".dsl:")):
				t.Errorf("error %v; want %q with a place", err, test.want)
			}
		})
	}
}

// TestConfinement checks that no reference of a model leaves the root folder, by any means, and that each is reported.
func TestConfinement(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		file := filepath.Join(base, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	link := func(target, name string) {
		t.Helper()
		if err := os.Symlink(target, filepath.Join(base, name)); err != nil {
			t.Fatal(err)
		}
	}
	secret := "secret = person \"Secret\"\n"
	write("outside/secret.dsl", secret)
	write("outside/adr/0001-secret.md", "# 1. Secret\n\nHidden.\n")
	write("root/inside/ok.dsl", "ok = person \"Ok\"\n")
	link("../outside/secret.dsl", "root/link.dsl")
	link("../outside", "root/folder")
	link(filepath.Join(base, "outside", "secret.dsl"), "root/absolute.dsl")
	link("inside/ok.dsl", "root/good.dsl")
	link("../../outside/secret.dsl", "root/inside/deep.dsl")
	root, err := c4model.OpenRoot(filepath.Join(base, "root"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	for _, line := range []string{
		"!include ../outside/secret.dsl", `!include ..\outside\secret.dsl`, "!include " + filepath.Join(base, "outside/secret.dsl"),
		"!include inside/../../outside/secret.dsl", "!include link.dsl", "!include folder/secret.dsl", "!include folder", "!include absolute.dsl",
		"!include file:///etc/passwd", "!include https://example.org/secret.dsl", "!include C:/secret.dsl", "!include inside",
		"!adrs ../outside/adr", "!adrs folder/adr", "!adrs https://example.org/adr",
	} {
		write("root/w.dsl", inModel(line))
		m, err := structurizr.ReadDSL(t.Context(), root, "w.dsl")
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		for _, e := range m.Elements {
			if e.Name == "Secret" {
				t.Errorf("%s: read what is outside", line)
			}
		}
		if len(m.Decisions) > 0 {
			t.Errorf("%s: read decisions outside", line)
		}
		reported := false
		for _, w := range m.Warnings {
			reported = reported || w.NotIncluded && w.File == "w.dsl" && w.Line == 3
		}
		if !reported {
			t.Errorf("%s: not reported: %v", line, m.Warnings)
		}
	}
	for _, head := range []string{"extends ../outside/secret.dsl", "extends link.dsl", "extends https://example.org/w.json", "extends folder/secret.dsl"} {
		write("root/w.dsl", "workspace "+head+" {\n}\n")
		m, err := structurizr.ReadDSL(t.Context(), root, "w.dsl")
		if err != nil || len(m.Elements) != 0 || len(m.Warnings) == 0 || !m.Warnings[0].NotIncluded {
			t.Errorf("%s: %v, %v", head, m, err)
		}
	}
	for _, name := range []string{"link.dsl", "absolute.dsl", "folder/secret.dsl", "../outside/secret.dsl"} {
		if m, err := structurizr.ReadDSL(t.Context(), root, name); m != nil || !problem.Is(err, problem.Invalid) {
			t.Errorf("%s: %v, %v", name, m, err)
		}
		if m, err := structurizr.ReadJSON(t.Context(), root, name); m != nil || !problem.Is(err, problem.Invalid) {
			t.Errorf("%s as JSON: %v, %v", name, m, err)
		}
	}
	write("root/w.dsl", inModel("!include good.dsl", "ok -> ok"))
	if m, err := structurizr.ReadDSL(t.Context(), root, "w.dsl"); err != nil || len(m.Elements) != 1 {
		t.Errorf("a link that stays inside: %v, %v", m, err)
	}
}

func TestCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, name := range []string{"flat.dsl", "base.json"} {
		root := c4model.NewRoot(os.DirFS("testdata/models"))
		if m, err := read(ctx, root, name); m != nil || !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v, %v", name, m, err)
		}
	}
}
