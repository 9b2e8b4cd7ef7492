package report_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stele-dev/stele/drift"
	"github.com/stele-dev/stele/drift/report"
	"github.com/stele-dev/stele/internal/git/gittest"
)

const model = `workspace {
  !identifiers hierarchical
  model {
    shop = softwareSystem "Shop" {
      # path "old/api"
      api = container "API" "path old/api" "Go" {
        properties {
          paths "old/api, /docs/api"
        }
        inner = component "Inner" {
          properties {
            path "old/api"
          }
        }
      }
      till = container "Till" {
        properties {
          path old/till
        }
      }
    }
    shop.api -> shop.till "Pays"
    named = shop.till -> shop.api "Asks"
    shop.till -> shop.api.inner "Uses" {
      tags "x"
    }
  }
  views {
    dynamic shop {
      shop.api -> shop.till "Seen"
    }
  }
}
`

func existence(file string, line int, before, after string) drift.Finding {
	action := "change"
	if after == "" {
		action = "remove"
	}
	return drift.Finding{Fingerprint: "00112233445566aa", Check: drift.Existence, Fix: drift.Fix{File: file, Line: line, Action: action, Old: before, New: after}}
}

func absent(line int) drift.Finding {
	return drift.Finding{Fingerprint: "00112233445566aa", Check: drift.AbsentDependency, Fix: drift.Fix{File: "m.dsl", Line: line, Action: "remove", Old: "a -> b"}}
}

func unknownImport(file, from, to string) drift.Finding {
	return drift.Finding{Fingerprint: "00112233445566aa", Check: drift.UndocumentedDependency, Element: from, Subject: to,
		Fix: drift.Fix{File: file, Action: "add", New: from + " -> " + to + ` "Imports"`}}
}

func settings(file, action, section, element, before, after string) drift.Finding {
	return drift.Finding{Fingerprint: "00112233445566aa", Check: drift.Existence, Fix: drift.Fix{File: file, Action: action, Section: section, Element: element, Old: before, New: after}}
}

