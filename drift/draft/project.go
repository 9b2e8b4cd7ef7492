package draft

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/stele-dev/stele/drift"
	"github.com/stele-dev/stele/drift/imports"
	"github.com/stele-dev/stele/internal/git"
)

// maxText bounds the texts that are read for names and descriptions, in bytes.
const maxText = 256 << 10

// project is what is drafted: the files of one commit below the root of a project. It belongs to one goroutine, as its
// blobs do.
type project struct {
	root   string // "" at the top of the repository
	files  []drift.SurveyedFile
	byPath map[string]drift.SurveyedFile
	counts []drift.SurveyedFile            // those that a model has to explain
	inside map[string][]drift.SurveyedFile // those of them that lie directly in a folder
	blobs  *git.Blobs
}

// readProject surveys a commit. Close its blobs.
func readProject(ctx context.Context, repo *git.Repository, in *drift.Input) (*project, error) {
	files, err := drift.Survey(ctx, repo, in)
	if err != nil {
		return nil, err
	}
	p := &project{root: in.Root, files: files, byPath: make(map[string]drift.SurveyedFile, len(files)), inside: map[string][]drift.SurveyedFile{}}
	for _, f := range files {
		p.byPath[f.Path] = f
		if f.Counts() {
			p.counts = append(p.counts, f)
			p.inside[parent(f.Path)] = append(p.inside[parent(f.Path)], f)
		}
	}
	p.blobs, err = repo.Blobs(ctx)
	return p, err
}

// read gives the text of a file; "" for one that is not there, too large, or no text. Such a file says no name.
func (p *project) read(name string) string {
	f, ok := p.byPath[name]
	if !ok || f.Size > maxText || f.Mode != git.Regular && f.Mode != git.Executable {
		return ""
	}
	text, err := p.blobs.Read(f.Blob, maxText)
	if err != nil || slices.Contains(text, 0) {
		return ""
	}
	return strings.ToValidUTF8(strings.TrimPrefix(string(text), "\ufeff"), "\ufffd")
}

// first gives the first of the names that is a file of the folder; "" for none.
func (p *project) first(folder string, names ...string) string {
	for _, name := range names {
		if at := path.Join(folder, name); p.byPath[at].Path != "" {
			return at
		}
	}
	return ""
}

// parent is the folder of a path, "" at the top.
func parent(name string) string {
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		return name[:i]
	}
	return ""
}

// below tells whether a path is a folder or inside it, "" being the top.
func below(name, folder string) bool {
	return folder == "" || name == folder || strings.HasPrefix(name, folder+"/")
}

// languages gives the languages of files, most bytes first.
func languages(files []drift.SurveyedFile) []imports.Language {
	sizes := map[imports.Language]int64{}
	for _, f := range files {
		sizes[f.Language] += max(f.Size, 1)
	}
	return byWeight(sizes)
}

func size(files []drift.SurveyedFile) (n int64) {
	for _, f := range files {
		n += max(f.Size, 1) // of an empty file, too, something is to be told
	}
	return n
}
