package sections_test

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stele-dev/stele/importer/sections"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

func TestRead(t *testing.T) {
	t.Parallel()
	root := fstest.MapFS{"AGENTS.md": {Data: []byte("Be kind.\n\n# Build\n\n## Tests\n\nRun make test.\n\n```sh\n# no heading\n```\n\n# Style #\r\n\r\nTabs.\n")}, "other.md": {}}
	src, err := sections.Read(root, sections.Names...)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range src.Records {
		if r.Kind != memory.Note || !strings.HasPrefix(r.Key, "sections:AGENTS.md:") {
			t.Errorf("%+v", r)
		}
		got = append(got, r.Title+" | "+r.Content)
	}
	if want := []string{" | Be kind.", "Build / Tests | Run make test.\n\n```sh\n# no heading\n```", "Style | Tabs."}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if _, err := sections.Read(root, "CLAUDE.md"); !problem.Is(err, problem.NotFound) {
		t.Errorf("%v", err)
	}
}
