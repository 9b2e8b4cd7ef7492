package config_test

import (
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/stele-dev/stele/internal/config"
	"github.com/stele-dev/stele/internal/problem"
)

type edit func(text []byte) ([]byte, error)

func addBinding(key string, globs ...string) edit {
	return func(text []byte) ([]byte, error) { return config.AddBinding(text, key, globs...) }
}

func setBinding(key string, globs ...string) edit {
	return func(text []byte) ([]byte, error) { return config.SetBinding(text, key, globs...) }
}

func addNone(key, reason string) edit {
	return func(text []byte) ([]byte, error) { return config.AddNone(text, key, reason) }
}

func addIgnore(globs ...string) edit {
	return func(text []byte) ([]byte, error) { return config.AddIgnore(text, globs...) }
}

func addWaiver(fingerprint, reason, day string) edit {
	return func(text []byte) ([]byte, error) {
		expires, err := time.Parse(time.DateOnly, day)
		if err != nil {
			return nil, err
		}
		return config.AddWaiver(text, config.Waiver{Fingerprint: fingerprint, Reason: reason, Expires: expires})
	}
}

var project = uuid.MustParse("0198c0de-0000-7000-8000-000000000001")

func setProject(text []byte) ([]byte, error) { return config.SetProject(text, project) }

func setModel(file string) edit {
	return func(text []byte) ([]byte, error) { return config.SetModel(text, file) }
}

