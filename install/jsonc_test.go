package install

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/stele-dev/stele/internal/problem"
)

// drawJSONC draws a document as people write them: comments, trailing commas, any indentation, line ends and byte order marks.
func drawJSONC(t *rapid.T) string {
	nl := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "nl")
	unit := rapid.SampledFrom([]string{"  ", "    ", "\t", ""}).Draw(t, "unit")
	names := rapid.SampledFrom([]string{"mcpServers", "hooks", "servers", "theme", "SessionStart", "PreToolUse", "Stop", "other", "a\\\"b", "日本", "stele-like"})
	comment := func(end bool) string {
		switch rapid.IntRange(0, 7).Draw(t, "comment") {
		case 0:
			return " /* kept, { with \" signs */ "
		case 1:
			if end {
				return " // kept, with } and ,"
			}
		}
		return ""
	}
	var value func(depth int, indent string) string
	container := func(open, shut string, depth int, indent string, named bool) string {
		n := rapid.IntRange(0, 3).Draw(t, "members")
		if n == 0 {
			return open + rapid.SampledFrom([]string{"", " ", nl + indent, " /* empty */ ", nl + indent + "// empty" + nl + indent}).Draw(t, "inside") + shut
		}
		flat := rapid.IntRange(0, 3).Draw(t, "flat") == 0
		var b strings.Builder
		b.WriteString(open)
		used := map[string]bool{}
		for i := range n {
			if !flat {
				b.WriteString(comment(true) + nl + indent + unit)
			} else if i > 0 {
				b.WriteString(" ")
			}
			if named {
				name := names.Draw(t, "name")
				for used[name] {
					name += "x"
				}
				used[name] = true
				b.WriteString(`"` + name + `":` + comment(false) + " ")
			}
			b.WriteString(value(depth-1, indent+unit))
			b.WriteString(comment(false))
			if i < n-1 || !flat && rapid.Bool().Draw(t, "trailing") {
				b.WriteString(",")
			}
		}
		if !flat {
			b.WriteString(comment(true) + nl + indent)
		}
		b.WriteString(shut)
		return b.String()
	}
	value = func(depth int, indent string) string {
		kind := rapid.IntRange(0, 5).Draw(t, "kind")
		if depth <= 0 && kind < 2 {
			kind = 2
		}
		switch kind {
		case 0:
			return container("{", "}", depth, indent, true)
		case 1:
			return container("[", "]", depth, indent, false)
		case 2:
			return `"text, with // and }"`
		case 3:
			return "12.50"
		case 4:
			return "true"
		}
		return "null"
	}
	text := comment(true)
	if text != "" {
		text += nl
	}
	text += container("{", "}", 3, "", true) + rapid.SampledFrom([]string{"", nl, nl + "// the end" + nl}).Draw(t, "end")
	return rapid.SampledFrom([]string{"", "", byteOrderMark}).Draw(t, "mark") + text
}

// drawEnvironment is a machine whose home folder is new.
func drawEnvironment(t *rapid.T, dir string, n *int) Environment {
	*n++
	root := filepath.Join(dir, fmt.Sprint(*n))
	if err := os.MkdirAll(filepath.Join(root, "home"), 0o700); err != nil {
		t.Fatal(err)
	}
	return Environment{OS: "linux", Home: filepath.Join(root, "home"), State: filepath.Join(root, "state")}
}

func put(t interface{ Fatal(args ...any) }, path, text string) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func get(t interface{ Fatal(args ...any) }, path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var testTime = time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)

// Whatever the documents look like, what is installed is there once, again is no change, and removal gives the same bytes, by the
// record of what was written as well as by what is recognized in a file that somebody edited since.
func TestRemovalGivesTheSameBytes(t *testing.T) {
	t.Parallel()
	dir, n := t.TempDir(), 0
	rapid.Check(t, func(t *rapid.T) {
		env := drawEnvironment(t, dir, &n)
		c, err := Find(rapid.SampledFrom([]string{"claude-code", "vscode", "opencode", "gemini"}).Draw(t, "client"))
		if err != nil {
			t.Fatal(err)
		}
		before := map[string]string{}
		for _, path := range c.files(env, User) {
			before[path] = drawJSONC(t)
			put(t, path, before[path])
		}
		o := Options{Scope: User, Binary: "/opt/my tools/stele", Version: "1"}
		plan, err := Prepare(c, env, o)
		if err != nil {
			if !problem.Is(err, problem.Invalid) {
				t.Fatal(err)
			}
			return // something else stands where the entry goes: it is left alone
		}
		if err := Apply(env, plan, testTime); err != nil {
			t.Fatal(err)
		}
		if again, err := Prepare(c, env, o); err != nil || again.Changes() {
			t.Fatalf("a second installation changes something: %v\n%s", err, again.Diff())
		}
		if i, ok := Look(c, env, User); !ok || i.Launch == nil || c.Hooks != nil && len(i.Hooks) != len(c.Hooks.Events) {
			t.Fatalf("not installed: %+v", i)
		}
		after := map[string]string{}
		for path := range before {
			after[path] = get(t, path)
		}
		if rapid.Bool().Draw(t, "edited meanwhile") {
			for path := range before {
				// Somebody edited the file: the digest no longer fits, so that the record of splices may not be used.
				put(t, path, after[path]+"\n// mine\n")
				before[path] += "\n// mine\n"
			}
		}
		removal, err := PrepareRemoval(c, env, User)
		if err != nil {
			t.Fatal(err)
		}
		if err := Apply(env, removal, testTime); err != nil {
			t.Fatal(err)
		}
		for path, want := range before {
			if got := get(t, path); got != want {
				t.Fatalf("%s:\nbefore:\n%q\ninstalled:\n%q\nremoved:\n%q", path, want, after[path], got)
			}
		}
		if _, err := os.Stat(recordFile(env.State, c.ID, User, "")); err == nil {
			t.Fatal("the record is still there")
		}
	})
}
