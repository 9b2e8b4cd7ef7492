package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/stele-dev/stele/importer"
	"github.com/stele-dev/stele/importer/claudemem"
	"github.com/stele-dev/stele/importer/exported"
	"github.com/stele-dev/stele/importer/memsearch"
	"github.com/stele-dev/stele/importer/sections"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
	"github.com/stele-dev/stele/memory/export"
)

// importService is what imports ask of the domain.
type importService interface {
	importer.Door
}

// importFlags are those of every source.
type importFlags struct {
	dry   bool
	maps  []string
	since string
	only  []string
}

func (a *app) importCommand() *cobra.Command {
	c := &cobra.Command{Use: "import", Short: "Bring memories from other tools, or from an export", Args: cobra.NoArgs,
		Long: "Bring memories that another tool keeps. They are unreviewed until somebody\n" +
			"confirms them: ranked lower, in no count of what is documented, and one group\n" +
			"in the queue. Nothing is written to the source. What was imported before is\n" +
			"left alone, so an import that was interrupted goes on when it is run again.",
		Example: "  stele import memsearch . --dry-run", RunE: a.group}
	c.AddCommand(
		a.importSource(&cobra.Command{Use: "memsearch FOLDER", Short: "Import the day files of memsearch",
			Long:    "Import the days of memsearch: FOLDER is the project's, its .memsearch, or the\nfolder of the days. Each turn becomes the outcome of a session.",
			Example: "  stele import memsearch ."},
			func(_ context.Context, name string) (importer.Source, error) {
				return inFolder(name, func(root fs.FS) (importer.Source, error) { return memsearch.Read(root, time.Local) })
			}),
		a.importSource(&cobra.Command{Use: "claude-mem FILE", Short: "Import the database of claude-mem, or its export",
			Long: "Import observations and summaries of claude-mem: FILE is its database, which may\n" +
				"be in use, or a JSON file that it exported. Its projects are those of the same\n" +
				"name here, or what --map says.",
			Example: "  stele import claude-mem ~/.claude-mem/claude-mem.db --map shop-old=shop"}, claudemem.Read),
		a.importMarkdownCommand(),
		a.importSource(&cobra.Command{Use: "json FILE", Short: "Import what stele export json wrote",
			Long: "Import a JSON export of Stele; - reads standard input. Whoever has the role\n" +
				"reviewer gets the memories back as they were, with handles, history and status.",
			Example: "  stele import json memories.json"}, a.readExport))
	return c
}

func (a *app) importMarkdownCommand() *cobra.Command {
	var cutUp bool
	c := a.importSource(&cobra.Command{Use: "markdown PATH", Short: "Import what stele export markdown wrote, or sections of a file",
		Long: "Import a folder that stele export markdown wrote. With --sections, PATH is a\n" +
			"Markdown file, or a folder with CLAUDE.md, AGENTS.md or MEMORY.md, and each\n" +
			"section becomes a note.",
		Example: "  stele import markdown notes\n  stele import markdown AGENTS.md --sections"},
		func(_ context.Context, name string) (importer.Source, error) {
			if cutUp {
				return readSections(name)
			}
			return inFolder(name, func(root fs.FS) (importer.Source, error) {
				if !export.IsFolder(root) {
					return importer.Source{}, problem.Invalidf("path", "%s holds no export of Stele", name).Fix("name a folder that stele export markdown wrote").
						Fix("say --sections for files such as CLAUDE.md")
				}
				return exported.Markdown(root)
			})
		})
	c.Flags().BoolVar(&cutUp, "sections", false, "take the sections of CLAUDE.md, AGENTS.md, MEMORY.md or a named file as notes")
	return c
}

// importSource makes the command of one source.
func (a *app) importSource(c *cobra.Command, read func(ctx context.Context, name string) (importer.Source, error)) *cobra.Command {
	var flags importFlags
	c.Args = cobra.ExactArgs(1)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		return a.importFrom(cmd.Context(), args[0], flags, read)
	}
	f := c.Flags()
	f.BoolVar(&flags.dry, "dry-run", false, "only say what would be imported")
	f.StringArrayVar(&flags.maps, "map", nil, "NAME=PROJECT: where the records of a project of the source go, * for all others; repeatable")
	f.StringVar(&flags.since, "since", "", "only what is from then on: 30d, 12h, yesterday or a date")
	f.StringSliceVar(&flags.only, "only", nil, "only these kinds: pitfall, convention, note, session_outcome")
	a.completeFlag(c, "only", fixed("pitfall", "convention", "note", "session_outcome"))
	return c
}

