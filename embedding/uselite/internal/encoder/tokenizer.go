package encoder

import (
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Unknown is the token of text that no piece covers.
const Unknown = 0

// blank is what SentencePiece writes for a space. Pieces have it at their beginning or not at all, which the tokeniser
// relies on: it splits there before it searches.
const blank = "\u2581"

// maxWordRunes bounds the search in text without blanks. 128 pieces, the longest of 16 letters, cover at most 2,048.
const maxWordRunes = 2048

// tokenizer splits text into the pieces of a unigram language model.
type tokenizer struct {
	pieces  map[string]token
	longest int // bytes of the longest piece
}

type token struct {
	id    int
	score float64
}

func newTokenizer(pieces []Piece) *tokenizer {
	t := &tokenizer{pieces: make(map[string]token, len(pieces))}
	for id, p := range pieces[Reserved:] {
		t.pieces[p.Text] = token{id: Reserved + id, score: p.Score}
		t.longest = max(t.longest, len(p.Text))
	}
	return t
}

// tokenize gives the ids of the most probable segmentation, MaxTokens at most. Text that no piece covers is Unknown,
// once for each run. Bytes that are no UTF-8 count as the replacement character.
//
// No piece reaches across a blank, so that the best segmentation of a text is that of its words: the search goes word by
// word and ends with the last token that counts, however long the text is.
func (t *tokenizer) tokenize(text string) []int {
	text = norm.NFKC.String(strings.ToValidUTF8(text, "\uFFFD"))
	if text == "" {
		return nil
	}
	text = blank + strings.ReplaceAll(text, " ", blank)
	var ids []int
	for text != "" {
		word := text
		if i := strings.Index(text[len(blank):], blank); i >= 0 {
			word = text[:i+len(blank)]
		}
		text = text[len(word):]
		for _, id := range t.word(firstRunes(word, maxWordRunes)) {
			if id == Unknown && len(ids) > 0 && ids[len(ids)-1] == Unknown {
				continue
			}
			if ids = append(ids, id); len(ids) == MaxTokens {
				return ids
			}
		}
	}
	return ids
}

// word finds the best segmentation of a word by the Viterbi algorithm, as the reference implementation does it: of two
// that are equally good the one whose last piece is shorter, and text without a piece costs nothing.
func (t *tokenizer) word(word string) []int {
	best := make([]way, len(word)+1)
	previous := 0
	for at := 0; at < len(word); {
		if best[at] == (way{}) { // no piece ends here: what is before belongs to no piece
			best[at].from = previous
		}
		_, size := utf8.DecodeRuneInString(word[at:])
		if !t.extend(best, word, at) {
			best[at+size].improve(way{from: at, id: Unknown, score: best[at].score})
		}
		previous, at = at, at+size
	}
	var ids []int
	for end := len(word); end > 0; end = best[end].from {
		ids = append(ids, best[end].id)
	}
	slices.Reverse(ids)
	return ids
}

// way is how the best segmentation found so far gets to a place in a word.
type way struct {
	from  int // where its last piece begins
	id    int
	score float64 // 0 while there is none
}

func (w *way) improve(other way) {
	if w.score == 0 || other.score >= w.score {
		*w = other
	}
}

// extend improves the ways to everywhere a piece leads from at, and tells whether there was one.
func (t *tokenizer) extend(best []way, word string, at int) (found bool) {
	limit := min(len(word), at+t.longest)
	for end := at; end < limit; {
		_, size := utf8.DecodeRuneInString(word[end:])
		end += size
		if piece, ok := t.pieces[word[at:end]]; ok {
			found = true
			best[end].improve(way{from: at, id: piece.id, score: best[at].score + piece.score})
		}
	}
	return found
}

// firstRunes gives the first n characters of s.
func firstRunes(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}
