package memory_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stele-dev/stele/memory"
)

func TestRecallFoldsWhatSaysTheSame(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	pitfall := w.remember(memory.RememberRequest{Kind: memory.Pitfall, Content: "the gateway strips custom headers longer than 8 kB"}).Memory
	note := w.remember(memory.RememberRequest{Content: "The gateway strips custom headers longer than 8 kB."}).Memory
	other := w.remember(memory.RememberRequest{Content: "the gateway strips custom headers longer than 4 kB"}).Memory
	r, err := w.Recall(t.Context(), w.c, memory.RecallRequest{Query: "gateway strips headers"})
	w.must(err)
	var shown []string
	for _, got := range r.Results {
		shown = append(shown, got.Handle)
	}
	if !slices.Equal(shown, []string{pitfall.Handle, other.Handle}) || !slices.Equal(r.Results[0].Folded, []string{note.Handle}) {
		t.Fatalf("shown %v, folded %v; want %s with %s folded, then %s", shown, r.Results[0].Folded, pitfall.Handle, note.Handle, other.Handle)
	}
	if text := memory.RenderRecall(r); !strings.Contains(text, "nearly the same: "+note.Handle) {
		t.Errorf("the text does not say so:\n%s", text)
	}
}
