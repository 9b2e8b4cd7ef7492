package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/c4model/formats"
	"github.com/stele-dev/stele/internal/config"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

func (a *app) modelCommand() *cobra.Command {
	c := &cobra.Command{Use: "model", Short: "Read, compare and show the architecture model", Args: cobra.NoArgs,
		Example: "  stele model import docs/architecture/workspace.dsl", RunE: a.group}
	run := func(dry bool) func(cmd *cobra.Command, args []string) error {
		return func(cmd *cobra.Command, args []string) error {
			b, err := a.open(cmd.Context())
			if err != nil {
				return err
			}
			var c memory.Caller
			if dry {
				c, err = b.callerMaking(cmd.Context(), a.project, false) // what is not there can be compared with
			} else {
				c, err = b.Caller(cmd.Context(), a.project, true)
			}
			if err != nil {
				return err
			}
			report, err := b.importModel(cmd.Context(), c, args[0], dry)
			if err != nil {
				return err
			}
			return a.answer(report, func(p *printer) { p.modelReport(report, dry) })
		}
	}
	c.AddCommand(
		a.modelDraftCommand(),
		&cobra.Command{
			Use: "import PATH", Short: "Make the project's model equal to a file or folder", Args: cobra.ExactArgs(1),
			Long: "Read a model and make the project's equal to it. Elements keep their memories\n" +
				"when they move or are renamed; memories of an element that left are kept.\n" +
				"Nothing changes when the model cannot be read whole.",
			Example: "  stele model import docs/architecture/workspace.dsl", RunE: run(false),
		},
		&cobra.Command{
			Use: "check PATH", Short: "Say what an import would change, and change nothing", Args: cobra.ExactArgs(1),
			Example: "  stele model check docs/architecture", RunE: run(true),
		},
		&cobra.Command{
			Use: "show", Short: "Show the project's model", Args: cobra.NoArgs, Example: "  stele model show --json",
			RunE: func(cmd *cobra.Command, _ []string) error {
				return a.with(cmd.Context(), false, func(b *backend, c memory.Caller) error {
					m, err := b.Model(cmd.Context(), c)
					if err != nil {
						return err
					}
					if err := a.answer(m, func(p *printer) { p.model(m) }); err != nil {
						return err
					}
					if len(m.Elements) == 0 {
						return errNo
					}
					return nil
				})
			},
		},
		a.modelHeldCommand(), a.modelDecisionCommand("accept", "Make the pushed model that waits the project's", true),
		a.modelDecisionCommand("reject", "Refuse the pushed model that waits", false),
	)
	return c
}

// importModel reads a model with the bindings that it and stele.yaml state, and hands it to the domain.
func (b *backend) importModel(ctx context.Context, c memory.Caller, name string, dry bool) (memory.ModelReport, error) {
	if name == "" {
		return memory.ModelReport{}, problem.Invalidf("path", "no model is named").Fix("name its file or folder, such as docs/architecture/workspace.dsl")
	}
	source, err := formats.Find(ctx, name)
	if err != nil {
		return memory.ModelReport{}, err
	}
	m, err := formats.Read(ctx, filepath.Join(source.Root, filepath.FromSlash(source.File)))
	if err != nil {
		return memory.ModelReport{}, err
	}
	bindings, err := b.place.bindings(source.Root, m)
	if err != nil {
		return memory.ModelReport{}, err
	}
	if dry && c.Project == uuid.Nil {
		return firstImport(m, bindings), nil
	}
	return b.ImportModel(ctx, c, memory.ModelImport{Model: m, Bindings: bindings, Source: source.File, DryRun: dry})
}

// firstImport is what an import into a project that does not exist yet would add: everything.
func firstImport(m *c4model.Model, bindings []c4model.Binding) memory.ModelReport {
	r := memory.ModelReport{
		Elements: map[c4model.Level]int{}, Relationships: len(m.Relationships), Decisions: len(m.Decisions), Bindings: len(bindings),
		Added: []string{}, Changed: []memory.ModelDifference{}, Removed: []memory.ModelRemoval{}, Warnings: []string{},
	}
	for _, e := range m.Elements {
		if e.Level != c4model.Person {
			r.Elements[e.Level]++
		}
		r.Added = append(r.Added, e.Key)
	}
	for _, w := range m.Warnings {
		r.Warnings = append(r.Warnings, w.String())
	}
	return r
}

