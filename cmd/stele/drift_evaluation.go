package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/stele-dev/stele/c4model/formats"
	"github.com/stele-dev/stele/drift"
	"github.com/stele-dev/stele/internal/config"
	"github.com/stele-dev/stele/internal/git"
	"github.com/stele-dev/stele/internal/problem"
)

// driftOptions say what is compared.
type driftOptions struct {
	repo      string // folder inside the repository
	model     string // file or folder; "" is the one that is found
	ref       string // commit; "" is HEAD
	noHistory bool
	bindings  string // fromServer adds those that were set on the server
}

func (o *driftOptions) flags(f *pflag.FlagSet) {
	f.StringVar(&o.repo, "repo", ".", "folder of the project in its repository")
	f.StringVar(&o.model, "model", "", "file or folder of the model; server: the project's (default: as stele.yaml says, else the only one)")
	f.StringVar(&o.bindings, "bindings", "", "server: add the bindings that were set on the server")
	f.StringVar(&o.ref, "ref", "", "commit to evaluate (default: HEAD)")
}

// driftEvaluation is a commit that is about to be evaluated.
type driftEvaluation struct {
	dir      string // folder that was named
	repo     *git.Repository
	commit   git.Commit
	branch   string
	tree     []git.Entry
	source   drift.Source
	named    bool // the model was
	history  int
	facts    *factsFile
	blobs    *git.Blobs
	warnings []string
	input    *drift.Input // of the commit, once it was evaluated
}

// openDrift finds repository, commit, project and model.
func (a *app) openDrift(ctx context.Context, o driftOptions) (*driftEvaluation, error) {
	dir, err := a.resolve(o.repo)
	if err != nil {
		return nil, err
	}
	if o.bindings != "" && o.bindings != fromServer {
		return nil, problem.Invalidf("bindings", "%q is no place to take bindings from", o.bindings).Fix("write --bindings server, or leave it out")
	}
	e := &driftEvaluation{dir: dir, named: o.model != ""}
	if o.noHistory {
		e.history = -1
	}
	if e.repo, err = git.Open(ctx, dir); err != nil {
		return nil, err
	}
	if e.commit, err = e.repo.Commit(ctx, o.ref); err != nil {
		return nil, unevaluable(err)
	}
	if o.ref == "" {
		e.branch = e.repo.Branch(ctx)
	}
	if e.tree, err = e.repo.Tree(ctx, e.commit.ID); err != nil {
		return nil, err
	}
	e.source = drift.Source{Repository: e.repo}
	if e.source.Root, err = projectRoot(e.repo.Root(), dir); err != nil {
		return nil, err
	}
	if o.model != fromServer {
		if err := e.findModel(ctx, a, o.model); err != nil {
			return nil, err
		}
	}
	if err := e.fetchModel(ctx, a, o); err != nil {
		return nil, err
	}
	if e.blobs, err = e.repo.Blobs(ctx); err != nil {
		return nil, err
	}
	e.facts = openFacts(a.cacheDir, cmp.Or(e.repo.Root(), dir))
	return e, nil
}

func (e *driftEvaluation) close() { e.blobs.Close() }

// unevaluable makes what is not there an error with exit code 2: nothing was evaluated, which is not the answer "no".
func unevaluable(err error) error {
	if p, ok := problem.As(err); ok && p.Code == problem.NotFound {
		return problem.New(problem.Invalid, p.Field, p.Detail, p.Fixes...).Because(err)
	}
	return err
}

// projectRoot gives the folder of the nearest stele.yaml at or above dir, relative to the top of the repository; "" is the
// top, and the answer where there is none.
func projectRoot(top, dir string) (string, error) {
	if top == "" {
		return "", nil // no working tree
	}
	relative, err := inRepository(top, dir)
	if err != nil {
		return "", err
	}
	return config.NearestRepository(top, filepath.Join(top, filepath.FromSlash(relative))), nil
}

// inRepository gives a path of this machine relative to the top of the repository it lies in, "." for the top. What lies
// outside is an error.
func inRepository(top, name string) (string, error) {
	folder, err := filepath.EvalSymlinks(top)
	if err != nil {
		return "", fmt.Errorf("finding the repository: %w", err)
	}
	// A file that is not there, or is a link, is where its folder is.
	parent, err := filepath.EvalSymlinks(filepath.Dir(name))
	if err != nil {
		return "", problem.Invalidf("path", "%s is not there", name).Because(err)
	}
	inside := filepath.Join(parent, filepath.Base(name))
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		if inside, err = filepath.EvalSymlinks(name); err != nil {
			return "", problem.Invalidf("path", "%s cannot be followed", name).Because(err)
		}
	}
	relative, err := filepath.Rel(folder, inside)
	if err != nil || !filepath.IsLocal(relative) && relative != "." {
		return "", problem.Invalidf("path", "%s is not in the repository %s", name, top)
	}
	return filepath.ToSlash(relative), nil
}

