package facts_test

import (
	_ "embed"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/stele-dev/stele/memory/facts"
)

//go:embed testdata/pairs.tsv
var pairsTSV string

type pair struct {
	category, a, b string
	same           bool
}

func pairs(tb testing.TB) []pair {
	tb.Helper()
	var all []pair
	for line := range strings.Lines(pairsTSV) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Split(line, "\t")
		if len(f) != 4 || f[0] != "same" && f[0] != "differ" && f[0] != "apart" {
			tb.Fatalf("bad line in pairs.tsv: %q", line)
		}
		all = append(all, pair{f[1], f[2], f[3], f[0] == "same"})
	}
	return all
}

func TestPairs(t *testing.T) {
	t.Parallel()
	for _, p := range pairs(t) {
		same, reason := facts.Same(p.a, p.b)
		if same != p.same {
			t.Errorf("%s: %q and %q: same %v (%s), want %v", p.category, p.a, p.b, same, reason, p.same)
		}
		if same != (reason.String() == "") {
			t.Errorf("%s: %q and %q: same %v with the reason %q", p.category, p.a, p.b, same, reason)
		}
		reversed, back := facts.Same(p.b, p.a)
		if reversed != same || back.Category != reason.Category {
			t.Errorf("%s: %q and %q: same %v (%s), the other way round %v (%s)", p.category, p.a, p.b, same, reason, reversed, back)
		}
	}
}

// The table is the evidence that the guard works, so it may grow but not shrink.
func TestTableIsLargeEnough(t *testing.T) {
	t.Parallel()
	same, differ := 0, 0
	for _, p := range pairs(t) {
		if p.same {
			same++
		} else {
			differ++
		}
	}
	if same < 60 || differ < 110 || same+differ < 180 {
		t.Errorf("%d pairs that must merge and %d that must not; want at least 60 and 110, 180 in all", same, differ)
	}
}

func TestReasons(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ a, b, want string }{
		{"The client retries 3 times", "The client retries four times", "numbers: 3 times against 4 times"},
		{"The client retries", "The client does not retry", "negation: nothing against not"},
		{"Bodies are limited to 8KB", "Bodies are limited to 8 MB", "numbers: 8000 B against 8000000 B"},
		{"The limit is max_retries", "The limit is max_attempts", "identifiers: max_retries against max_attempts"},
		{"Writes are synchronous", "Writes are asynchronous", "opposites: synchronous against asynchronous"},
	} {
		if _, got := facts.Same(c.a, c.b); got.String() != c.want {
			t.Errorf("%q and %q: %q, want %q", c.a, c.b, got, c.want)
		}
	}
}

// text draws sentences that the rules have something to say about.
func text() *rapid.Generator[string] {
	word := rapid.SampledFrom(strings.Fields("the client server retries 3 three times not never doesn't no more than at most before 5MB 8 KB v1.2.3 1.20 " +
		"`code` \"quoted words\" max_retries --flag api/mw.go Redis must may can only if by called disabled enabled up to 10 twenty-five -1 2nd " +
		"网关不会 3次 サーバーは 않는다 . , cache caches first last production"))
	return rapid.Map(rapid.SliceOfN(word, 0, 14), func(words []string) string { return strings.Join(words, " ") })
}

func TestSameIsSymmetricAndReflexive(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := text().Draw(t, "a"), text().Draw(t, "b")
		ab, reason := facts.Same(a, b)
		ba, back := facts.Same(b, a)
		if ab != ba || reason.A != back.B || reason.B != back.A || reason.Category != back.Category {
			t.Fatalf("Same(%q, %q) = %v (%s), the other way round %v (%s)", a, b, ab, reason, ba, back)
		}
		// White space and a full stop change no fact, and make the texts unequal for the shortcut.
		if same, reason := facts.Same(a, "  "+strings.ReplaceAll(a, " ", "  ")+" "); !same {
			t.Fatalf("%q is not the same as itself: %s", a, reason)
		}
	})
}

