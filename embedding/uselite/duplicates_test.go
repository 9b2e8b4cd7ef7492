package uselite_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stele-dev/stele/embedding"
	"github.com/stele-dev/stele/embedding/uselite"
	"github.com/stele-dev/stele/memory/facts"
)

var update = flag.Bool("update", false, "write the tables of docs/dedupe.md anew")

const (
	pairsFile  = "../../testdata/duplicates/pairs.tsv"
	tablesFile = "../../docs/dedupe.md"
	begin, end = "<!-- begin: made by the test, see below -->\n", "<!-- end -->\n"
)

// judged is a labelled pair with what the encoder and the guard say of it.
type judged struct {
	reason, a, b string
	same         bool // the label
	cosine       float64
	vectors      bool
	facts        bool // the guard says same
}

func (j judged) merged(threshold float64) bool { return j.vectors && j.cosine > threshold && j.facts }

// TestDuplicates judges all labelled pairs as remember does: no pair of different facts merges, also when only the guard
// is asked, and at least four of five restatements above the threshold do. The tables of it are in docs/dedupe.md.
func TestDuplicates(t *testing.T) {
	t.Parallel()
	provider := uselite.New(uselite.Options{})
	limits := provider.Thresholds()
	all := readPairs(t)
	if len(all) < 400 {
		t.Fatalf("%d pairs, want at least 400", len(all))
	}
	vectors := map[string]embedding.Vector{}
	above, merged := 0, 0
	for i := range all {
		p := &all[i]
		va, vb := vector(t, provider, vectors, p.a), vector(t, provider, vectors, p.b)
		p.vectors, p.cosine = va != nil && vb != nil, dot(va, vb)
		p.facts, _ = facts.Same(p.a, p.b)
		if !p.same && p.facts {
			t.Errorf("%s: the guard takes %q and %q for the same", p.reason, p.a, p.b)
		}
		if p.same && p.vectors && p.cosine > limits.Dedupe {
			above++
			if p.facts {
				merged++
			}
		}
		for _, b := range noisy(p.b) {
			ab, why := facts.Same(p.a, b)
			ba, _ := facts.Same(b, p.a)
			if ab != ba || ab && !p.same {
				t.Errorf("%s: %q and %q: same %v, the other way round %v (%s)", p.reason, p.a, b, ab, ba, why)
			}
			vb := vector(t, provider, vectors, b)
			if p.vectors && vb == nil {
				t.Errorf("%q has no vector", b)
			}
		}
	}
	if merged*5 < above*4 {
		t.Errorf("%d of %d restatements above %v merge, want four of five", merged, above, limits.Dedupe)
	}
	text, err := os.ReadFile(tablesFile)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(text), begin)
	shown, tail, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("%s has no place for the tables", tablesFile)
	}
	tables := byReason(all, limits) + "\n" + byThreshold(all) + "\n" + distribution(all, vectors)
	switch {
	case *update:
		if err := os.WriteFile(tablesFile, []byte(head+begin+tables+end+tail), 0o600); err != nil {
			t.Fatal(err)
		}
	case shown != tables:
		t.Errorf("%s shows other tables than these; if they are meant, run the test with -update:\n%s", tablesFile, tables)
	}
}

func readPairs(t *testing.T) []judged {
	t.Helper()
	text, err := os.ReadFile(pairsFile)
	if err != nil {
		t.Fatal(err)
	}
	var all []judged
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Split(line, "\t")
		if len(f) != 4 || f[0] != "same" && f[0] != "differ" {
			t.Fatalf("bad line in %s: %q", pairsFile, line)
		}
		all = append(all, judged{reason: f[1], a: f[2], b: f[3], same: f[0] == "same"})
	}
	return all
}

// noisy writes a text with noise that changes no fact.
func noisy(text string) []string {
	return []string{
		text + ".", text + " !", "  " + strings.ReplaceAll(text, " ", "  ") + "\n", strings.ToLower(text), strings.ToUpper(text),
		strings.ToLower(text[:1]) + text[1:], "- " + text,
	}
}

