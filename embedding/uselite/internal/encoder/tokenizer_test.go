package encoder

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"
)

func shippedTokenizer(tb testing.TB) (*tokenizer, []Piece) {
	tb.Helper()
	w, err := Read(shipped(tb))
	if err != nil {
		tb.Fatal(err)
	}
	return newTokenizer(w.Pieces), w.Pieces
}

// TestTokenize holds ids that the reference implementation gave.
func TestTokenize(t *testing.T) {
	t.Parallel()
	words, _ := shippedTokenizer(t)
	for text, want := range map[string][]int{
		"":              nil,
		"rate limiting": {1343, 1873, 23},
		"The gateway strips custom headers longer than 8KB":                {34, 6128, 761, 4289, 7, 3528, 484, 156, 1250, 122, 486, 402, 190},
		"throttling requests per client: the \"OrderProcessor\" 한국어 mixed": {1128, 310, 17, 17, 570, 2830, 7, 377, 4931, 57, 9, 51, 287, 958, 46, 4730, 2117, 121, 94, 30, 0, 4963},
	} {
		if got := words.tokenize(text); !slices.Equal(got, want) {
			t.Errorf("%q: %v, expected %v", text, got, want)
		}
	}
	if got, want := words.tokenize("ｒａｔｅ\u00a0ｌｉｍｉｔｉｎｇ"), []int{1343, 1873, 23}; !slices.Equal(got, want) {
		t.Errorf("full-width letters and a hard space: %v, expected %v", got, want)
	}
}

// latticeOf is the search over a whole text at once, as the reference implementation does it.
func latticeOf(pieces []Piece, text string) []int {
	runes := []rune(blank + strings.ReplaceAll(norm.NFKC.String(text), " ", blank))
	ids := map[string]int{}
	for id := Reserved; id < len(pieces); id++ {
		ids[pieces[id].Text] = id
	}
	best, words := make([]float64, len(runes)+1), make([]int, len(runes)+1)
	for end := 1; end <= len(runes); end++ {
		for start := range end {
			id, ok := ids[string(runes[start:end])]
			if !ok && (end > start+1 || slices.ContainsFunc(pieces[Reserved:], func(p Piece) bool { return strings.HasPrefix(string(runes[start:]), p.Text) })) {
				continue
			}
			score := best[start]
			if ok {
				score += pieces[id].Score
			}
			if best[end] == 0 || score >= best[end] {
				best[end], words[end] = score, id
			}
		}
	}
	var out []int
	for end := len(runes); end > 0; {
		id := words[end]
		if id != Unknown || len(out) == 0 || out[len(out)-1] != Unknown {
			out = append(out, id)
		}
		if id == Unknown {
			end--
		} else {
			end -= utf8.RuneCountInString(pieces[id].Text)
		}
	}
	slices.Reverse(out)
	return out[:min(len(out), MaxTokens)]
}

// TestTokenizeWordByWord shows that searching word by word finds what searching the whole text finds.
func TestTokenizeWordByWord(t *testing.T) {
	t.Parallel()
	words, pieces := shippedTokenizer(t)
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOfN(rapid.RuneFrom([]rune("aeinorst thqz xé한语9")), 1, 16, -1).Draw(t, "text")
		if got, want := words.tokenize(text), latticeOf(pieces, text); !slices.Equal(got, want) {
			t.Fatalf("%q: %v, expected %v", text, got, want)
		}
	})
}

// TestWordsOfAnyVocabulary draws vocabularies of a few letters whose scores are often equal, and that lack the pieces of one
// letter which every other vocabulary has: the search must go wrong exactly as the reference implementation does.
func TestWordsOfAnyVocabulary(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		letters := rapid.RuneFrom([]rune("abc"))
		pieces := slices.Repeat([]Piece{{Text: "?"}}, Reserved)
		for _, text := range rapid.SliceOfNDistinct(rapid.StringOfN(letters, 1, 3, -1), 1, 8, rapid.ID[string]).Draw(t, "pieces") {
			pieces = append(pieces, Piece{Text: text, Score: -float64(rapid.IntRange(1, 3).Draw(t, "score"))})
		}
		word := rapid.StringOfN(letters, 1, 8, -1).Draw(t, "word")
		if got, want := newTokenizer(pieces).tokenize(word), latticeOf(pieces, word); !slices.Equal(got, want) {
			t.Fatalf("%v, expected %v", got, want)
		}
	})
}

// TestTokenizeEndsEarly gives texts of hundreds of kilobytes. The deadline is that of a search that looks at all of it many
// times over, not of a quick one.
func TestTokenizeEndsEarly(t *testing.T) {
	t.Parallel()
	words, _ := shippedTokenizer(t)
	for name, text := range map[string]string{
		"words":      strings.Repeat("word ", 1<<17),
		"one word":   strings.Repeat("x", 1<<19),
		"unknown":    strings.Repeat("한", 1<<17),
		"blanks":     strings.Repeat(" ", 1<<17),
		"blank sign": strings.Repeat(blank, 1<<17),
		"no UTF-8":   strings.Repeat("\xff", 1<<19),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			done := make(chan int, 1)
			go func() { done <- len(words.tokenize(text)) }()
			select {
			case n := <-done:
				if n < 1 || n > MaxTokens {
					t.Errorf("%d tokens", n)
				}
			case <-time.After(time.Minute):
				t.Error("still searching after a minute")
			}
		})
	}
}

func FuzzTokenize(f *testing.F) {
	words, pieces := shippedTokenizer(f)
	for _, seed := range []string{"", "rate limiting", " ", "\u2581", "a\u2581 b", "\xff\xfe", "한국어 text", "e\u0301", "\ufdfa", "://:)", strings.Repeat("ab ", 300)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		ids := words.tokenize(text)
		if len(ids) > MaxTokens || (len(ids) == 0) != (text == "") {
			t.Fatalf("%q: %d tokens", text, len(ids))
		}
		for i, id := range ids {
			if id < 0 || id >= len(pieces) || (id > 0 && id < Reserved) || (i > 0 && id == Unknown && ids[i-1] == Unknown) {
				t.Fatalf("%q: %v", text, ids)
			}
		}
	})
}