func (a *app) importFrom(ctx context.Context, name string, flags importFlags, read func(context.Context, string) (importer.Source, error)) error {
	where, err := mapping(flags.maps)
	if err != nil {
		return err
	}
	kinds := make([]memory.Kind, len(flags.only))
	for i, k := range flags.only {
		if kinds[i] = memory.Kind(k); !slices.Contains(memory.Kinds, kinds[i]) {
			return problem.Invalidf("only", "%q is not a kind of memory", k).Fix("use pitfall, convention, note or session_outcome")
		}
	}
	var since time.Time
	if flags.since != "" {
		if since, err = sinceWhen(flags.since, time.Now()); err != nil {
			return err
		}
	}
	src, err := read(ctx, name)
	if err != nil {
		return err
	}
	if !since.IsZero() {
		src.Since(since)
	}
	if len(kinds) > 0 {
		src.Only(kinds)
	}
	b, err := a.open(ctx)
	if err != nil {
		return err
	}
	targets, err := b.importTargets(ctx, a.project, &src, where, !flags.dry)
	if err != nil {
		return err
	}
	show, clean := a.progress("importing", "record")
	report, failed := importer.Run(ctx, b, src, targets, flags.dry, show)
	clean()
	if failed != nil && a.json {
		return failed // as JSON there is one document, and it is the error
	}
	if err := a.answer(report, func(p *printer) { p.imported(report) }); err != nil {
		return err
	}
	if failed != nil && report.All() > 0 {
		_, _ = fmt.Fprintln(a.err, "stele: what is told above is stored; run the same import again for the rest")
	}
	return failed
}

// mapping reads NAME=PROJECT.
func mapping(pairs []string) (map[string]string, error) {
	out := map[string]string{}
	for _, pair := range pairs {
		n := strings.LastIndex(pair, "=")
		if n <= 0 || n == len(pair)-1 {
			return nil, problem.Invalidf("map", "%q does not say NAME=PROJECT", pair).Fix("write --map NAME=PROJECT, with the name in the source first")
		}
		out[pair[:n]] = pair[n+1:]
	}
	return out, nil
}

// importTargets says into which project each record goes: the one that --map names, the one of the same name, and where the source
// tells of no project the one of this place. Records of a project that is none here are left out.
func (b *backend) importTargets(ctx context.Context, named string, src *importer.Source, where map[string]string, writes bool) ([]importer.Target, error) {
	base := b.caller()
	projects, err := b.Projects(ctx, base)
	if err != nil {
		return nil, err
	}
	byID := map[uuid.UUID]*importer.Target{}
	var order []uuid.UUID
	add := func(p memory.ProjectInfo, r importer.Record) {
		t := byID[p.ID]
		if t == nil {
			t = &importer.Target{Caller: base, Name: p.Name}
			t.Caller.Project = p.ID
			byID[p.ID], order = t, append(order, p.ID)
		}
		t.Records = append(t.Records, r)
	}
	var here *memory.ProjectInfo
	current := func() (memory.ProjectInfo, error) {
		if here != nil {
			return *here, nil
		}
		c, err := b.Caller(ctx, named, writes)
		if err != nil {
			return memory.ProjectInfo{}, err
		}
		if c.Project == uuid.Nil {
			return memory.ProjectInfo{}, problem.New(problem.NotFound, "project", "nothing is stored about this place yet", "run stele init first, or name a project: --project")
		}
		p, err := b.FindProject(ctx, c, c.Project.String())
		here = &p
		return p, err
	}
	known := map[string]memory.ProjectInfo{}
	missing := map[string]int{}
	for _, r := range src.Records {
		name := r.Project
		p, ok := known[name]
		if !ok {
			var ref string
			if ref, ok = where[name]; !ok {
				if ref, ok = where[path.Base(name)]; !ok {
					ref, ok = where["*"]
				}
			}
			switch {
			case ok:
				if p, err = b.FindProject(ctx, base, ref); err != nil {
					return nil, err
				}
			case name == "" || src.Name == "stele":
				if p, err = current(); err != nil {
					return nil, err
				}
				ok = true
			default:
				p, ok = memory.MatchProject(projects, path.Base(name))
			}
			if !ok {
				missing[name]++
				continue
			}
			known[name] = p
		}
		add(p, r)
	}
	for _, name := range slices.Sorted(maps.Keys(missing)) {
		src.Leave(memory.Line(name), count(missing[name], "record"), "no project here has that name; say --map %s=PROJECT", quoteName(name))
	}
	targets := make([]importer.Target, 0, len(order))
	for _, id := range order {
		targets = append(targets, *byID[id])
	}
	return targets, nil
}

