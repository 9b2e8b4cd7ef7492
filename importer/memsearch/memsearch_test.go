package memsearch_test

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stele-dev/stele/importer/memsearch"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

const day = "# 2025-03-01\n\n## Session 09:15\n\n### 09:20\n<!-- session:s1 turn:t1 transcript:/home/kim/my mill/s1.jsonl -->\n- Oiled it.\n\n" +
	"### 09:40\n<!-- session:s1 turn:t2 transcript:/home/kim/my mill/s1.jsonl -->\n- Memory summary unavailable: no answer\n\n" +
	"## Session 10:00\n\n## Session 11:00\n### 11:05\n<!-- session:s2 rollout:~/s2.jsonl -->\n- First.\n### 11:05\n<!-- session:s2 rollout:~/s2.jsonl -->\n- Second.\n" +
	"## Ideas\n- Buy oak.\n```\n# not a heading\n```\n"

func TestRead(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{"", "memory/", ".memsearch/memory/"} {
		root := fstest.MapFS{dir + "2025-03-01.md": {Data: []byte(day)}, dir + "PROJECT.md": {Data: []byte("# Not a day")}, dir + "2025-13-01.md": {Data: []byte("- x")}}
		src, err := memsearch.Read(root, time.UTC)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range src.Records {
			if r.Kind != memory.SessionOutcome {
				t.Errorf("%+v", r)
			}
			got = append(got, r.CreatedAt.Format("15:04")+" "+r.Agent+" "+strings.ReplaceAll(r.Content, "\n", "|"))
		}
		want := []string{"09:20 claude-code - Oiled it.", "11:05 codex - First.", "11:05 codex - Second.", "11:05  Ideas||- Buy oak.|```|# not a heading|```"}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q", dir, got)
		}
		keys := []string{src.Records[0].Key, src.Records[1].Key, src.Records[2].Key}
		if !slices.Equal(keys, []string{"memsearch:s1:t1", "memsearch:s2:2025-03-01T11:05", "memsearch:s2:2025-03-01T11:05:2"}) {
			t.Errorf("%q", keys)
		}
		if a := src.Records[0].Anchor; a.Turn != "t1" || a.Transcript != "/home/kim/my mill/s1.jsonl" {
			t.Errorf("%+v", a)
		}
		if len(src.Left) != 2 {
			t.Errorf("left out: %+v", src.Left)
		}
	}
	if _, err := memsearch.Read(fstest.MapFS{"a.md": {}}, time.UTC); !problem.Is(err, problem.NotFound) {
		t.Errorf("%v", err)
	}
}

// FuzzDay: whatever a day holds, what comes of it can be imported, and no two records have one key.
func FuzzDay(f *testing.F) {
	f.Add(day)
	f.Add("### 99:99\n<!-- session: turn: -->\n- x\n<!--")
	f.Fuzz(func(t *testing.T, text string) {
		src, err := memsearch.Read(fstest.MapFS{"2025-03-01.md": {Data: []byte(text)}}, time.UTC)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for _, r := range src.Records {
			if r.Key == "" || seen[r.Key] || len(r.Key) > memory.MaxImportKeyBytes || strings.TrimSpace(r.Content) == "" || len(r.Content) > memory.MaxContentBytes || r.CreatedAt.IsZero() {
				t.Errorf("%+v", r)
			}
			seen[r.Key] = true
		}
	})
}
