package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stele-dev/stele/drift"
	"github.com/stele-dev/stele/drift/draft"
	"github.com/stele-dev/stele/internal/config"
	"github.com/stele-dev/stele/internal/git"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

// modelDrafted is what scripts get: the draft, and where it was written.
type modelDrafted struct {
	*draft.Draft

	File string `json:"file,omitempty"`
}

func (a *app) modelDraftCommand() *cobra.Command {
	var repo, ref, file string
	var force bool
	c := &cobra.Command{
		Use: "draft", Short: "Propose a model for a repository that has none", Args: cobra.NoArgs,
		Long: "Propose a C4 model in Structurizr DSL, from modules, programs, compose services,\n" +
			"packages, imports and their own documentation: without a language model, a\n" +
			"server or a database, and the same for every clone. Containers are what is\n" +
			"built or run by itself, components their largest packages, and every element is\n" +
			"bound to its files. The proposal is printed, and imported by nobody but you.",
		Example: "  stele model draft\n  stele model draft --write docs/architecture/workspace.dsl",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("write") && file == "" {
				return problem.Invalidf("write", "the name of the file is empty").Fix("name it, such as docs/architecture/workspace.dsl")
			}
			return a.modelDraft(cmd.Context(), repo, ref, file, force)
		},
	}
	f := c.Flags()
	f.StringVar(&repo, "repo", ".", "folder of the project in its repository")
	f.StringVar(&ref, "ref", "", "commit to draft a model of (default: HEAD)")
	f.StringVar(&file, "write", "", "write the model to a new file instead of printing it")
	f.BoolVar(&force, "force", false, "let --write replace a file")
	return c
}

func (a *app) modelDraft(ctx context.Context, folder, ref, file string, force bool) error {
	dir, err := a.resolve(folder)
	if err != nil {
		return err
	}
	if file != "" {
		if file, err = a.resolve(file); err != nil {
			return err
		}
		if _, err := os.Lstat(file); err == nil && !force {
			return problem.New(problem.Conflict, "write", "the file "+file+" is there already", "name another file", "replace it: --force")
		}
	}
	repo, err := git.Open(ctx, dir)
	if err != nil {
		return err
	}
	root, err := projectRoot(repo.Root(), dir)
	if err != nil {
		return err
	}
	facts := openFacts(a.cacheDir, cmp.Or(repo.Root(), dir))
	made, err := draft.Propose(ctx, draft.Options{Repository: repo, Root: root, Ref: ref, Name: repositoryName(ctx, repo, dir), Cache: facts})
	if err != nil {
		return unevaluable(err)
	}
	_ = facts.save() // it only makes the next run faster
	out := modelDrafted{Draft: made, File: file}
	if file == "" {
		return a.printDraft(out)
	}
	if err := writeNew(file, made.DSL, force); err != nil {
		return err
	}
	return a.answer(out, func(p *printer) {
		p.line("Wrote %s", memory.Line(file))
		p.draft(out)
		p.line("Read it, correct it, commit it. Next: stele drift run")
	})
}

// printDraft writes the model where it can be piped, and about it where it cannot be mistaken for it.
func (a *app) printDraft(out modelDrafted) error {
	if a.json {
		return a.printJSON(out)
	}
	if _, err := a.out.WriteString(out.DSL); err != nil {
		return fmt.Errorf("writing the model: %w", err)
	}
	if err := a.out.Flush(); err != nil {
		return fmt.Errorf("writing the model: %w", err)
	}
	p := &printer{w: bufio.NewWriter(a.err), width: a.width}
	p.draft(out)
	p.line("Keep it: stele model draft --write docs/architecture/workspace.dsl")
	if err := p.w.Flush(); err != nil {
		return fmt.Errorf("writing about the model: %w", err)
	}
	return nil
}

// draft says in a few lines what a proposal holds and how it compares with the code.
func (p *printer) draft(d modelDrafted) {
	components, external := 0, 0
	for _, c := range d.Containers {
		components += len(c.Components)
		if c.External {
			external++
		}
	}
	parts := []string{count(len(d.Containers)-external, "container"), count(components, "component"), count(d.Relationships, "relationship")}
	if external > 0 {
		parts = append(parts, fmt.Sprintf("%d from elsewhere", external))
	}
	files := d.Report.Files
	p.hanging("", indent, fmt.Sprintf("%s: %s; %d of %s owned", memory.Line(d.System), strings.Join(parts, ", "), files.Owned, count(files.Source, "source file")))
	if d.Report.Score == nil {
		p.hanging("", indent, "Not compared with the code: "+d.Report.Reason)
	} else {
		p.hanging("", indent, scoreText(d.Report))
	}
	if len(d.Ignore) > 0 {
		p.line("No element owns some folders. If that is right, say so in %s:", config.RepositoryFile)
		p.line("ignore:")
		for _, glob := range d.Ignore {
			p.line("  - %q", glob)
		}
	}
}

func scoreText(r *drift.Report) string {
	text := fmt.Sprintf("Score %d of 100", *r.Score)
	if len(r.Findings) == 0 {
		return text + ": the code matches the model"
	}
	return text + "; " + count(len(r.Findings), "finding") + ", such as: " + memory.Line(r.Findings[0].Message)
}

// repositoryName is what the repository is called where it comes from, else the folder it lies in.
func repositoryName(ctx context.Context, repo *git.Repository, dir string) string {
	for _, remote := range repo.Remotes(ctx) {
		if name := strings.TrimSuffix(path.Base(filepath.ToSlash(strings.TrimRight(remote, "/"))), ".git"); name != "" && name != "." && name != "/" {
			return name
		}
	}
	return strings.TrimSuffix(filepath.Base(cmp.Or(repo.Root(), dir)), ".git")
}

// writeNew makes a file with the folders above it. Another that is there meanwhile stays, unless it may be replaced.
func writeNew(file, text string, replace bool) error {
	refused := func(err error) error {
		return problem.New(problem.Unavailable, "write", "the file cannot be written: "+err.Error(), "name another file").Because(err)
	}
	const folderMode, mode = 0o755, 0o644 // it is made to be read by other programs
	if err := os.MkdirAll(filepath.Dir(file), folderMode); err != nil {
		return refused(err)
	}
	flags := os.O_WRONLY | os.O_CREATE | os.O_EXCL
	if replace {
		flags = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	}
	f, err := os.OpenFile(file, flags, mode)
	if errors.Is(err, fs.ErrExist) {
		return problem.New(problem.Conflict, "write", "the file "+file+" is there already", "name another file", "replace it: --force").Because(err)
	}
	if err != nil {
		return refused(err)
	}
	if _, err := f.WriteString(text); err != nil {
		_ = f.Close() // the first fault says more
		return refused(err)
	}
	if err := f.Close(); err != nil {
		return refused(err)
	}
	return nil
}
