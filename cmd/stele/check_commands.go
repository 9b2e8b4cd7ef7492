package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stele-dev/stele/drift/evidence"
	"github.com/stele-dev/stele/internal/git"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

func (a *app) checkCommand() *cobra.Command {
	var ref string
	c := &cobra.Command{
		Use: "check [FILE]...", Short: "Find statements of documents that the code no longer supports",
		Long: "Read documents (CLAUDE.md, AGENTS.md, README.md, docs and the like, unless files\n" +
			"are named) and find the statements whose names the code had when they were\n" +
			"last edited and has no more, with the commit that took them. What is committed\n" +
			"is read; neither a server nor a database nor a model is needed.\n" +
			"Exit code 0 when everything holds, 1 when something does not, 2 when it could\n" +
			"not be told.",
		Example: "  stele check\n  stele check CLAUDE.md docs/guide --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			dir, err := a.folder()
			if err != nil {
				return err
			}
			repo, err := git.Open(ctx, dir)
			if err != nil {
				return err
			}
			names, err := fromTop(repo.Root(), dir, args)
			if err != nil {
				return err
			}
			report, err := evidence.Check(ctx, repo, ref, names)
			if p, ok := problem.As(err); ok && p.Code == problem.NotFound {
				// The exit code of what is not found is that of an answer, and nothing was answered.
				return problem.New(problem.Invalid, p.Field, p.Detail, p.Fixes...).Because(err)
			}
			if err != nil {
				return err
			}
			if err := a.answer(report, func(p *printer) { p.check(report) }); err != nil {
				return err
			}
			if len(report.Alerts) > 0 {
				return errNo
			}
			return nil
		},
	}
	c.Flags().StringVar(&ref, "ref", "", "commit, branch or tag to check (default HEAD)")
	return c
}

// fromTop gives names of files, as they are called in a folder, as they are called at the top of the repository.
func fromTop(top, dir string, names []string) ([]string, error) {
	if top == "" {
		return names, nil
	}
	out := make([]string, 0, len(names))
	for _, name := range names {
		path := name
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		inside, err := filepath.Rel(top, path)
		if err != nil || !filepath.IsLocal(inside) {
			return nil, problem.Invalidf("file", "%s is outside the repository %s", name, top).Fix("name files of the repository")
		}
		out = append(out, filepath.ToSlash(inside))
	}
	return out, nil
}

// check writes what was found in documents.
func (p *printer) check(r *evidence.Report) {
	for _, alert := range r.Alerts {
		p.line("%s", p.paint(strong, memory.Line(fmt.Sprintf("%s:%d", alert.File, alert.Line))))
		p.hanging(indent, indent, memory.Line(alert.Statement))
		for _, c := range alert.Claims {
			p.hanging(indent, indent+indent, p.paint(alarm, strings.ToUpper(string(c.State)))+": "+memory.Line(c.String()))
		}
		p.line("")
	}
	for _, s := range r.Skipped {
		p.hanging("", indent, "Not read: "+memory.Line(s))
	}
	var statements, claims, held, lost int
	for _, f := range r.Files {
		statements, claims, held, lost = statements+f.Statements, claims+f.Claims, held+f.Held, lost+f.Lost
	}
	p.hanging("", "", fmt.Sprintf("%s, %s, %s quoted from code: %d there, %d gone, %d not of this code.",
		count(len(r.Files), "document"), count(statements, "statement"), count(claims, "name"), held, lost, claims-held-lost))
	if r.Shallow {
		p.hanging("", "", "This clone is shallow: what was gone before its first commit is not known. Run: git fetch --unshallow")
	}
}
