package install

import (
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "write what is installed as the expected files")

// golden is one archive: its comment says what is installed, before/ holds the files as they are, after/ as they shall be.
type golden struct {
	client        Client
	options       Options
	before, after map[string]string // path relative to the machine → text
}

func readGolden(t *testing.T, archive *txtar.Archive) golden {
	t.Helper()
	g := golden{options: Options{Scope: User, Binary: "/opt/my tools/stele", Version: "1.2.3"}, before: map[string]string{}, after: map[string]string{}}
	for line := range strings.Lines(string(archive.Comment)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		var err error
		switch name {
		case "client":
			g.client, err = Find(value)
		case "scope":
			g.options.Scope = Scope(value)
		case "observe":
			g.options.Observe = true
		case "no-mcp":
			g.options.NoMCP = true
		case "guard":
			g.options.Guard = value
		case "server":
			g.options.Server = value
		case "endpoint":
			g.options.Endpoint = value
		case "about", "":
		default:
			t.Fatalf("%q means nothing", line)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range archive.Files {
		text := strings.NewReplacer("\\r\n", "\r\n", "\\ufeff", byteOrderMark, "\\eof\n", "").Replace(string(f.Data))
		if path, ok := strings.CutPrefix(f.Name, "before/"); ok {
			g.before[path] = text
		} else {
			g.after[strings.TrimPrefix(f.Name, "after/")] = text
		}
	}
	return g
}

// tree reads every file below a folder.
func tree(t *testing.T, root string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(root, path)
			out[filepath.ToSlash(rel)] = get(t, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Of each client: what is written into no file, into files of others' things, and over what an earlier version wrote; again is no
// change; removal gives the same files and no other.
func TestGolden(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("testdata", "golden", "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no archives: %v", err)
	}
	covered := map[string]bool{}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		g := readGolden(t, archive)
		covered[g.client.ID] = true
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			root, state := t.TempDir(), t.TempDir()
			env := Environment{OS: "linux", Home: filepath.Join(root, "home"), Project: filepath.Join(root, "repository"), State: state}
			for path, text := range g.before {
				put(t, filepath.Join(root, path), text)
			}
			plan, err := Prepare(g.client, env, g.options)
			if err != nil {
				t.Fatal(err)
			}
			if err := Apply(env, plan, testTime); err != nil {
				t.Fatal(err)
			}
			got := tree(t, root)
			if *update {
				rewrite(t, file, archive, got)
			} else if diff := cmp.Diff(g.after, got); diff != "" {
				t.Errorf("installed (-want +got):\n%s", diff)
			}
			if again, err := Prepare(g.client, env, g.options); err != nil || again.Changes() {
				t.Errorf("a second installation changes something: %v\n%s", err, again.Diff())
			}
			if strings.Contains(file, "-old") {
				return // what was there before was Stele's own
			}
			removal, err := PrepareRemoval(g.client, env, g.options.Scope)
			if err != nil {
				t.Fatal(err)
			}
			if err := Apply(env, removal, testTime); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(g.before, tree(t, root)); diff != "" {
				t.Errorf("removed (-want +got):\n%s", diff)
			}
			if left, err := os.ReadDir(state); err != nil || len(left) > 0 {
				t.Errorf("left in the state folder: %v %v", left, err)
			}
		})
	}
	for _, c := range Clients() {
		if !covered[c.ID] {
			t.Errorf("no archive for %s", c.ID)
		}
	}
}

// rewrite puts what was installed into an archive.
func rewrite(t *testing.T, file string, archive *txtar.Archive, got map[string]string) {
	t.Helper()
	archive.Files = slices.DeleteFunc(archive.Files, func(f txtar.File) bool { return strings.HasPrefix(f.Name, "after/") })
	for _, path := range slices.Sorted(maps.Keys(got)) {
		text := strings.NewReplacer("\r\n", "\\r\n", byteOrderMark, "\\ufeff").Replace(got[path])
		if !strings.HasSuffix(text, "\n") {
			text += "\\eof\n"
		}
		archive.Files = append(archive.Files, txtar.File{Name: "after/" + path, Data: []byte(text)})
	}
	if err := os.WriteFile(file, txtar.Format(archive), 0o600); err != nil {
		t.Fatal(err)
	}
}
