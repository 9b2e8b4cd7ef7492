package main

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/stele-dev/stele/internal/git"
	"github.com/stele-dev/stele/memory"
)

// ownerFiles are where GitHub looks for CODEOWNERS; the first that is there counts.
var ownerFiles = []string{".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS"}

// maxOwnersBytes is the size up to which GitHub takes CODEOWNERS for one.
const maxOwnersBytes = 3 << 20

// codeOwners reads who owns which files of a commit; nobody, when it does not say.
func codeOwners(ctx context.Context, repo *git.Repository, commit string) ([]memory.OwnerRule, error) {
	files, err := repo.Tree(ctx, commit)
	if err != nil {
		return nil, err
	}
	for _, name := range ownerFiles {
		at := slices.IndexFunc(files, func(e git.Entry) bool { return e.Path == name })
		if at < 0 || files[at].Size > maxOwnersBytes || files[at].Size == git.Absent {
			continue
		}
		blobs, err := repo.Blobs(ctx)
		if err != nil {
			return nil, err
		}
		text, err := blobs.Read(files[at].Blob, maxOwnersBytes)
		blobs.Close()
		if err != nil {
			return nil, err
		}
		return parseOwners(string(text)), nil
	}
	return []memory.OwnerRule{}, nil
}

// parseOwners reads CODEOWNERS as GitHub does: a pattern, then owners, separated by blanks; a backslash keeps a blank, # begins a
// comment. Lines that GitHub skips, as with a negation or a set of characters, are skipped, and so are what no server would
// take and the headings of sections that GitLab has.
func parseOwners(text string) []memory.OwnerRule {
	out := []memory.OwnerRule{}
	for line := range strings.Lines(text) {
		words := ownerWords(strings.TrimSpace(line))
		if len(words) == 0 || strings.HasPrefix(words[0], "!") || strings.ContainsAny(words[0], "[]") || strings.HasPrefix(words[0], "^") ||
			len(words[0]) > memory.MaxPathBytes || !utf8.ValidString(line) {
			continue
		}
		rule := memory.OwnerRule{Pattern: words[0], Owners: []string{}}
		for _, w := range words[1:] {
			if strings.Contains(w, "@") && len(w) <= memory.MaxNameBytes && len(rule.Owners) < memory.MaxOwners {
				rule.Owners = append(rule.Owners, w)
			}
		}
		out = append(out, rule)
	}
	if len(out) > memory.MaxOwnerRules { // half of the rules would give files to the wrong people
		return []memory.OwnerRule{}
	}
	return out
}

// ownerWords cuts a line at blanks that no backslash keeps, up to a comment.
func ownerWords(line string) []string {
	var words []string
	var word strings.Builder
	end := func() {
		if word.Len() > 0 {
			words = append(words, word.String())
			word.Reset()
		}
	}
	kept := false // by a backslash before it
	for _, r := range line {
		switch {
		case kept:
			if r != ' ' && r != '#' {
				word.WriteByte('\\')
			}
			word.WriteRune(r)
			kept = false
		case r == '\\':
			kept = true
		case r == '#' && word.Len() == 0:
			end()
			return words
		case r == ' ' || r == '\t':
			end()
		case r < ' ' || r == 0x7f:
		default:
			word.WriteRune(r)
		}
	}
	end()
	return words
}