// Everything but the change stays as it was: comments, order, blank lines, line ends.
func TestEdit(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		before string
		edit   edit
		after  string
	}{
		"a file that is not there": {"", addBinding("shop.api", "api/**"), "bindings:\n  shop.api: api/**\n"},
		"several globs":            {"", addBinding("shop.api", "api/**", "*.go"), "bindings:\n  shop.api:\n    - api/**\n    - \"*.go\"\n"},
		"comments alone":           {"# ours\n", addBinding("a", "b"), "# ours\nbindings:\n  a: b\n"},
		"at the end of a section": {"project: 0198c0de-0000-7000-8000-000000000001\n\nbindings: # who owns what\n  # the shop\n  b: b/** # why\n\n# what is not ours\nignore: x/**\n",
			addBinding("a", "a/**"),
			"project: 0198c0de-0000-7000-8000-000000000001\n\nbindings: # who owns what\n  # the shop\n  b: b/** # why\n  a: a/**\n\n# what is not ours\nignore: x/**\n"},
		"one glob becomes two":   {"bindings:\n    b: b/** # why\n    c: c\n", addBinding("b", "x"), "bindings:\n    b:\n      - b/** # why\n      - x\n    c: c\n"},
		"a list in brackets":     {"bindings:\n  b: [b/**, \"c\"] # why\n", addBinding("B", "x{1,2}", "c"), "bindings:\n  b: [b/**, \"c\", \"x{1,2}\"] # why\n"},
		"a list below":           {"bindings:\n  b:\n  - b/** # one\n  # two\n  - c\n  d: e\n", addBinding("b", "x"), "bindings:\n  b:\n  - b/** # one\n  # two\n  - c\n  - x\n  d: e\n"},
		"brackets over lines":    {"bindings:\n  b: [\n    c,\n    d\n  ]\n  e: f\n", addBinding("b", "x"), "bindings:\n  b:\n    - c\n    - d\n    - x\n  e: f\n"},
		"a section in braces":    {"bindings: {b: c} # x\nmodel: m.dsl\n", addBinding("a", "x"), "bindings:\n  a: x\n  b: c\nmodel: m.dsl\n"},
		"an empty section":       {"bindings:\nmodel: m.dsl\n", addBinding("a", "x"), "bindings:\n  a: x\nmodel: m.dsl\n"},
		"an empty section last":  {"bindings: {}\n", addBinding("a", "x"), "bindings:\n  a: x\n"},
		"without a last newline": {"model: m.dsl", addBinding("a", "x"), "model: m.dsl\nbindings:\n  a: x\n"},
		"line ends of Windows":   {"model: m.dsl\r\nbindings:\r\n  a: x\r\n", addBinding("b", "z"), "model: m.dsl\r\nbindings:\r\n  a: x\r\n  b: z\r\n"},
		"what is there":          {"bindings: {a: x}\n", addBinding("a", "x"), "bindings: {a: x}\n"},
		"a quoted key":           {"bindings:\n  \"a b: c\": 'x'\n", addBinding("a b: c", "w"), "bindings:\n  \"a b: c\":\n    - x\n    - w\n"},
		"set":                    {"bindings:\n  a:\n    - x\n    - y\n\n  b: z\n", setBinding("a", "w"), "bindings:\n  a: w\n\n  b: z\n"},
		"set to nothing":         {"bindings:\n  # first\n  a: x\n  b: z # last\n", setBinding("b"), "bindings:\n  # first\n  a: x\n"},
		"the last one goes":      {"model: m.dsl\nbindings:\n  b: z\nignore: x\n", setBinding("b"), "model: m.dsl\nignore: x\n"},
		"none":                   {"bindings:\n  a: x\n", addNone("b", "a hosted\n service"), "bindings:\n  a: x\nnone:\n  b: a hosted service\n"},
		"none instead":           {"bindings:\n  a: x\n  b: y\n", addNone("b", "# no: \"code\""), "bindings:\n  a: x\nnone:\n  b: \"# no: \\\"code\\\"\"\n"},
		"bound after all":        {"none:\n  b: bought\n", addBinding("b", "x"), "bindings:\n  b: x\n"},
		"none again":             {"none:\n  b: bought # in May\n", addNone("b", "rented"), "none:\n  b: rented # in May\n"},
		"ignore":                 {"", addIgnore("examples/**"), "ignore: examples/**\n"},
		"ignore more":            {"ignore:\n- a\n# b\n- c # d\nmodel: m.dsl\n", addIgnore("e", "a"), "ignore:\n- a\n# b\n- c # d\n- e\nmodel: m.dsl\n"},
		"ignore one more":        {"ignore: a\n", addIgnore("b"), "ignore:\n  - a\n  - b\n"},
		"waiver": {"model: m.dsl\n", addWaiver("0123456789abcdef", "moves soon: wait", "2027-01-31"),
			"model: m.dsl\nwaivers:\n  - fingerprint: \"0123456789abcdef\"\n    reason: \"moves soon: wait\"\n    expires: 2027-01-31\n"},
		"a second waiver": {"waivers:\n- fingerprint: a1\n  reason: x\n  expires: 2027-01-01\n# end\n", addWaiver("b2", "z", "2027-02-01"),
			"waivers:\n- fingerprint: a1\n  reason: x\n  expires: 2027-01-01\n- fingerprint: b2\n  reason: z\n  expires: 2027-02-01\n# end\n"},
		"a waiver again": {"waivers:\n  - fingerprint: a1\n    reason: x\n    expires: 2027-01-01\n  # the other\n  - fingerprint: b2\n    reason: y\n    expires: 2027-01-01\n",
			addWaiver("a1", "z", "2027-02-01"),
			"waivers:\n  - fingerprint: a1\n    reason: z\n    expires: 2027-02-01\n  # the other\n  - fingerprint: b2\n    reason: y\n    expires: 2027-01-01\n"},
		"project first":     {"# ours\n\nmodel: m.dsl\n", setProject, "# ours\n\nproject: 0198c0de-0000-7000-8000-000000000001\nmodel: m.dsl\n"},
		"another project":   {"project: 0198c0de-0000-7000-8000-000000000002 # here\n", setProject, "project: 0198c0de-0000-7000-8000-000000000001 # here\n"},
		"model after":       {"project: 0198c0de-0000-7000-8000-000000000002\nignore: x\n", setModel("docs/w x.dsl"), "project: 0198c0de-0000-7000-8000-000000000002\nmodel: docs/w x.dsl\nignore: x\n"},
		"a text over lines": {"none:\n  a: |\n    one\n    # two\n  b: x\n", addNone("a", "short"), "none:\n  a: short\n  b: x\n"},
		"a header":          {"---\nmodel: m.dsl\n", addIgnore("x"), "---\nmodel: m.dsl\nignore: x\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := test.edit([]byte(test.before))
			if err != nil || string(got) != test.after {
				t.Errorf("got %v\n%s\nwant\n%s", err, got, test.after)
			}
		})
	}
}

