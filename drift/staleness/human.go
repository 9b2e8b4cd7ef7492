package staleness

import (
	"context"
	"errors"
	"strings"
	"unicode"

	"github.com/stele-dev/stele/drift/evidence"
	"github.com/stele-dev/stele/internal/git"
	"github.com/stele-dev/stele/internal/problem"
)

// edits gives for each memory the step, from 1, at which no document says any more what it says; 0 when the last one still
// does. Letters and digits are compared, so that neither line breaks nor marks of Markdown count, and a statement that went to
// another document stands.
func edits(ctx context.Context, repo *git.Repository, s *evidence.Searcher, p *predictor, steps []string) ([]int, error) {
	blobs, err := repo.Blobs(ctx)
	if err != nil {
		return nil, err
	}
	defer blobs.Close()
	texts := map[string]document{} // by blob
	out := make([]int, len(p.memories))
	statements := make([]string, len(p.memories))
	for n, m := range p.memories {
		statements[n] = letters(m.text)
	}
	for n, commit := range steps {
		at, err := s.At(ctx, commit)
		if err != nil {
			return nil, err
		}
		documents, err := at.Documents([]string{"."})
		if err != nil && !problem.Is(err, problem.Invalid) { // it is one when there is none
			return nil, err
		}
		byPath := map[string]document{}
		for _, d := range documents {
			known, ok := texts[d.Blob]
			if !ok {
				text, err := read(blobs, d.Blob)
				if err != nil {
					return nil, err
				}
				known = newDocument(text)
				texts[d.Blob] = known
			}
			byPath[d.Path] = known
		}
		for i, m := range p.memories {
			if out[i] == 0 && !says(byPath, m.file, statements[i]) {
				out[i] = n + 1
			}
		}
	}
	return out, nil
}

// document is the letters and digits of a text, and of each of its lines.
type document struct{ all, lines string }

func newDocument(text string) document {
	var lines strings.Builder
	lines.WriteByte('\n')
	for l := range strings.Lines(text) {
		lines.WriteString(letters(l))
		lines.WriteByte('\n')
	}
	return document{strings.ReplaceAll(lines.String(), "\n", ""), lines.String()}
}

// says tells whether a document has a statement. A short one must have a line of its own: it stands in many sentences.
func (d document) says(statement string) bool {
	const short = 24 // letters and digits
	if len(statement) < short {
		return strings.Contains(d.lines, "\n"+statement+"\n")
	}
	return strings.Contains(d.all, statement)
}

// says looks into the document of a statement first, where it is nearly always.
func says(documents map[string]document, file, statement string) bool {
	if documents[file].says(statement) {
		return true
	}
	for _, d := range documents {
		if d.says(statement) {
			return true
		}
	}
	return false
}

// letters are the letters and digits of a text.
func letters(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, text)
}

// maxText is the size up to which texts are read, in bytes. Larger ones are data or generated.
const maxText = 1 << 20

// read gives a text; one that is too large or not here is empty.
func read(blobs *git.Blobs, blob string) (string, error) {
	text, err := blobs.Read(blob, maxText)
	if _, large := errors.AsType[*git.TooLargeError](err); large || errors.Is(err, git.ErrAbsent) {
		return "", nil
	}
	return string(text), err
}
