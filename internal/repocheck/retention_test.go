package repocheck

import (
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// docs/operations.md says of every table how long its rows are kept, so that a new one is thought about. What it says of those whose
// rows are removed is compared with what is removed in a test of memory/postgres.

const keptHeading = "\n## What is kept, and how long\n"

var (
	keptTables  = regexp.MustCompile("(?m)^\\| ((?:`[a-z_]+`(?:, )?)+) \\| ([^|\n]*) \\| ([^|\n]*) \\|$")
	quotedTable = regexp.MustCompile("`(\\w+)`")
)

// keptFaults compares the tables that a text says how long it keeps with those there are.
func keptFaults(tables []tableOnCitus, text string) (complaints []string) {
	_, section, found := strings.Cut(text, keptHeading)
	if !found {
		return []string{"there is no section" + strings.TrimSuffix(keptHeading, "\n")}
	}
	section, _, _ = strings.Cut(section, "\n## ")
	named := map[string]bool{}
	for _, row := range keptTables.FindAllStringSubmatch(section, -1) {
		for _, m := range quotedTable.FindAllStringSubmatch(row[1], -1) {
			if named[m[1]] {
				complaints = append(complaints, m[1]+" is named twice")
			}
			if named[m[1]] = true; strings.TrimSpace(row[3]) == "" {
				complaints = append(complaints, fmt.Sprintf("nothing says how long %s is kept", m[1]))
			}
		}
	}
	for _, t := range tables {
		if t.tenant && !named[t.name] {
			complaints = append(complaints, fmt.Sprintf("%s is in no row: say how long it is kept, and why that long", t.name))
		}
		delete(named, t.name)
	}
	for name := range named {
		complaints = append(complaints, name+" is no table")
	}
	slices.Sort(complaints)
	return complaints
}

func TestEveryTableIsKeptForATime(t *testing.T) {
	t.Parallel()
	tree, files := repository(t)
	tables, _, err := tablesOf(tree, files)
	if err != nil {
		t.Fatal(err)
	}
	text, err := fs.ReadFile(tree, "docs/operations.md")
	report(t, keptFaults(tables, string(text)), err)
}

func TestKeptChecksFindFaults(t *testing.T) {
	t.Parallel()
	tables := []tableOnCitus{{name: "things", tenant: true}, {name: "places", tenant: true}, {name: "people", tenant: true}, {name: "lookups"}}
	expect(t, keptFaults(tables, "# Operating\n"), nil, "no section")
	head := "# Operating\n" + keptHeading + "\n| table | holds | kept |\n|---|---|---|\n"
	expect(t, keptFaults(tables, head+"| `things`, `places` | all | for good |\n| `people` | some | a day |\n"), nil)
	expect(t, keptFaults(tables, head+"| `things` | all |  |\n| `things`, `gone` | all | for good |\n\n## Next\n\n| `people` | some | a day |\n"), nil,
		"gone is no table", "nothing says how long things is kept", "people is in no row", "places is in no row", "things is named twice")
}
