package main

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/drift"
	"github.com/stele-dev/stele/drift/evidence"
	"github.com/stele-dev/stele/internal/config/checkout"
	"github.com/stele-dev/stele/internal/git"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

// fromServer names what the server knows, where a file could be named.
const fromServer = "server"

// pushOptions say what a run is pushed as.
type pushOptions struct {
	push     bool
	proposal bool   // a change that is proposed, such as a pull request: it only reports
	branch   string // "" is the one that is checked out
}

func (o *pushOptions) flags(f *pflag.FlagSet) {
	f.BoolVar(&o.push, "push", false, "store the run; on the tracked branch, memories of what drifts come into doubt")
	f.BoolVar(&o.proposal, "proposal", false, "with --push: the commit is proposed, not on the branch; only say what it would do")
	f.StringVar(&o.branch, "branch", "", "with --push: the branch the commit is on (default: what is checked out)")
}

// check refuses what says nothing without --push.
func (o *pushOptions) check() error {
	if !o.push && (o.proposal || o.branch != "") {
		return problem.Invalidf("push", "--proposal and --branch say what a run is stored as, and it is not stored").Fix("add --push")
	}
	return nil
}

// backendAt is the opened domain as it looks from a folder, which is not always the one the program was called in.
func (a *app) backendAt(ctx context.Context, dir string) (*backend, error) {
	b, err := a.open(ctx)
	if err != nil {
		return nil, err
	}
	if dir != b.place.dir {
		if b.place, err = findPlace(ctx, dir); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// fetchModel takes model or bindings from the project instead of the repository, as asked for.
func (e *driftEvaluation) fetchModel(ctx context.Context, a *app, o driftOptions) error {
	if o.model != fromServer && o.bindings != fromServer {
		return nil
	}
	b, c, err := e.project(ctx, a, false)
	if err != nil {
		return err
	}
	known, err := b.Model(ctx, c)
	if err != nil {
		return err
	}
	if o.model == fromServer {
		if len(known.Elements) == 0 {
			return problem.New(problem.Invalid, "model", "the project has no model yet", "stele model import PATH, or a run of the repository that has it")
		}
		e.source.Model = &c4model.Model{Elements: known.Elements, Relationships: known.Relationships}
	}
	if o.bindings == fromServer {
		e.source.Bindings = slices.DeleteFunc(known.Bindings, func(b c4model.Binding) bool { return b.Source != memory.ServerBinding })
	}
	return nil
}

// project is the project of the repository that is evaluated. A token that may make projects makes it where it is not there yet.
func (e *driftEvaluation) project(ctx context.Context, a *app, writes bool) (*backend, memory.Caller, error) {
	b, err := a.backendAt(ctx, e.dir)
	if err != nil {
		return nil, memory.Caller{}, err
	}
	c, err := b.Caller(ctx, a.project, writes)
	if problem.Is(err, problem.NotFound) && writes && b.role == memory.RoleCI && a.project == "" {
		if made, merr := b.callerMaking(ctx, "", true); merr == nil {
			return b, made, nil
		}
	}
	return b, c, err
}

// push asks what is watched, looks at it, and sends the run.
func (e *driftEvaluation) push(ctx context.Context, a *app, r *drift.Report, o pushOptions) (*memory.RunAnswer, error) {
	if r.Status == drift.NotChecked || e.input == nil {
		return nil, problem.Invalidf("push", "nothing was compared, so nothing was stored: %s", r.Reason).
			Fix("have a model: stele model draft").Fix("take the project's: --model server")
	}
	b, c, err := e.project(ctx, a, true)
	if err != nil {
		return nil, err
	}
	p := memory.RunPush{
		Repository: e.identity(ctx, b.place), Branch: cmp.Or(o.branch, e.branch), DefaultBranch: e.repo.DefaultBranch(ctx), Tracked: !o.proposal, Report: *r,
	}
	if p.Ancestors, err = e.repo.Ancestors(ctx, r.Commit, memory.MaxAncestors); err != nil {
		return nil, err
	}
	if p.Owners, err = codeOwners(ctx, e.repo, r.Commit); err != nil {
		return nil, err
	}
	if in := e.input; in.ModelFile != "" {
		p.Model, p.Source = in.Model, in.ModelFile
		// What the server said itself is no news from the repository.
		p.Bindings = slices.DeleteFunc(slices.Clone(in.Bindings), func(b c4model.Binding) bool { return b.Source == memory.ServerBinding })
	}
	if p.Verdicts, err = judge(ctx, b, c, e.repo, e.input, r); err != nil {
		return nil, err
	}
	answer, err := b.PushRun(ctx, c, p)
	if err != nil {
		return nil, err
	}
	return &answer, nil
}

// watcher tells what a run is asked about: the domain at the database or of a server.
type watcher interface {
	Watch(ctx context.Context, c memory.Caller, after string) (memory.WatchList, error)
}

// judge looks at everything on the watch list, page by page, from the commit of a report.
func judge(ctx context.Context, b watcher, c memory.Caller, repo *git.Repository, in *drift.Input, r *drift.Report) ([]evidence.Verdict, error) {
	var watched []evidence.Watched
	for after := ""; ; {
		list, err := b.Watch(ctx, c, after)
		if err != nil {
			return nil, err
		}
		watched = append(watched, list.Memories...)
		if after = list.Next; after == "" {
			break
		}
	}
	return evidence.Evaluate(ctx, repo, r.Commit, drift.Aim(in, r, watched))
}

// identity is what the repository is known by: its remote, else the name of its folder.
func (e *driftEvaluation) identity(ctx context.Context, p *place) string {
	if p.checkout != nil {
		return cmp.Or(p.checkout.Remote, p.checkout.Name())
	}
	for _, remote := range e.repo.Remotes(ctx) {
		if known := checkout.Normalize(remote); known != "" {
			return known
		}
	}
	return strings.TrimSuffix(filepath.Base(e.dir), ".git")
}

// pushed writes what became of a pushed run.
func (p *printer) pushed(r memory.RunAnswer) {
	p.line("")
	head := "Stored"
	switch {
	case r.Repeated:
		head = "Stored before; this is what became of it then"
	case r.Late:
		head = "Stored, and nothing else: a newer commit was compared before"
	case !r.Tracked:
		head = "Stored; it changes nothing"
	}
	p.hanging("", indent, head+" (run "+memory.Line(r.RunID)+")")
	if r.Tracked && len(r.Stamped) > 0 {
		p.hanging(indent, indent+indent, "began to drift: "+memory.Line(strings.Join(r.Stamped, ", ")))
	}
	if n := len(r.Doubted); n > 0 {
		verb := "put in doubt"
		if !r.Tracked {
			verb = "would be put in doubt"
		}
		distinct := map[string]bool{} // a memory may have several causes
		for _, d := range r.Doubted {
			distinct[d.Handle] = true
		}
		p.line("%s%s %s:", indent, count(len(distinct), "memory"), verb)
		for _, d := range r.Doubted[:min(n, maxShownChanges)] {
			p.line("%s", short(indent+indent+doubtLine(d), p.width))
		}
		if more := n - maxShownChanges; more > 0 {
			p.line("%sand %d more; --json has all", indent+indent, more)
		}
	}
	if r.Withdrawn > 0 {
		p.line("%s%s ended, since the reason went away", indent, count(r.Withdrawn, "doubt"))
	}
	if m := r.Imported; m != nil && len(m.Added)+len(m.Changed)+len(m.Removed) > 0 {
		p.line("%sthe project's model follows: %d added, %d changed, %d removed", indent, len(m.Added), len(m.Changed), len(m.Removed))
	}
	p.warnings(r.Warnings)
}

// doubtLine names a doubted memory without a word of it.
func doubtLine(d memory.DoubtedMemory) string {
	causes := map[string]string{"drifted": "its element drifted", "evidence_gone": "what it quotes is gone", "rewritten": "the code was rewritten"}
	line := fmt.Sprintf("%s  %s", memory.Line(d.Handle), memory.Line(string(d.Kind)))
	if d.Element != "" {
		line += ", " + memory.Line(d.Element)
	}
	return line + ": " + memory.Line(cmp.Or(causes[d.Cause], d.Cause))
}
