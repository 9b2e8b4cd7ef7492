package main

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/action"
	"github.com/stele-dev/stele/drift/report"
	"github.com/stele-dev/stele/internal/config/checkout"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

// connect opens the server and finds the project, once.
func (r *jobRun) connect(ctx context.Context) error {
	if r.b != nil {
		return nil
	}
	r.server, r.token = r.job.ServerURL, r.job.Token
	b, err := r.app.open(ctx)
	if err != nil {
		return err
	}
	r.caller = b.caller()
	if r.caller.Project, err = r.projectOf(ctx, b, r.caller); err != nil {
		return err
	}
	r.b, r.project = b, r.caller.Project.String()
	return nil
}

// serve sends the run to the server, which answers with the memories that it has to do with.
func (r *jobRun) serve(ctx context.Context, base action.Base) error {
	if err := r.connect(ctx); err != nil {
		return err
	}
	b, c := r.b, r.caller
	changed, err := r.changed(ctx, base)
	if err != nil {
		return err
	}
	answer, err := r.push(ctx, b, c, changed)
	if err != nil {
		return err
	}
	r.out.RunID, r.out.Memories.Proposed = answer.RunID, !answer.Tracked
	for _, w := range answer.Warnings {
		r.note(w)
	}
	if answer.Held != nil {
		r.note("The model would drop so many elements that the server waits for a person to accept it.")
	}
	for _, d := range answer.Doubted {
		r.out.Memories.Doubted = append(r.out.Memories.Doubted, report.Memory{Handle: d.Handle, Kind: string(d.Kind), Element: d.Element, Cause: d.Cause})
	}
	for _, m := range answer.Pitfalls {
		r.out.Memories.Pitfalls = append(r.out.Memories.Pitfalls, report.Memory{Handle: m.Handle, Kind: string(m.Kind), Element: m.Element})
	}
	return r.titles(ctx, b, c)
}

// identity names the repository, as its clones do.
func (r *jobRun) identity() string {
	return checkout.Normalize(r.job.GitHubURL + "/" + r.job.Repository)
}

// projectOf finds the project: the one that was named, that of the token, that of the repository. It is made when it is not there
// and the token may.
func (r *jobRun) projectOf(ctx context.Context, b *backend, c memory.Caller) (uuid.UUID, error) {
	names := []string{"remote:" + r.identity(), r.job.Repository}
	if r.job.Project != "" {
		names = []string{r.job.Project}
	} else if b.bound != uuid.Nil {
		return b.bound, nil
	}
	var missing error
	for _, name := range names {
		p, err := b.FindProject(ctx, c, name)
		if err == nil {
			return p.ID, nil
		}
		if !problem.Is(err, problem.NotFound) {
			return uuid.Nil, err
		}
		missing = err
	}
	p, err := b.CreateProject(ctx, c, names[len(names)-1], []string{"remote:" + r.identity()})
	if problem.Is(err, problem.Forbidden) {
		return uuid.Nil, missing
	}
	return p.ID, err
}

// push asks what is watched, looks at it, and sends the run.
func (r *jobRun) push(ctx context.Context, b *backend, c memory.Caller, changed []string) (memory.RunAnswer, error) {
	head := r.out.Commit
	p := memory.RunPush{
		Repository: r.identity(), Branch: r.job.Branch, DefaultBranch: r.job.DefaultBranch, Tracked: r.job.Tracked(head), Report: *r.out.Report,
		Changed: changed,
	}
	var err error
	if p.Ancestors, err = r.e.repo.Ancestors(ctx, head, memory.MaxAncestors); err != nil {
		return memory.RunAnswer{}, err
	}
	if p.Owners, err = codeOwners(ctx, r.e.repo, head); err != nil {
		return memory.RunAnswer{}, err
	}
	if in := r.e.input; in.ModelFile != "" {
		p.Model, p.Bindings, p.Source = in.Model, in.Bindings, in.ModelFile
	}
	if p.Verdicts, err = judge(ctx, b, c, r.e.repo, r.e.input, r.out.Report); err != nil {
		return memory.RunAnswer{}, err
	}
	return b.PushRun(ctx, c, p)
}

// changed are the files that a pull request changes, by their names before and after, at most as many as a run takes.
func (r *jobRun) changed(ctx context.Context, base action.Base) ([]string, error) {
	if r.job.Pull == nil || base.Unknown != "" {
		return nil, nil
	}
	changes, err := r.e.repo.Diff(ctx, base.Commit.ID, r.e.commit.ID)
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, f := range changes {
		paths = append(paths, f.Path)
		if f.From != "" {
			paths = append(paths, f.From)
		}
	}
	slices.Sort(paths)
	// A name that is no path of a memory (control characters, no UTF-8) is about nothing.
	paths = slices.DeleteFunc(slices.Compact(paths), func(p string) bool { _, err := memory.CleanPath("changed", p); return err != nil })
	return paths[:min(len(paths), memory.MaxChanged)], nil
}

// titled bounds the memories of each list whose titles are asked for.
const titled = 20

// titles adds the titles of the memories that are shown, when they are wanted.
func (r *jobRun) titles(ctx context.Context, b *backend, c memory.Caller) error {
	if !r.job.CommentTitles {
		return nil
	}
	var handles []string
	for _, list := range [][]report.Memory{r.out.Memories.Doubted, r.out.Memories.Pitfalls} {
		for _, m := range list[:min(len(list), titled)] {
			if !slices.Contains(handles, m.Handle) {
				handles = append(handles, m.Handle)
			}
		}
	}
	if len(handles) == 0 {
		return nil
	}
	found, err := b.Get(ctx, c, handles)
	if problem.Is(err, problem.Forbidden) {
		r.log.Say("the token may not read memories, so they are named without titles")
		return nil
	}
	if err != nil {
		return err
	}
	for _, m := range found {
		for _, list := range [][]report.Memory{r.out.Memories.Doubted, r.out.Memories.Pitfalls} {
			for i := range list {
				if list[i].Handle == m.Handle {
					list[i].Title = m.Title
				}
			}
		}
	}
	return nil
}