// bindings are those of stele.yaml, then those the model states itself; what could not be used is added to its warnings.
func (p *place) bindings(root string, m *c4model.Model) ([]c4model.Binding, error) {
	var out []c4model.Binding
	keys := make([]string, 0, len(p.file.Bindings))
	for key := range p.file.Bindings {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		at := slices.IndexFunc(m.Elements, func(e c4model.Element) bool { return c4model.FoldKey(e.Key) == c4model.FoldKey(key) })
		if at < 0 {
			m.Warnings = append(m.Warnings, c4model.Warning{Message: fmt.Sprintf("stele.yaml binds files to %s, which is not in the model", key)})
			continue
		}
		for _, glob := range p.file.Bindings[key] {
			pattern, err := c4model.NormalizePattern(glob)
			if err != nil {
				return nil, err
			}
			out = append(out, c4model.Binding{Element: m.Elements[at].Key, Pattern: c4model.Rooted(p.folder, pattern), Source: config.RepositoryFile})
		}
	}
	if p.checkout == nil || root != p.checkout.Root {
		return out, nil // a model outside the repository says nothing about its files
	}
	hints, warnings := c4model.BindingHints(m, c4model.Tree{Remotes: p.checkout.Remotes, Exists: func(name string) bool {
		if !filepath.IsLocal(filepath.FromSlash(name)) {
			return false
		}
		_, err := os.Stat(filepath.Join(p.checkout.Root, filepath.FromSlash(name)))
		return err == nil
	}})
	m.Warnings = append(m.Warnings, warnings...)
	for _, h := range hints {
		if !slices.ContainsFunc(out, func(b c4model.Binding) bool { return b.Element == h.Element && b.Pattern == h.Pattern }) {
			out = append(out, h)
		}
	}
	return out, nil
}

func (a *app) adrCommand() *cobra.Command {
	c := &cobra.Command{Use: "adr", Short: "Read architecture decisions", Args: cobra.NoArgs, Example: "  stele adr import docs/adr",
		RunE: a.group}
	c.AddCommand(&cobra.Command{
		Use: "import DIR", Short: "Make the decisions of a folder known to [[ADR-17]]", Args: cobra.ExactArgs(1),
		Example: "  stele adr import docs/adr",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.with(cmd.Context(), true, func(b *backend, c memory.Caller) error {
				decisions, warnings, source, err := b.place.decisions(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				r, err := b.ImportDecisions(cmd.Context(), c, decisions, source)
				if err != nil {
					return err
				}
				for _, w := range warnings {
					r.Warnings = append(r.Warnings, w.String())
				}
				return a.answer(r, func(p *printer) {
					p.line("%s: %d added, %d changed, %d removed", count(r.Decisions, "decision"), len(r.Added), len(r.Changed), len(r.Removed))
					p.warnings(r.Warnings)
				})
			})
		},
	})
	return c
}

// decisions reads a folder, inside the repository when it lies there.
func (p *place) decisions(ctx context.Context, name string) ([]c4model.Decision, []c4model.Warning, string, error) {
	dir, err := filepath.Abs(name)
	if err != nil {
		return nil, nil, "", problem.Invalidf("path", "%s is no path", name).Because(err)
	}
	if target, err := filepath.EvalSymlinks(dir); err == nil {
		dir = target
	}
	base, inside := p.root(), "."
	if rel, err := filepath.Rel(base, dir); err == nil && filepath.IsLocal(rel) {
		inside = filepath.ToSlash(rel)
	} else {
		base = dir
	}
	root, err := c4model.OpenRoot(base)
	if err != nil {
		return nil, nil, "", err
	}
	defer func() { _ = root.Close() }()
	ds, ws, err := c4model.ReadDecisions(ctx, root, inside)
	return ds, ws, inside, err
}

