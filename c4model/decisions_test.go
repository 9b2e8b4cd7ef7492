package c4model

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/stele-dev/stele/internal/problem"
)

func TestParseDecision(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, file, text string
		want             Decision
	}{
		{"adr-tools", "doc/adr/0007-use-one-oven.md", "# 7. Use one oven\n\nDate: 2021-03-04\n\n## Status\n\nSuperseded by [9. Use two](0009-use-two.md)\n\nAmended\n\n## Context\n\nCoal is dear\nthis year.\n\nMore.\n\n## Decision\n\nOne.\n",
			Decision{ID: "7", Title: "Use one oven", Status: "Superseded by 9. Use two", Date: "2021-03-04", Summary: "Coal is dear this year."}},
		{"MADR with front matter", "0012-bake-at-night.md", "---\nstatus: \"accepted\"\ndate: 2022-05-06\ndecision-makers: the bakers\n---\n\n# Bake at night\n\n## Context and Problem Statement\n\nDays are hot.\n\n## Considered Options\n\n* Night\n",
			Decision{ID: "12", Title: "Bake at night", Status: "accepted", Date: "2022-05-06", Summary: "Days are hot."}},
		{"MADR with bullets", "0003-x.md", "# Use `rye`\n\n* Status: proposed\n* Deciders: bakers\n* Date: 2020-01-02\n\nTechnical Story: none\n\n## Context and Problem Statement\n\nTechnical Story: 12\n\nWheat is gone.\n",
			Decision{ID: "3", Title: "Use rye", Status: "proposed", Date: "2020-01-02", Summary: "Wheat is gone."}},
		{"MADR template left as it is", "0004-y.md", "---\nstatus: {proposed | rejected | accepted}\ndate: {YYYY-MM-DD when the decision was last updated}\n---\n# Y\n\n<!-- a comment\nover lines -->\n## Context and Problem Statement\n\nWhy.\n",
			Decision{ID: "4", Title: "Y", Summary: "Why."}},
		{"log4brains", "20230405-close-on-sunday.md", "# Close on Sunday\n\n- Status: accepted\n- Date: 2023-04-06\n- Tags: time\n\n## Context and Problem Statement\n\nNobody comes.\n",
			Decision{ID: "20230405-close-on-sunday", Title: "Close on Sunday", Status: "accepted", Date: "2023-04-06", Summary: "Nobody comes."}},
		{"log4brains without a date", "20230405-close.md", "# Close\n\nBody.\n", Decision{ID: "20230405-close", Title: "Close", Date: "2023-04-05", Summary: "Body."}},
		{"number in the heading", "ovens.md", "ADR-0021: Ovens\n===============\n\n**Status**: Accepted.\n\nWe need ovens.\nMany.\n\nSecond.\n",
			Decision{ID: "21", Title: "Ovens", Status: "Accepted", Summary: "We need ovens. Many."}},
		{"number zero", "0000-use-records.md", "# Use records\n", Decision{ID: "0", Title: "Use records"}},
		{"name with a prefix", "adr-017-salt.md", "\n\n# Salt #\n\n```sh\n# not this\n```\n\nSalt it.\n", Decision{ID: "17", Title: "Salt", Summary: "Salt it."}},
		{"neither number nor date", "salt.md", "# Salting\r\n\r\nUse salt.\r\n", Decision{ID: "salt", Title: "Salting", Summary: "Use salt."}},
		{"no heading", "1-x.md", "just text\n", Decision{ID: "1", Summary: "just text"}},
		{"empty", "1-x.md", "", Decision{ID: "1"}},
		{"open front matter", "1-x.md", "---\nstatus: x\n# T\n", Decision{ID: "1", Title: "T", Status: "x", Summary: "---"}},
		{"long summary", "1-x.md", "# T\n\n" + strings.Repeat("é", 3000), Decision{ID: "1", Title: "T", Summary: strings.Repeat("é", 1999) + "…"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.want.File = test.file
			if diff := cmp.Diff(test.want, ParseDecision(test.file, test.text)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestReadDecisions(t *testing.T) {
	t.Parallel()
	files := fstest.MapFS{}
	for name, text := range map[string]string{
		"adr/10-ten.md": "# Ten\n", "adr/9-nine.md": "# Nine\n", "adr/0002-two.md": "# Two\n", "adr/0002-deux.md": "# Deux\n", "adr/alone.md": "# Alone\n",
		"adr/sub/0003-three.markdown": "# Three\n", "adr/README.md": "# Read me\n", "adr/index.md": "# Index\n", "adr/template.md": "# T\n", "adr/0000-adr-template.md": "# T\n",
		"adr/0008-use-templates.md": "# Use templates\n", "adr/.hidden.md": "# H\n", "adr/picture.png": "\x89PNG", "adr/0005-empty.md": "nothing\n", "adr/0006-bytes.md": "# \xff\n",
		"adr/0007-secret.md": "# Excluded\n", "adr/0011-large.md": "# Large\n" + strings.Repeat("x", maxDecisionBytes), "file.md": "# F\n",
	} {
		files[name] = &fstest.MapFile{Data: []byte(text)}
	}
	decisions, warnings, err := ReadDecisions(t.Context(), NewRoot(files), "adr", regexp.MustCompile(`^0007-.*$`))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, d := range decisions {
		got = append(got, d.ID+" "+d.Title)
	}
	want := []string{"2 Deux", "0002-two Two", "3 Three", "8 Use templates", "9 Nine", "10 Ten", "alone Alone"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var warned []string
	for _, w := range warnings {
		warned = append(warned, w.File)
	}
	if diff := cmp.Diff([]string{"adr/0005-empty.md", "adr/0006-bytes.md", "adr/0011-large.md", "adr/0002-two.md"}, warned); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	for dir, code := range map[string]problem.Code{"gone": problem.NotFound, "file.md": problem.Invalid} {
		if _, _, err := ReadDecisions(t.Context(), NewRoot(files), dir); !problem.Is(err, code) {
			t.Errorf("%s: %v", dir, err)
		}
	}
}

// FuzzDecision checks that any text gives a record of bounded size.
func FuzzDecision(f *testing.F) {
	f.Add("0001-a.md", "---\nstatus: x\n---\n# 1. A\n\n## Status\n\nAccepted\n\n## Context\n\nWhy.\n")
	f.Add("20200102-a.md", "A\n===\n- Status: [x](y)\n<!--")
	f.Fuzz(func(t *testing.T, file, text string) {
		d := ParseDecision(file, text)
		if len([]rune(d.Summary)) > maxSummaryRunes || len([]rune(d.Status)) > maxStatusRunes {
			t.Fatalf("too long: %d, %d", len(d.Summary), len(d.Status))
		}
	})
}

func TestRootRefusesPipesAndLinks(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	if err := os.MkdirAll(filepath.Join(base, "root"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(base, "secret.md"), []byte("# Secret\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../secret.md", filepath.Join(base, "root", "1-link.md")); err != nil {
		t.Fatal(err)
	}
	makePipe(t, filepath.Join(base, "root", "2-pipe.md"))
	root, err := OpenRoot(filepath.Join(base, "root"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	decisions, warnings, err := ReadDecisions(t.Context(), root, ".")
	if err != nil || len(decisions) != 0 {
		t.Fatalf("%v, %v", decisions, err)
	}
	if len(warnings) != 1 || warnings[0].File != "1-link.md" || !warnings[0].NotIncluded {
		t.Errorf("warnings: %v", warnings)
	}
	if _, err := root.Read(t.Context(), "2-pipe.md", 10); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("reading a pipe: %v", err)
	}
	if _, err := root.Read(t.Context(), "1-link.md", 10); !errors.Is(err, ErrOutside) {
		t.Errorf("reading a link that leaves: %v", err)
	}
}