// Each fix does what it says and nothing else, or says why not, and git takes what comes out.
func TestPatch(t *testing.T) {
	t.Parallel()
	replaced := func(text string, pairs ...string) string { return strings.NewReplacer(pairs...).Replace(text) }
	flat := strings.Replace(model, "  !identifiers hierarchical\n", "", 1)
	const yaml = "# ours\nbindings:\n  shop.api: [old/api/**, docs]\n"
	for name, c := range map[string]struct {
		file, text string
		finding    drift.Finding
		want       string // "" when nothing changes
		byHand     string
	}{
		"a path in a list":            {"m.dsl", model, existence("m.dsl", 6, "old/api", "new/api"), replaced(model, `"old/api, `, `"new/api, `), ""},
		"a path at the root":          {"m.dsl", model, existence("m.dsl", 6, "docs/api", "new/api"), replaced(model, `/docs/api`, `/new/api`), ""},
		"a path of an inner element":  {"m.dsl", model, existence("m.dsl", 10, "old/api", "new"), replaced(model, "path \"old/api\"\n          }", "path \"new\"\n          }"), ""},
		"a path without quotes":       {"m.dsl", model, existence("m.dsl", 16, "old/till", "new/till"), replaced(model, "path old/till", "path new/till"), ""},
		"a path with a blank":         {"m.dsl", model, existence("m.dsl", 16, "old/till", "new till"), "", "needs quotes"},
		"a path with a quote":         {"m.dsl", model, existence("m.dsl", 6, "old/api", `new"api`), "", "characters"},
		"a path taken away":           {"m.dsl", model, existence("m.dsl", 6, "old/api", ""), replaced(model, `"old/api, /docs/api"`, `"/docs/api"`), ""},
		"the last path taken away":    {"m.dsl", model, existence("m.dsl", 16, "old/till", ""), replaced(model, "          path old/till\n", ""), ""},
		"a path that is not there":    {"m.dsl", model, existence("m.dsl", 6, "old", "new"), "", "no property"},
		"a line that is not there":    {"m.dsl", model, existence("m.dsl", 600, "old", "new"), "", "not in the file"},
		"line ends of Windows":        {"m.dsl", replaced(model, "\n", "\r\n"), existence("m.dsl", 6, "old/api", "new/api"), replaced(replaced(model, `"old/api, `, `"new/api, `), "\n", "\r\n"), ""},
		"a relationship of a view":    {"m.dsl", model, absent(22), "", "another line"},
		"a relationship with a name":  {"m.dsl", model, absent(23), "", "has a name"},
		"a relationship with a block": {"m.dsl", model, absent(24), "", "one line"},
		"a relationship": {"m.dsl", replaced(model, `"Seen"`, `"Seen"`, "shop.api -> shop.till \"Seen\"", "shop.x -> shop.till"), absent(22),
			replaced(model, "    shop.api -> shop.till \"Pays\"\n", "", "shop.api -> shop.till \"Seen\"", "shop.x -> shop.till"), ""},
		"a new relationship": {"m.dsl", model, unknownImport("m.dsl", "shop.till", "shop.api"),
			replaced(model, "      tags \"x\"\n    }\n  }\n", "      tags \"x\"\n    }\n      shop.till -> shop.api \"Imports\"\n  }\n"), ""},
		"a new relationship, flat": {"m.dsl", flat, unknownImport("m.dsl", "shop.till", "shop.api"),
			replaced(flat, "      tags \"x\"\n    }\n  }\n", "      tags \"x\"\n    }\n      till -> api \"Imports\"\n  }\n"), ""},
		"without identifier": {"m.dsl", model, unknownImport("m.dsl", "shop.~till", "shop.api"), "", "no identifier"},
		"PlantUML": {"m.puml", "@startuml\nRel(a, b, \"x\")\n@enduml\n", drift.Finding{Fingerprint: "00112233445566aa", Check: drift.UndocumentedDependency, Fix: drift.Fix{File: "m.puml", Action: "add", New: `Rel(b, a, "Imports")`}},
			"@startuml\nRel(a, b, \"x\")\nRel(b, a, \"Imports\")\n@enduml\n", ""},
		"workspace.json":       {"m.json", "{}", existence("m.json", 1, "a", "b"), "", "format"},
		"a decision":           {"m.dsl", model, drift.Finding{Fingerprint: "00112233445566aa", Check: drift.LanguageMismatch, Fix: drift.Fix{File: "m.dsl", Action: "change", Old: "Go"}}, "", "decision"},
		"settled by another":   {"m.dsl", model, drift.Finding{Fingerprint: "00112233445566aa", Check: drift.UndocumentedCode, Fix: drift.Fix{File: "stele.yaml"}}, "", ""},
		"a binding":            {"stele.yaml", yaml, settings("stele.yaml", "change", "bindings", "shop.api", "old/api/**", "new/**"), "# ours\nbindings:\n  shop.api:\n    - new/**\n    - docs\n", ""},
		"a binding added":      {"stele.yaml", yaml, settings("stele.yaml", "add", "bindings", "shop.till", "", "till/**"), yaml + "  shop.till: till/**\n", ""},
		"a binding taken away": {"stele.yaml", yaml, settings("stele.yaml", "remove", "bindings", "shop.api", "/docs", ""), "# ours\nbindings:\n  shop.api: old/api/**\n", ""},
		"no such binding":      {"stele.yaml", yaml, settings("stele.yaml", "change", "bindings", "shop.api", "other", "new"), "", "not written there"},
		"ignored":              {"stele.yaml", yaml, settings("stele.yaml", "add", "ignore", "", "", "gen/**"), yaml + "ignore: gen/**\n", ""},
		"a new file":           {"we ird/stele.yaml", "", settings("we ird/stele.yaml", "add", "ignore", "", "", "gen/**"), "ignore: gen/**\n", ""},
		"a file with an odd name": {"a\"\u00e9\n/stele.yaml", yaml, settings("a\"\u00e9\n/stele.yaml", "add", "bindings", "shop.till", "", "till/**"),
			yaml + "  shop.till: till/**\n", ""},
		"a text without end of line": {"stele.yaml", strings.TrimSpace(yaml), settings("stele.yaml", "add", "bindings", "shop.till", "", "till/**"), yaml + "  shop.till: till/**\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			repo := gittest.New(t).Write("other.txt", "x\n")
			if c.text != "" {
				repo.Write(c.file, c.text)
			}
			read := func(file string) ([]byte, error) {
				if file != c.file || c.text == "" {
					return nil, fs.ErrNotExist
				}
				return []byte(c.text), nil
			}
			patch, err := report.Patch(&drift.Report{Findings: []drift.Finding{c.finding}}, read)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(patch), c.byHand) || (c.byHand != "") != strings.HasPrefix(string(patch), "# Not in this patch:") {
				t.Errorf("want %q to be left to a person, got\n%s", c.byHand, patch)
			}
			if c.want == "" {
				if strings.Contains(string(patch), "diff") {
					t.Errorf("got\n%s", patch)
				}
				return
			}
			cmd := exec.CommandContext(t.Context(), "git", "apply", "-")
			cmd.Dir, cmd.Stdin = repo.Dir, strings.NewReader(string(patch))
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s\n%s", err, out, patch)
			}
			got, err := os.ReadFile(filepath.Join(repo.Dir, c.file))
			if err != nil || string(got) != c.want {
				t.Errorf("got %v\n%s\nwant\n%s", err, got, c.want)
			}
		})
	}
}