// maxShownChanges bounds each list of a printed report; --json has all.
const maxShownChanges = 12

// modelReport tells what an import changed or would change.
func (p *printer) modelReport(r memory.ModelReport, dry bool) {
	var parts []string
	for _, level := range []c4model.Level{c4model.System, c4model.Container, c4model.Component, c4model.Code} {
		if n := r.Elements[level]; n > 0 {
			noun := string(level)
			if level == c4model.Code {
				noun = "code element"
			}
			parts = append(parts, count(n, noun))
		}
	}
	parts = append(parts, count(r.Relationships, "relationship"))
	if r.Decisions > 0 {
		parts = append(parts, count(r.Decisions, "decision"))
	}
	if r.Bindings > 0 {
		parts = append(parts, count(r.Bindings, "binding"))
	}
	verb := "Imported "
	if dry {
		verb = "Would import "
	}
	p.hanging(verb, indent, strings.Join(parts, ", "))
	p.changes("added", r.Added)
	changed := make([]string, len(r.Changed))
	for n, c := range r.Changed {
		changed[n] = memory.Line(c.Key)
		if c.From != "" {
			changed[n] += " (was " + memory.Line(c.From) + ")"
		}
		if len(c.What) > 0 {
			changed[n] += ": " + memory.Line(strings.Join(c.What, ", "))
		}
	}
	p.changes("changed", changed)
	removed := make([]string, len(r.Removed))
	for n, gone := range r.Removed {
		removed[n] = memory.Line(gone.Key)
		if gone.Memories > 0 {
			removed[n] += " (" + count(gone.Memories, "memory") + " kept"
			if len(gone.Reattach) > 0 {
				removed[n] += "; perhaps now " + memory.Line(strings.Join(gone.Reattach, ", "))
			}
			removed[n] += ")"
		}
	}
	p.changes("removed", removed)
	if r.Attached > 0 {
		p.line("%s%s found an element by its path", indent, count(r.Attached, "memory"))
	}
	if len(r.Added)+len(r.Changed)+len(r.Removed) == 0 {
		p.line("%sno element is new, changed or gone", indent)
	}
	p.warnings(r.Warnings[:min(len(r.Warnings), maxShownChanges)])
	if more := len(r.Warnings) - maxShownChanges; more > 0 {
		p.line("%sand %s more; --json has all", indent, count(more, "note"))
	}
}

func (p *printer) changes(what string, items []string) {
	if len(items) == 0 {
		return
	}
	shown := items[:min(len(items), maxShownChanges)]
	text := memory.Plain(strings.Join(shown, ", "))
	if more := len(items) - len(shown); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	p.hanging(fmt.Sprintf("%s%d %s: ", indent, len(items), what), indent+indent, text)
}

// model writes the elements as a tree.
func (p *printer) model(m memory.ModelView) {
	if len(m.Elements) == 0 {
		p.line("there is no architecture model yet: stele model import PATH")
		return
	}
	depth := map[string]int{}
	for _, e := range m.Elements {
		if parent, ok := depth[e.Parent]; ok {
			depth[e.Key] = parent + 1
		} else {
			depth[e.Key] = 0
		}
		left := strings.Repeat(indent, depth[e.Key]) + memory.Line(e.Name) + "  " + string(e.Level)
		if e.Technology != "" {
			left += ", " + memory.Line(e.Technology)
		}
		p.line("%s", short(left+"  "+memory.Line(e.Key), p.width))
	}
	p.line("")
	text := fmt.Sprintf("%s, %s, %s, %s", count(len(m.Elements), "element"), count(len(m.Relationships), "relationship"),
		count(len(m.Bindings), "binding"), count(len(m.Decisions), "decision"))
	if m.ImportedAt != nil {
		text += ", imported " + m.ImportedAt.UTC().Format(dateTime) + " from " + memory.Line(m.Source)
	}
	p.prose("", text)
}