// inFolder reads a folder that cannot be left, by no name and no symbolic link.
func inFolder(name string, read func(fs.FS) (importer.Source, error)) (out importer.Source, err error) {
	root, err := os.OpenRoot(name)
	if err != nil {
		return out, problem.New(problem.NotFound, "path", fmt.Sprintf("the folder cannot be read: %v", err), "name a folder that is there").Because(err)
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	return read(root.FS())
}

func readSections(name string) (importer.Source, error) {
	info, err := os.Stat(name)
	if err != nil {
		return importer.Source{}, problem.New(problem.NotFound, "path", fmt.Sprintf("it cannot be read: %v", err), "name a Markdown file, or a folder with one of "+
			strings.Join(sections.Names, ", ")).Because(err)
	}
	if info.IsDir() {
		return inFolder(name, func(root fs.FS) (importer.Source, error) { return sections.Read(root, sections.Names...) })
	}
	return inFolder(filepath.Dir(name), func(root fs.FS) (importer.Source, error) { return sections.Read(root, filepath.Base(name)) })
}

// readExport reads a JSON export from a file, or from standard input.
func (a *app) readExport(_ context.Context, name string) (out importer.Source, err error) {
	if name == "-" {
		return exported.JSON(a.in, "standard input")
	}
	f, err := os.Open(name)
	if err != nil {
		return out, problem.New(problem.NotFound, "path", fmt.Sprintf("it cannot be read: %v", err), "name a file that stele export json wrote").Because(err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	start := make([]byte, 64)
	n, err := io.ReadFull(f, start)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return out, fmt.Errorf("reading %s: %w", name, err)
	}
	return exported.JSON(io.MultiReader(bytes.NewReader(start[:n]), f), filepath.Base(name))
}

// mostLines bounds what is told for people of one file, and of what was left out; JSON has all.
const mostLines = 5

// imported tells what an import did.
func (p *printer) imported(r importer.Report) {
	verb := "Imported "
	if r.DryRun {
		verb = "Would import "
	}
	p.line("%s%s%s", verb, countMemories(r.Taken), tally(r.Counts, len(r.Left)))
	for _, project := range r.Projects {
		if project.All() == 0 {
			continue
		}
		p.prose("", fmt.Sprintf("  %s: %d taken%s", memory.Line(project.Project), project.Taken, tally(project.Counts, 0)))
		if project.Taken == 0 {
			continue
		}
		p.hanging(indent+indent, indent+indent, amounts(project.Kinds))
		p.hanging(indent+indent, indent+indent, amounts(project.Elements))
	}
	for _, f := range r.Files {
		if f.All() == 0 {
			continue
		}
		p.prose("", fmt.Sprintf("  %s: %d taken%s", memory.Line(f.File), f.Taken, tally(f.Counts, 0)))
		for _, n := range f.Notes[:min(len(f.Notes), mostLines)] {
			p.hanging(indent+indent, indent+indent+indent, memory.Line(fmt.Sprintf("%s %s: %s", n.Result, n.Key, n.Text)))
		}
		if more := len(f.Notes) - mostLines + f.More; more > 0 {
			p.line("%sand %s; --json tells them", indent+indent, count(more, "more note"))
		}
	}
	for _, l := range r.Left[:min(len(r.Left), 4*mostLines)] {
		p.hanging("  left out: ", indent+indent, memory.Line(strings.TrimSpace(l.File+" "+l.What)+": "+l.Why))
	}
	if more := len(r.Left) - 4*mostLines; more > 0 {
		p.line("  left out: %d more; --json tells them", more)
	}
	for _, x := range r.Redacted {
		p.line("  redacted: %s", count(x.Count, memory.Line(x.Kind)))
	}
	if r.Taken > 0 && !r.DryRun && r.Source != "stele" {
		p.prose("", "They are unreviewed: stele review list shows them as one group.")
	}
}

// tally is what became of the others.
func tally(c importer.Counts, left int) string {
	var parts []string
	for _, n := range []struct {
		n    int
		what string
	}{{c.Merged, "merged"}, {c.Known, "known"}, {c.Refused, "refused"}, {left, "left out"}} {
		if n.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n.n, n.what))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

// amounts lists counts, the largest first.
func amounts[K ~string](of map[K]int) string {
	keys := slices.SortedFunc(maps.Keys(of), func(a, b K) int {
		if of[a] != of[b] {
			return of[b] - of[a]
		}
		return strings.Compare(string(a), string(b))
	})
	parts := make([]string, len(keys))
	for i, k := range keys {
		name := memory.Line(string(k))
		if name == "" {
			name = "without an element"
		}
		parts[i] = fmt.Sprintf("%s %d", name, of[k])
	}
	return strings.Join(parts, ", ")
}
