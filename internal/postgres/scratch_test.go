package postgres_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stele-dev/stele/internal/postgres"
)

// TestBeside: what is dropped as a remainder is never the database it belongs to, nor another's, whatever the name is.
func TestBeside(t *testing.T) {
	t.Parallel()
	if got := postgres.Beside("stele", "_scratch"); got != "stele_scratch" {
		t.Errorf("got %q", got)
	}
	seen := map[string]string{}
	for _, name := range []string{
		strings.Repeat("a", 54), strings.Repeat("a", 55), strings.Repeat("a", 56), strings.Repeat("a", 63), strings.Repeat("a", 62) + "b",
		strings.Repeat("ä", 31), strings.Repeat("ä", 30) + "bb",
	} {
		got := postgres.Beside(name, "_scratch")
		if len(got) > 63 || got == name || !strings.HasSuffix(got, "_scratch") || !utf8.ValidString(got) {
			t.Errorf("%q of %d bytes beside %q", got, len(got), name)
		}
		if other, ok := seen[got]; ok {
			t.Errorf("%q and %q share %q", name, other, got)
		}
		seen[got] = name
	}
}
