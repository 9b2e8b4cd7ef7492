package memory

import (
	"path"
	"strings"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/drift"
	"github.com/stele-dev/stele/drift/evidence"
)

// What put memories in doubt is told by an origin, which is the same for all that one event concerns: the commit, a space,
// and what happened in it. A folder that was renamed may be missed by many elements, and a file that was removed by many
// memories; a person decides about each once. An origin is paths and names of the repository, which are plain.

// renamed is a folder that a commit gave another name.
type renamed struct{ from, to string }

// renamings are the folders that commits renamed, by commit, as far as findings tell.
func renamings(findings []drift.Finding) map[string][]renamed {
	out := map[string][]renamed{}
	for _, f := range findings {
		if f.Since != nil && f.Outcome == drift.Moved && f.MovedTo != "" {
			out[f.Since.Commit] = append(out[f.Since.Commit], renaming(folderOf(f.Subject), f.MovedTo))
		}
	}
	return out
}

// folderOf is the folder that a pattern begins with.
func folderOf(pattern string) string { return c4model.StaticPrefix(strings.TrimPrefix(pattern, "/")) }

// renaming takes off what old and new have in common at their ends: a/auth → b/auth is the folder a, renamed b.
func renaming(from, to string) renamed {
	for from != to && path.Base(from) == path.Base(to) && from != "." && to != "." {
		from, to = path.Dir(from), path.Dir(to)
	}
	return renamed{from, to}
}

// originOf is the origin of a finding: the folder that was renamed, also for what lay in it and is missed altogether, else
// the finding itself.
func originOf(f drift.Finding, renamings map[string][]renamed) string {
	if f.Since == nil {
		return ""
	}
	var of renamed
	if f.Outcome == drift.Moved && f.MovedTo != "" {
		of = renaming(folderOf(f.Subject), f.MovedTo)
	} else if f.Check == drift.Existence {
		for _, r := range renamings[f.Since.Commit] {
			if folder := folderOf(f.Subject); r.from != "." && (folder == r.from || strings.HasPrefix(folder, r.from+"/")) {
				of = r
			}
		}
	}
	if of == (renamed{}) {
		return f.Since.Commit + " " + f.Fingerprint
	}
	return f.Since.Commit + " " + of.from + "→" + of.to
}

// originOfClaim is the origin of evidence that is gone: the commit and the file it left.
func originOfClaim(v evidence.ClaimVerdict) string {
	commit, file := "", ""
	if v.Commit != nil {
		commit = v.Commit.ID
	}
	if v.Kind == evidence.Path {
		file = v.Text
	}
	if len(v.Before) > 0 {
		file = v.Before[0]
	}
	if commit == "" || file == "" {
		return ""
	}
	return clip(commit+" "+Line(file), MaxPathBytes)
}

// originOfRewrite is the commit that took most of the lines.
func originOfRewrite(v *evidence.Rewrite) string {
	if v == nil || v.Commit == nil {
		return ""
	}
	return v.Commit.ID
}
