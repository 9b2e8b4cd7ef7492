package transcript_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stele-dev/stele/transcript"
)

func stored(t testing.TB, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func write(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "c.jsonl")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestRead(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]transcript.Conversation{
		"claude.jsonl": {
			Asked: []string{"Refunds arrive twice, find out why", "No, the key is wrong"}, Answer: "The retry is keyed by the payment now.",
			Failed: []string{"go vet ./..."}, Edited: []string{"/srv/shop/api/refund.go"}, Worked: true, Turn: "u-12", Earlier: "before",
			Answers: "I run the tests first.\nThe retry is keyed by the payment now.\n",
			Said:    "I run the tests first.\n// keyed by payment, see m-7k3f2qa\nThe helper says hello.\nThe retry is keyed by the payment now.\n",
			Request: "Refunds arrive twice, find out why\nNo, the key is wrong\n",
		},
		"codex.jsonl": {
			Asked: []string{"Refunds arrive twice, find out why", "No, the key is wrong"}, Answer: "The retry is keyed by the payment now.",
			Failed: []string{"go vet ./..."}, Edited: []string{"api/refund.go", "api/key.go"}, Worked: true, Turn: "turn-2", Earlier: "before",
			Answers: "The retry is keyed by the payment now.\n",
			Said:    "// keyed by payment, see m-7k3f2qa\npackage api\nThe retry is keyed by the payment now.\n",
			Request: "Refunds arrive twice, find out why\nNo, the key is wrong\n",
		},
	} {
		got, err := transcript.Read(stored(t, name), "now", 0)
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(stored(t, name))
		if err != nil {
			t.Fatal(err)
		}
		want.End = info.Size()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		again, err := transcript.Read(stored(t, name), "now", got.End)
		if err != nil || again.Said != "" || again.Request != "" || again.Answer != got.Answer {
			t.Errorf("%s read again: %+v, %v", name, again, err)
		}
	}
}

// The end of a long conversation is read with the first question, whatever lies between; a line that has no end yet is read later.
func TestLongConversation(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	text.WriteString(`{"type":"user","uuid":"a","sessionId":"now","message":{"content":"The first question"}}` + "\n")
	for range 30 {
		text.WriteString(`{"type":"user","message":{"content":"` + strings.Repeat("x", 200<<10) + `"}}` + "\n")
	}
	text.WriteString(`{"type":"user","message":{"content":"` + strings.Repeat("y", 600<<10) + `"}}` + "\n")
	whole := text.Len() + len(`{"type":"assistant","uuid":"b","message":{"content":[{"type":"text","text":"Done \xff."}]}}`) - 3 + 1
	text.WriteString("{\"type\":\"assistant\",\"uuid\":\"b\",\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"Done \xff.\"}]}}\n")
	text.WriteString(`{"type":"assistant","uuid":"c","message":{"content":[{"type":"text","text":"not whole`)
	got, err := transcript.Read(write(t, text.String()), "now", 0)
	if err != nil || got.Asked[0] != "The first question" || got.Answer != "Done \ufffd." || got.Turn != "b" || got.End != int64(whole) {
		t.Errorf("asked %d, answer %q, turn %q, end %d of %d, %v", len(got.Asked), got.Answer, got.Turn, got.End, whole, err)
	}
	if len(got.Request) > 256<<10 || strings.Contains(got.Request, "y") {
		t.Errorf("%d bytes were asked", len(got.Request))
	}
}

// Nothing but a regular file of lines of JSON is opened.
func TestUnusable(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	folder := filepath.Join(dir, "folder.jsonl")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	private := filepath.Join(dir, "id_rsa")
	if err := os.WriteFile(private, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	paths := []string{"", "relative.jsonl", filepath.Join(dir, "missing.jsonl"), folder, private, pipe(t, dir)}
	for _, path := range paths {
		if _, err := transcript.Read(path, "now", 0); !errors.Is(err, transcript.ErrUnusable) {
			t.Errorf("%q: %v", path, err)
		}
		if _, _, err := transcript.FindTurn(path, "u-1"); !errors.Is(err, transcript.ErrUnusable) {
			t.Errorf("%q: %v", path, err)
		}
	}
	for _, text := range []string{"", "\n\n", "null\n", "[]\n{}\n", `{"type":"user","message":"x"}` + "\n", `{"type":3,"uuid":[],"payload":{"type":{}}}` + "\n"} {
		if got, err := transcript.Read(write(t, text), "now", 7); err != nil || len(got.Asked) > 0 || got.Said != "" {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}

func TestFindTurn(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ file, id, asked, answer string }{
		{"claude.jsonl", "u-9", "Refunds arrive twice, find out why", "I run the tests first."},
		{"claude.jsonl", "u-1", "Refunds arrive twice, find out why", "I run the tests first."},
		{"claude.jsonl", "u-12", "No, the key is wrong", "The retry is keyed by the payment now."},
		{"codex.jsonl", "turn-2", "No, the key is wrong", "The retry is keyed by the payment now."},
	} {
		got, found, err := transcript.FindTurn(stored(t, tc.file), tc.id)
		if err != nil || !found || got.Asked != tc.asked || got.Answer != tc.answer {
			t.Errorf("%s %s: %+v, %t, %v", tc.file, tc.id, got, found, err)
		}
	}
	if got, found, err := transcript.FindTurn(stored(t, "claude.jsonl"), "elsewhere"); err != nil || found {
		t.Errorf("%+v, %v", got, err)
	}
	if got, _, _ := transcript.FindTurn(stored(t, "claude.jsonl"), "u-9"); !slices.Equal(got.Edited, []string{"/srv/shop/api/refund.go"}) {
		t.Errorf("edited %v", got.Edited)
	}
}

func TestEarlier(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"claude.jsonl", "codex.jsonl"} {
		if got := transcript.Earlier(stored(t, file), "now"); got != "before" {
			t.Errorf("%s: %q", file, got)
		}
	}
	if got := transcript.Earlier("/nowhere.jsonl", "now"); got != "" {
		t.Errorf("%q", got)
	}
}

func FuzzRead(f *testing.F) {
	for _, name := range []string{"claude.jsonl", "codex.jsonl"} {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text, int64(0))
		f.Add(text[:len(text)/2], int64(700))
	}
	f.Add([]byte("{\"type\":\"user\",\"message\":{\"content\":\"a<STELE-MEMORY>\u0130</stele-memory\"}}\n"), int64(-1))
	f.Fuzz(func(t *testing.T, text []byte, since int64) {
		path := write(t, string(text))
		got, err := transcript.Read(path, "now", since)
		if err != nil {
			t.Fatal(err)
		}
		if got.End > int64(len(text)) || len(got.Said) > 256<<10 || strings.Contains(strings.ToLower(got.Request), "<stele-memory") {
			t.Errorf("%+v", got)
		}
		if _, _, err := transcript.FindTurn(path, got.Turn); err != nil {
			t.Error(err)
		}
	})
}
