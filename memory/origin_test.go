package memory_test

import (
	"testing"

	"github.com/stele-dev/stele/drift"
	"github.com/stele-dev/stele/memory"
)

// One folder that was renamed is one origin for all that lay in it, and another for anything else.
func TestOriginOfFindings(t *testing.T) {
	t.Parallel()
	since := func(n int) *drift.Since { return &drift.Since{Commit: commit(n)} }
	moved := func(from, to string, n int) drift.Finding {
		return drift.Finding{Check: drift.Existence, Outcome: drift.Moved, Subject: from + "/**", MovedTo: to, Fingerprint: from, Since: since(n)}
	}
	missing := func(pattern string, n int) drift.Finding {
		return drift.Finding{Check: drift.Existence, Outcome: drift.Missing, Subject: pattern, Fingerprint: pattern, Since: since(n)}
	}
	for _, test := range []struct {
		name     string
		findings []drift.Finding
		want     string // of the last
	}{
		{"renamed", []drift.Finding{moved("api", "gateway", 2)}, "api→gateway"},
		{"a folder in it", []drift.Finding{moved("api/auth", "gateway/auth", 2)}, "api→gateway"},
		{"moved into another", []drift.Finding{moved("src/api/auth", "lib/api/auth", 2)}, "src→lib"},
		{"one level down", []drift.Finding{moved("api", "services/api", 2)}, ".→services"},
		{"both names differ", []drift.Finding{moved("src/api", "lib/gateway", 2)}, "src/api→lib/gateway"},
		{"missed in what was renamed", []drift.Finding{moved("api", "gateway", 2), missing("/api/auth/**", 2)}, "api→gateway"},
		{"the folder itself", []drift.Finding{moved("api/auth", "gateway/auth", 2), missing("api/**", 2)}, "api→gateway"},
		{"missed beside it", []drift.Finding{moved("api", "gateway", 2), missing("apis/**", 2)}, "apis/**"},
		{"missed by another commit", []drift.Finding{moved("api", "gateway", 2), missing("api/auth/**", 3)}, "api/auth/**"},
		{"missed alone", []drift.Finding{missing("api/**", 2)}, "api/**"},
		{"everything moved down, and something is missed", []drift.Finding{moved("api", "services/api", 2), missing("web/**", 2)}, "web/**"},
	} {
		last := test.findings[len(test.findings)-1]
		if got, want := memory.OriginOf(last, test.findings), last.Since.Commit+" "+test.want; got != want {
			t.Errorf("%s: %q, want %q", test.name, got, want)
		}
	}
	if got := memory.OriginOf(drift.Finding{Fingerprint: "f"}, nil); got != "" {
		t.Errorf("without history: %q", got)
	}
}
