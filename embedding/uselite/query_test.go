package uselite

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEmbedQuery(t *testing.T) {
	t.Parallel()
	p := New(Options{})
	for _, c := range []struct{ name, query, as string }{
		{"stop words are left out", "What did Maria do at the shelter?", "Maria shelter"},
		{"a question of nothing else is whole", "What was it?", "What was it?"},
		{"long, and English only by its stop words", "where is it that all of the retries of a dead connection are being counted, and by whom, when there is no pool", "retries dead connection counted, pool"},
		{"another language has no vector", "Perché il programma non viene chiuso quando la connessione è già scaduta?", ""},
		{"nothing", "", ""},
	} {
		got, err := p.EmbedQuery(t.Context(), c.query)
		if err != nil {
			t.Fatal(err)
		}
		want, err := p.Embed(t.Context(), []string{c.as})
		if err != nil {
			t.Fatal(err)
		}
		if c.as != "" && want[0] == nil {
			t.Fatalf("%s: no vector to compare with", c.name)
		}
		if diff := cmp.Diff(want[0], got); diff != "" {
			t.Errorf("%s: the vector is not that of %q", c.name, c.as)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.EmbedQuery(ctx, "anything"); err == nil {
		t.Error("a call that is cancelled came back without an error")
	}
}