// findModel finds a model that was named: as the commit has it, else as it is on this machine.
func (e *driftEvaluation) findModel(ctx context.Context, a *app, name string) error {
	if name == "" {
		return nil
	}
	local, err := a.resolve(name)
	if err != nil {
		return err
	}
	candidates := []string{path.Clean(filepath.ToSlash(name))} // from the top of the repository, as reports print it
	if inside, err := inRepository(e.repo.Root(), local); err == nil && e.repo.Root() != "" {
		candidates = slices.Insert(candidates, 0, inside)
	}
	for _, c := range candidates {
		if c == "." || slices.ContainsFunc(e.tree, func(t git.Entry) bool { return t.Path == c || strings.HasPrefix(t.Path, c+"/") }) {
			e.source.ModelFile = c
			return nil
		}
	}
	if _, err := os.Stat(local); errors.Is(err, fs.ErrNotExist) {
		return problem.Invalidf("model", "there is no file or folder %s, neither in the commit nor on this machine", name).
			Fix("name the model file, such as docs/architecture/workspace.dsl")
	}
	if e.source.Model, err = formats.Read(ctx, local); err != nil {
		return unevaluable(err)
	}
	e.warnings = append(e.warnings, "the commit has no model "+name+": it was read as it is on this machine")
	return nil
}

// run evaluates the commit. Where there is no model, that is a report too; a model that is named and is not there, or that is
// broken, is an error.
func (e *driftEvaluation) run(ctx context.Context) (*drift.Report, error) {
	r, in, err := e.runAt(ctx, e.commit, e.tree, e.history)
	if err != nil {
		return nil, unevaluable(err)
	}
	r.Branch, e.input = e.branch, in
	r.Warnings = append(r.Warnings, e.warnings...)
	return r, nil
}

func (e *driftEvaluation) runAt(ctx context.Context, commit git.Commit, tree []git.Entry, history int) (*drift.Report, *drift.Input, error) {
	in, err := e.source.LoadTree(ctx, commit, tree)
	if p, ok := problem.As(err); ok && p.Code == problem.NotFound && !e.named {
		return drift.Unchecked(commit, commit.Time, p.Detail, append([]string{"stele model draft, to have one proposed"}, p.Fixes...)...), nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	r, err := drift.Run(ctx, e.repo, in, drift.Options{Cache: e.facts, History: history, Source: &e.source})
	return r, in, err
}

// compare evaluates the base and marks what is new. The answer says why there is nothing to compare with, "" when there is.
func (e *driftEvaluation) compare(ctx context.Context, r *drift.Report, ref string) (unknown string, err error) {
	var base git.Commit
	if ref == "" {
		if base, err = drift.FindBase(ctx, e.repo, e.commit); problem.Is(err, problem.Unavailable) {
			return e.unknown(r, err), nil
		}
	} else {
		base, err = e.repo.Commit(ctx, ref)
	}
	if err != nil {
		return "", unevaluable(err)
	}
	tree, err := e.repo.Tree(ctx, base.ID)
	if err != nil {
		return "", err
	}
	before, _, err := e.runAt(ctx, base, tree, -1)
	if _, ok := problem.As(err); ok {
		return e.unknown(r, fmt.Errorf("%.10s: %w", base.ID, err)), nil
	}
	if err != nil {
		return "", fmt.Errorf("evaluating the base %.10s: %w", base.ID, err)
	}
	r.Compare(before)
	if before.Status != drift.Checked {
		return e.unknown(r, fmt.Errorf("%.10s: %s", base.ID, before.Reason)), nil
	}
	return "", nil
}

func (e *driftEvaluation) unknown(r *drift.Report, why error) string {
	text := "the base could not be evaluated: " + why.Error()
	r.Warnings = append(r.Warnings, text)
	return text
}

// read gives the text of a file of the commit.
func (e *driftEvaluation) read(name string) ([]byte, error) {
	at, ok := slices.BinarySearchFunc(e.tree, name, func(t git.Entry, name string) int { return strings.Compare(t.Path, name) })
	if !ok || e.tree[at].Mode != git.Regular && e.tree[at].Mode != git.Executable {
		return nil, fmt.Errorf("%s: %w", name, fs.ErrNotExist)
	}
	const limit = 4 << 20 // models and settings are far smaller
	return e.blobs.Read(e.tree[at].Blob, limit)
}

// edit changes the project's stele.yaml in the working tree.
func (e *driftEvaluation) edit(out *driftEdit, change func(text []byte) ([]byte, error)) (err error) {
	top := e.repo.Root()
	if top == "" {
		return problem.Invalidf("repo", "this repository has no working tree to change stele.yaml in").Fix("name a clone that has one")
	}
	folder := filepath.Join(top, filepath.FromSlash(e.source.Root))
	out.File = filepath.Join(folder, config.RepositoryFile)
	out.Changed, err = config.EditRepository(folder, change)
	return err
}