// Case, blanks and punctuation at the end change no fact of prose, in whatever text they are.
func TestNoiseChangesNoFact(t *testing.T) {
	t.Parallel()
	words := strings.Fields("the client server retries three times not never only must may if when before after by called is are was from to in every hardly " +
		"any all but except production postgresql cache caches half hour and or then once disabled 5 8KB 20% first long-running unsafe")
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 1, 16).Draw(t, "words"), " ")
		write := rapid.SampledFrom([]func(string) string{
			strings.ToUpper,
			func(s string) string { return strings.ToUpper(s[:1]) + s[1:] },
			func(s string) string { return s + "." },
			func(s string) string { return s + " !" },
			func(s string) string { return "- " + s + ";" },
			func(s string) string { return "\t" + strings.ReplaceAll(s, " ", " \n ") + " " },
		}).Draw(t, "noise")
		if same, reason := facts.Same(text, write(text)); !same {
			t.Fatalf("%q and %q differ: %s", text, write(text), reason)
		}
	})
}

// Texts that begin many phrases take no longer than others: they are finished here rather than timed.
func TestLongTexts(t *testing.T) {
	t.Parallel()
	for _, piece := range []string{"is used by ", "is not ", "at most 3 ", "a quarter of an ", "not ", "of it of a ", "in the ", "if a then b, ", "was 5. ", "no longer ", "only ", "-- ", "<5 ", "a-b-c "} {
		a := strings.Repeat(piece, (4<<10)/len(piece))
		b := a[len(piece):] + piece[:len(piece)-1] + "x"
		facts.Same(a, b)
		if same, reason := facts.Same(a, a[:len(a)-1]); len(piece) > 0 && strings.HasSuffix(piece, " ") && !same {
			t.Errorf("many of %q: %s", piece, reason)
		}
	}
}

// A change of any one number is noticed wherever it stands.
func TestEveryNumberCounts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 100_000).Draw(t, "n")
		m := rapid.IntRange(0, 100_000).Filter(func(m int) bool { return m != n }).Draw(t, "m")
		form := rapid.SampledFrom([]string{"retry # times", "port #", "wait #ms", "# workers read", "a limit of # MB", "`#` rows"}).Draw(t, "form")
		write := func(n int) string { return strings.ReplaceAll(form, "#", strconv.Itoa(n)) }
		if same, _ := facts.Same(write(n), write(m)); same {
			t.Fatalf("%q and %q are the same", write(n), write(m))
		}
	})
}

func FuzzSame(f *testing.F) {
	for _, p := range pairs(f) {
		f.Add(p.a, p.b)
	}
	f.Add("`\xff' ''' \"", "- -- 1-2-3 v. <=")
	f.Fuzz(func(t *testing.T, a, b string) {
		ab, reason := facts.Same(a, b)
		ba, back := facts.Same(b, a)
		if ab != ba || reason.Category != back.Category {
			t.Errorf("Same(%q, %q) = %v (%s), the other way round %v (%s)", a, b, ab, reason, ba, back)
		}
		if same, reason := facts.Same(a, a+" "); !same && len(a) < 16<<10 {
			t.Errorf("%q is not the same as itself: %s", a, reason)
		}
	})
}

func BenchmarkSame(b *testing.B) {
	sentence := "The gateway strips 3 custom headers longer than 8KB, so `session_token` must not travel in api/auth/mw.go. "
	for name, texts := range map[string][2]string{
		"sentence": {sentence, "Custom headers " + sentence},
		"16kB":     {strings.Repeat(sentence, 150), strings.Repeat(sentence, 149)},
		"words":    {distinctWords("a"), distinctWords("b")},
		"quotes":   {strings.Repeat("`a` ", 4000), strings.Repeat("`b` ", 4000)},
		"one word": {strings.Repeat("x", 16000), strings.Repeat("y", 16000)},
		"Han":      {strings.Repeat("网关不会", 1300), strings.Repeat("网关会不", 1300)},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				facts.Same(texts[0], texts[1])
			}
		})
	}
}

// distinctWords is 16 kB of words of letters, all different, that begin with a prefix.
func distinctWords(prefix string) string {
	var b strings.Builder
	for i := 0; b.Len() < 16_000; i++ {
		b.WriteString(prefix)
		for n := i; n > 0; n /= 20 {
			b.WriteByte("bcdfghjklmnpqrtvwxza"[n%20])
		}
		b.WriteByte(' ')
	}
	return b.String()
}
