package action

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/stele-dev/stele/drift"
	"github.com/stele-dev/stele/internal/git"
)

func emptyReport() *drift.Report { return drift.Unchecked(git.Commit{}, time.Time{}, "nothing") }

func TestAnnotations(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		a    Annotation
		want string
	}{
		{Annotation{Level: Notice, Text: "plain"}, "::notice::plain\n"},
		{Annotation{Level: Warning, Title: "a,b: c", Text: "100 % of\nit", File: "a b/c.go", Line: 3}, "::warning file=a b/c.go,line=3,title=a%2Cb%3A c::100 %25 of\\nit\n"},
		{Annotation{Level: Error, Text: "::set-output name=x::y"}, "::error::::set-output name=x::y\n"},
		{Annotation{Level: Error, Text: "a ##[add-mask]b", Line: 2}, "::error::a #\u200b#[add-mask]b\n"},
		{Annotation{Level: Error, Text: "%0A::error::x"}, "::error::%250A::error::x\n"},
	} {
		var b bytes.Buffer
		NewLog(&b).Annotate(tc.a)
		if b.String() != tc.want {
			t.Errorf("%+v: %q, want %q", tc.a, b.String(), tc.want)
		}
	}
}

// Whatever a text holds, it makes one line, and that line is the command it was meant to be.
func TestNoTextIsACommand(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		piece := rapid.SampledFrom([]string{"::", "##[", "\n", "\r", "%0A", ",", ":", "error", "set-output", "\x1b", "\u2028", " ", "a", "\xff"})
		text := strings.Join(rapid.SliceOf(piece).Draw(t, "text"), "")
		var b bytes.Buffer
		l := NewLog(&b)
		l.Annotate(Annotation{Level: Warning, Title: text, Text: text, File: text + "x", Line: 1})
		l.Say("%s", text)
		lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
		if len(lines) != 2 || !strings.HasPrefix(lines[1], "stele: ") {
			t.Fatalf("lines: %q", lines)
		}
		properties, ok := strings.CutPrefix(lines[0], "::warning ")
		properties, _, found := strings.Cut(properties, "::")
		if !ok || !found || strings.Count(properties, ",") > 2 || strings.ContainsAny(b.String(), "\r\x1b\u2028") || strings.Contains(b.String(), "##[") {
			t.Fatalf("the log: %q", b.String())
		}
	})
}

// An output is its value, and nothing that follows it.
func TestOutputsCannotBeEnded(t *testing.T) {
	t.Parallel()
	j := &Job{output: filepath.Join(t.TempDir(), "output")}
	for range 2 {
		if err := j.SetOutputs([]Output{{"score", "1\nscore<<E\n100\nE"}}); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(j.output)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	first, _ := strings.CutPrefix(lines[0], "score<<")
	second, _ := strings.CutPrefix(lines[6], "score<<")
	if len(lines) != 12 || first == second || lines[5] != first || lines[11] != second || len(first) < 32 {
		t.Errorf("the file: %q", lines)
	}
	if err := (&Job{summary: filepath.Join(t.TempDir(), "missing", "summary")}).Summarize("x"); err == nil || !strings.Contains(err.Error(), "GITHUB_STEP_SUMMARY") {
		t.Errorf("a file that cannot be written: %v", err)
	}
	if err := j.Summarize(strings.Repeat("x", maxSummary+1)); err == nil {
		t.Error("a summary of any size is taken")
	}
}
