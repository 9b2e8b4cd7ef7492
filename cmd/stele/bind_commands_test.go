package main

import (
	"strings"
	"testing"

	"github.com/stele-dev/stele/drift/bind"
)

// A person says of each suggestion whether it is accepted; in a pipe nobody is asked.
func TestChoose(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		answers        string
		accepted, left string
	}{
		{"y\nn\ny\n", "a c", "b"},
		{"yes\nall\n", "a b c", ""},
		{"n\nA\n", "b c", "a"},
		{"y\nq\n", "a", "b c"},
		{"\nwhat\ny", "c", "a b"},
		{"", "", "a b c"}, // the input ended: nobody agreed
	} {
		a, _ := offline(nil)
		a.in, a.interactive = strings.NewReader(test.answers), true
		out := accepted{Accepted: []bind.Suggestion{{Element: "a"}, {Element: "b"}, {Element: "c"}}}
		if err := a.choose(&out); err != nil || elementsOf(out.Accepted) != test.accepted || elementsOf(out.Left) != test.left {
			t.Errorf("%q: accepted %q, left %q, %v", test.answers, elementsOf(out.Accepted), elementsOf(out.Left), err)
		}
	}
	a, said := offline(nil)
	out := accepted{Accepted: []bind.Suggestion{{Element: "a"}}}
	if err := a.choose(&out); err != nil || len(out.Accepted) != 1 || said.Len() > 0 {
		t.Errorf("in a pipe: %+v, %v, said %q", out, err, said)
	}
}

func elementsOf(suggestions []bind.Suggestion) string {
	var keys []string
	for _, g := range suggestions {
		keys = append(keys, g.Element)
	}
	return strings.Join(keys, " ")
}