func TestEditRefuses(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		before string
		edit   edit
		says   string
	}{
		"broken":           {"bindings: [", addBinding("a", "b"), "stele.yaml"},
		"wholly in braces": {"{model: m.dsl}", addBinding("a", "b"), "write by hand: bindings:"},
		"ends early":       {"model: m.dsl\n...\n", addBinding("a", "b"), "stele.yaml"},
		"a control":        {"", addBinding("a\nb", "b"), "characters"},
		"no UTF-8":         {"", addBinding("a", "b\xff"), "characters"},
		"no glob":          {"", addBinding("a", "b["), "glob"},
		"a way out":        {"", addBinding("a", "../b"), ".."},
		"a way out, model": {"", setModel("../b"), "leads out"},
		"no element":       {"", addBinding(" ", "b"), "empty"},
		"no reason":        {"", addNone("a", "\n"), "reason"},
		"no day": {"", func(text []byte) ([]byte, error) {
			return config.AddWaiver(text, config.Waiver{Fingerprint: "a", Reason: "b"})
		}, "day"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := test.edit([]byte(test.before))
			if p, ok := problem.As(err); !ok || !strings.Contains(p.Error(), test.says) {
				t.Errorf("got %v, %s", err, got)
			}
		})
	}
}

// Whatever is written in whatever order, the file reads as what was meant, and what a person wrote between stays.
func TestEditReadsBack(t *testing.T) {
	t.Parallel()
	text := rapid.OneOf(
		rapid.StringMatching(`[a-z]{1,3}(\.[a-z~-]{1,5})?`),
		rapid.SampledFrom([]string{"null", "true", "~", "1", "0x1", "1e3", ".5", ".inf", "-", "- a", "?", "a: b", "a:", ":a", "# a", "a #b", "'", `"`, `\`, "[a]", "{a}",
			"a, b", "&a", "*a", "!a", "|", ">", "%", "@", "`", "<<", "=", "2027-01-01", "12:30", "a b", "Ä/ö", "日本", "\u200b", "😀", "no", "---", "..."}),
		rapid.StringMatching(`[ -~]{1,12}`),
	)
	visible := text.Filter(func(s string) bool { return strings.TrimSpace(s) != "" })
	glob := rapid.OneOf(rapid.StringMatching(`[a-z*]{1,4}(/[a-z*]{1,4}){0,2}`), visible.Filter(func(s string) bool {
		_, err := config.AddIgnore(nil, s)
		return err == nil
	}))
	starts := rapid.SampledFrom([]string{"", "# top\n", "# top\n\nmodel: m.dsl # here\n# tail\n", "bindings: {x: [y, z]}\nnone: {}\n",
		"ignore: [a, b] # c\nbindings:\n  # one\n  k:\n  - \"l\" # two\n\n  m: n\n# tail\n", "waivers:\n  - expires: 2027-01-01 # soon\n    fingerprint: f\n    reason: >\n      of\n      old\nignore:\n"})
	rapid.Check(t, func(t *rapid.T) {
		before := starts.Draw(t, "start")
		now := []byte(before)
		want, err := config.ParseRepository("stele.yaml", now)
		if err != nil {
			t.Fatal(err)
		}
		if want.Bindings == nil {
			want.Bindings = map[string][]string{}
		}
		if want.None == nil {
			want.None = map[string]string{}
		}
		for range rapid.IntRange(1, 8).Draw(t, "edits") {
			key := visible.Draw(t, "key")
			for known := range maps.Keys(want.Bindings) { // keys that differ in case are one
				if strings.EqualFold(known, key) {
					key = known
				}
			}
			for known := range maps.Keys(want.None) {
				if strings.EqualFold(known, key) {
					key = known
				}
			}
			var err error
			switch rapid.IntRange(0, 4).Draw(t, "kind") {
			case 0:
				g := glob.Draw(t, "glob")
				now, err = config.AddBinding(now, key, g)
				delete(want.None, key)
				if !slices.Contains(want.Bindings[key], g) {
					want.Bindings[key] = append(slices.Clone(want.Bindings[key]), g)
				}
			case 1:
				globs := rapid.SliceOfN(glob, 0, 3).Draw(t, "globs")
				now, err = config.SetBinding(now, key, globs...)
				if len(globs) > 0 {
					delete(want.None, key)
					want.Bindings[key] = globs
				} else {
					delete(want.Bindings, key)
				}
			case 2:
				reason := visible.Draw(t, "reason")
				now, err = config.AddNone(now, key, reason)
				delete(want.Bindings, key)
				want.None[key] = strings.Join(strings.Fields(reason), " ")
			case 3:
				g := glob.Draw(t, "ignored")
				now, err = config.AddIgnore(now, g)
				if !slices.Contains(want.Ignore, g) {
					want.Ignore = append(want.Ignore, g)
				}
			case 4:
				w := config.Waiver{Fingerprint: visible.Draw(t, "fingerprint"), Reason: strings.Join(strings.Fields(visible.Draw(t, "why")), " "),
					Expires: time.Date(2027, 1, rapid.IntRange(1, 28).Draw(t, "day"), 0, 0, 0, 0, time.UTC)}
				now, err = config.AddWaiver(now, w)
				if at := slices.IndexFunc(want.Waivers, func(o config.Waiver) bool { return o.Fingerprint == w.Fingerprint }); at >= 0 {
					want.Waivers[at] = w
				} else {
					want.Waivers = append(want.Waivers, w)
				}
			}
			if err != nil {
				t.Fatalf("%v in\n%s", err, now)
			}
			got, err := config.ParseRepository("stele.yaml", now)
			if err != nil {
				t.Fatalf("%v in\n%s", err, now)
			}
			if got.Model != want.Model || !maps.EqualFunc(got.Bindings, want.Bindings, slices.Equal) || !maps.Equal(got.None, want.None) ||
				!slices.Equal(got.Ignore, want.Ignore) || !slices.EqualFunc(got.Waivers, want.Waivers, func(a, b config.Waiver) bool { return reflect.DeepEqual(a, b) }) {
				t.Fatalf("got %+v\nwant %+v\nin\n%s", got, want, now)
			}
		}
		for _, comment := range []string{"# top", "# tail"} {
			if strings.Contains(before, comment) && !strings.Contains(string(now), comment) {
				t.Fatalf("%q is gone from\n%s", comment, now)
			}
		}
	})
}

func TestEditRepository(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "stele.yaml")
	changed, err := config.EditRepository(dir, addBinding("a", "b/**"))
	if text, rerr := os.ReadFile(file); err != nil || !changed || string(text) != "bindings:\n  a: b/**\n" {
		t.Fatalf("%v, %v: %q, %v", changed, err, text, rerr)
	}
	if err := os.Chmod(file, 0o600); err != nil {
		t.Fatal(err)
	}
	if changed, err := config.EditRepository(dir, addBinding("a", "b/**")); changed || err != nil {
		t.Errorf("again: %v, %v", changed, err)
	}
	if changed, err := config.EditRepository(dir, addBinding("c", "d")); !changed || err != nil {
		t.Errorf("more: %v, %v", changed, err)
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("%v is left, %v", left, err)
	}
	// A link is not written through, wherever it leads.
	other := t.TempDir()
	if err := os.Symlink(file, filepath.Join(other, "stele.yaml")); err != nil {
		t.Fatal(err)
	}
	if _, err := config.EditRepository(other, addBinding("x", "y")); err == nil || !strings.Contains(err.Error(), "symbolic link") {
		t.Errorf("a link: %v", err)
	}
	// A text that cannot be read stays, and the error names the file.
	bad := t.TempDir()
	if err := os.WriteFile(filepath.Join(bad, "stele.yaml"), []byte("bindings: ["), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := config.EditRepository(bad, addBinding("x", "y")); err == nil || !strings.Contains(err.Error(), bad) {
		t.Errorf("broken: %v", err)
	}
}

func TestNearestRepository(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	for _, file := range []string{"stele.yaml", "services/x/stele.yaml", "services/y/stele.yaml/not"} {
		if err := os.MkdirAll(filepath.Join(top, filepath.Dir(filepath.FromSlash(file))), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(top, filepath.FromSlash(file)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for dir, want := range map[string]string{
		"": "", "services": "", "services/x": "services/x", "services/x/deep/er": "services/x", "services/y": "", "..": "", "../other": "",
	} {
		if got := config.NearestRepository(top, filepath.Join(top, filepath.FromSlash(dir))); got != want {
			t.Errorf("%q: got %q, want %q", dir, got, want)
		}
	}
}
