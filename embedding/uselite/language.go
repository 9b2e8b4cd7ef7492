package uselite

import (
	"strings"
	"unicode"
)

// The language gate. The encoder was trained on English. In other scripts it knows no pieces, and unrelated texts become
// the same vector; in other languages of Latin script its cosines mean little (in Italian 0.87 between two texts of one
// meaning, 0.71 between unrelated ones). Such a text is better found by its words alone than merged with another one.
//
// Scripts decide first, then function words, then how badly the vocabulary fits. What is no evidence, such as
// identifiers, paths, abbreviations and a few words in a row, counts for English: developers' notes are full of it. How
// often either judgement is wrong was measured on the Universal Declaration of Human Rights in ten languages, README files
// in three, and 43,000 lines of English changelogs, commit messages and comments:
//
//	English developer text refused                                  0.15 %, mostly lines of code and of names
//	first 8 words of texts in another language, not refused         1.4 % (German, French, Spanish, Portuguese, Italian,
//	                                                                Dutch, Polish, Swedish, Turkish, Indonesian)

// evidence is what tells the language of a text: its plain words. Code, identifiers, paths, numbers and abbreviations are
// the same in every language.
type evidence struct {
	words   []string // plain words in Latin letters, lower case, without hyphens
	letters int      // of the plain words
	other   int      // letters of other scripts, in Latin letters
	english int      // function words
	foreign int      // function words of the one other language that has most of them
}

// The bounds of the gate, chosen on the texts named above.
const (
	// syllabic is how many Latin letters a character of Han, Kana or Hangul counts for: it is a syllable or a word.
	syllabic = 3
	// otherShare is the part of all letters, one in so many, from which other scripts decide: a name or a label quoted in
	// an English sentence stays below.
	otherShare = 4
	// telling is the number of plain words from which the lack of English function words tells something.
	telling = 6
	// englishShare is one function word in so many plain words, below which a text has hardly any. In English text every
	// third word is one, in headlines and commit messages far fewer.
	englishShare = 12
	// unknownShare is the part of tokens, one in so many, that the vocabulary need not know.
	unknownShare = 5
	// misfit and misfitDoubt are pieces for each plain word, in halves. English has 1.25 (19 texts of 20 below 1.8), other
	// languages from 2.3 (French) to 4.1 (Finnish).
	misfit, misfitDoubt = 5, 3
	// sample is how many words tell how well the vocabulary fits: their pieces, at the limit, just fill what is encoded.
	sample = 48
)

// isEnglish judges a text by its evidence; pieces counts the pieces that the vocabulary needs for some words.
func (e *evidence) isEnglish(pieces func(words []string) int) bool {
	if e.other*otherShare > e.other+e.letters {
		return false
	}
	fits := func(halves int) bool {
		some := e.words[:min(len(e.words), sample)]
		return 2*pieces(some) < halves*len(some)
	}
	words := len(e.words)
	switch {
	case e.foreign > 1 && e.foreign > e.english:
		return false
	case e.english*englishShare >= max(words, 1):
		return true
	case e.foreign > 0 && words > 1 && !fits(misfitDoubt):
		return false
	}
	return words < telling || fits(misfit)
}

// gather reads the evidence of a text.
func gather(text string) evidence {
	if !strings.ContainsFunc(text, unicode.IsLower) {
		text = strings.ToLower(text) // where all is in capitals, they mark no abbreviations
	}
	var e evidence
	foreign := make([]int, len(foreignWords))
	for field := range strings.FieldsSeq(withoutCode(text)) {
		if other := otherScript(field); other > 0 {
			e.other += other
			continue
		}
		for part := range strings.SplitAfterSeq(strings.ReplaceAll(strings.Trim(field, punctuation), "’", "'"), "'") {
			if !isPlain(part) {
				continue
			}
			word := strings.ToLower(part)
			e.words = append(e.words, strings.Split(word, "-")...)
			e.letters += len(word)
			if englishWords[word] {
				e.english++
			}
			for i, words := range foreignWords {
				if words[word] {
					foreign[i]++
				}
			}
		}
	}
	for _, n := range foreign {
		e.foreign = max(e.foreign, n)
	}
	return e
}

// punctuation is what prose puts around words.
const punctuation = "()[]{}<>\"“”‘«»*,;:!?.…¿¡"

// withoutCode leaves out what stands between backquotes.
func withoutCode(text string) string {
	parts := strings.Split(text, "`")
	if len(parts)%2 == 0 { // the last backquote closes nothing
		parts = append(parts[:len(parts)-2], parts[len(parts)-2]+" "+parts[len(parts)-1])
	}
	var b strings.Builder
	for i := 0; i < len(parts); i += 2 {
		b.WriteString(parts[i])
		b.WriteByte(' ')
	}
	return b.String()
}

// isPlain tells whether a word is one of prose: letters and hyphens, a capital only at its beginning.
func isPlain(word string) bool {
	letters := 0
	for i, r := range word {
		switch {
		case unicode.IsLower(r), i == 0 && unicode.IsUpper(r):
			letters++
		case unicode.IsMark(r):
		case i == 0 || i == len(word)-1 && r != '\'':
			return false
		case r != '-' && r != '\'':
			return false
		}
	}
	return letters > 0
}

// otherScript counts the letters of a field that are not Latin, in Latin letters. A single letter of an alphabet is a
// symbol: μ, λ, π.
func otherScript(field string) int {
	alphabetic, count := 0, 0
	for _, r := range field {
		switch {
		case r < 0x250 || !unicode.IsLetter(r) || unicode.Is(unicode.Latin, r):
		case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul):
			count += syllabic
		default:
			alphabetic++
		}
	}
	if alphabetic > 1 {
		count += alphabetic
	}
	return count
}