func vector(t *testing.T, p *uselite.Provider, known map[string]embedding.Vector, text string) embedding.Vector {
	t.Helper()
	if v, ok := known[text]; ok {
		return v
	}
	v, err := p.Embed(context.Background(), []string{text})
	if err != nil {
		t.Fatal(err)
	}
	known[text] = v[0]
	return v[0]
}

func dot(a, b embedding.Vector) float64 {
	sum := 0.0
	for i := range min(len(a), len(b)) {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

func byReason(all []judged, limits embedding.Thresholds) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| label | reason | pairs | cosine > %v | guard says same | merged |\n|---|---|--:|--:|--:|--:|\n", limits.Dedupe)
	row := func(label, reason string, of func(judged) bool) {
		pairs, above, same, merged := 0, 0, 0, 0
		for _, p := range all {
			if !of(p) {
				continue
			}
			pairs++
			above += count(p.vectors && p.cosine > limits.Dedupe)
			same += count(p.facts)
			merged += count(p.merged(limits.Dedupe))
		}
		fmt.Fprintf(&b, "| %s | %s | %d | %d | %d | %d |\n", label, reason, pairs, above, same, merged)
	}
	for _, label := range []string{"same", "differ"} {
		labelled := func(p judged) bool { return p.same == (label == "same") }
		var reasons []string
		for _, p := range all {
			if labelled(p) && !slices.Contains(reasons, p.reason) {
				reasons = append(reasons, p.reason)
			}
		}
		for _, reason := range reasons {
			row(label, reason, func(p judged) bool { return labelled(p) && p.reason == reason })
		}
		row("**"+label+"**", "**all**", labelled)
	}
	return b.String()
}

// byThreshold shows what other thresholds would do. The guard is what keeps different facts apart at each of them.
func byThreshold(all []judged) string {
	var b strings.Builder
	b.WriteString("| threshold | restatements above | of them merged | different above | of them merged |\n|--:|--:|--:|--:|--:|\n")
	for _, threshold := range []float64{0.82, 0.86, 0.90, 0.92, 0.94, 0.96, 0.98} {
		var above, merged [2]int
		for _, p := range all {
			if p.vectors && p.cosine > threshold {
				above[count(p.same)]++
				merged[count(p.same)] += count(p.facts)
			}
		}
		fmt.Fprintf(&b, "| %.2f | %d | %d | %d | %d |\n", threshold, above[1], merged[1], above[0], merged[0])
	}
	return b.String()
}

// distribution shows the cosines of each label, and of texts that have nothing to do with each other.
func distribution(all []judged, vectors map[string]embedding.Vector) string {
	var b strings.Builder
	b.WriteString("| cosines of | pairs | 1 % | 10 % | 50 % | 90 % | 99 % |\n|---|--:|--:|--:|--:|--:|--:|\n")
	row := func(name string, cosines []float64) {
		slices.Sort(cosines)
		fmt.Fprintf(&b, "| %s | %d |", name, len(cosines))
		for _, q := range []float64{0.01, 0.1, 0.5, 0.9, 0.99} {
			fmt.Fprintf(&b, " %.2f |", cosines[int(q*float64(len(cosines)-1))])
		}
		b.WriteByte('\n')
	}
	var same, differ, strangers []float64
	for i, p := range all {
		switch {
		case !p.vectors:
		case p.same:
			same = append(same, p.cosine)
		default:
			differ = append(differ, p.cosine)
		}
		for _, other := range all[:i] {
			if p.same && other.same && p.vectors && other.vectors {
				strangers = append(strangers, dot(vectors[p.a], vectors[other.a]))
			}
		}
	}
	row("restatements", same)
	row("different facts of one shape", differ)
	row("unrelated facts", strangers)
	return b.String()
}

func count(yes bool) int {
	if yes {
		return 1
	}
	return 0
}
