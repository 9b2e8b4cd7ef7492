package evidence

import (
	"context"
	"strings"
)

// maxWitnesses is how many files are read to tell code from comments.
const maxWitnesses = 10

// inCode tells whether one of the files that hold a claim has it outside comments: a name that only a comment mentions is a
// word of its writer's, and goes when somebody words the comment otherwise.
func (t *Snapshot) inCode(ctx context.Context, c Claim, files []string) (bool, error) {
	if len(files) > maxWitnesses {
		return true, nil
	}
	t.index()
	name := c.Text
	if c.Kind == Symbol {
		words := c.words()
		name = words[len(words)-1]
	}
	for _, f := range files {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		text, err := t.s.readers[0].Read(t.byPath[f].Blob, maxText)
		if err != nil {
			return false, err
		}
		for line := range strings.Lines(string(text)) {
			if at := strings.Index(line, name); at >= 0 && !isComment(line[:at]) && holdsLiteral([]byte(line), name) {
				return true, nil
			}
		}
	}
	return false, nil
}

// isComment tells whether what follows the beginning of a line is in a comment, in most languages.
func isComment(before string) bool {
	start := strings.TrimSpace(before)
	for _, mark := range []string{"//", "/*", "*", "--", ";", "<!--", "%", "{/*"} {
		if strings.HasPrefix(start, mark) {
			return true
		}
	}
	if start == "#" || strings.HasPrefix(start, "# ") || strings.HasPrefix(start, "#!") || strings.HasPrefix(start, "##") {
		return true
	}
	return strings.Contains(before, " // ") || strings.Contains(before, " # ") || strings.Contains(before, " /* ")
}
