package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/stele-dev/stele/drift/since"
	"github.com/stele-dev/stele/internal/git"
	"github.com/stele-dev/stele/memory"
)

func (a *app) changesCommand() *cobra.Command {
	return &cobra.Command{
		Use: "changes HANDLE", Short: "Show what the code of a memory said when it was written", Args: cobra.ExactArgs(1),
		Long: "Show what happened to the code that a memory is about since it was written or\n" +
			"last confirmed: commits, and the lines before and after. It reads the repository\n" +
			"that you are in; the server keeps no code.",
		Example: "  stele changes m-7k3f9qa", ValidArgsFunction: a.completeHandles,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			return a.with(ctx, false, func(b *backend, c memory.Caller) error {
				span, err := b.CodeSpan(ctx, c, args[0])
				if err != nil {
					return err
				}
				repo, err := git.Open(ctx, b.place.root())
				if err != nil {
					return err
				}
				span.To = "" // what is here
				changes, err := compareSpan(ctx, repo, span)
				if err != nil {
					return err
				}
				return a.answer(changesAnswer(span, changes), func(p *printer) { p.codeChanges(changes) })
			})
		},
	}
}

// changedFile is a file in the answer of changes.
type changedFile struct {
	Path  string      `json:"path"`
	Was   string      `json:"was,omitempty"`
	State since.State `json:"state"`
	Lines []string    `json:"lines"` // with ' ', '+', '-' or '@' before them
	More  int         `json:"more_lines,omitempty"`
	Note  string      `json:"note,omitempty"`
}

func changesAnswer(span memory.CodeSpan, c since.Changes) any {
	type commit struct {
		ID      string `json:"commit"`
		Subject string `json:"subject"`
		Author  string `json:"author"`
		Time    string `json:"time"`
	}
	out := struct {
		Handle  string        `json:"handle"`
		From    string        `json:"from"`
		To      string        `json:"to"`
		Commits []commit      `json:"commits"`
		Files   []changedFile `json:"files"`
		More    int           `json:"more_files"`
	}{Handle: span.Handle, From: c.From.ID, To: c.To.ID, Commits: []commit{}, Files: []changedFile{}, More: c.More}
	for _, m := range c.Commits {
		out.Commits = append(out.Commits, commit{m.ID, m.Subject, m.Author, m.Time.UTC().Format("2006-01-02T15:04:05Z")})
	}
	for _, f := range c.Files {
		lines := make([]string, len(f.Lines))
		for i, l := range f.Lines {
			lines[i] = string(rune(l.Sign)) + l.Text
		}
		out.Files = append(out.Files, changedFile{f.Path, f.Was, f.State, lines, f.More, f.Note})
	}
	return out
}

// codeChanges prints what happened to code.
func (p *printer) codeChanges(c since.Changes) {
	p.prose("", fmt.Sprintf("From %s of %s to %s of %s", c.From.ID[:10], c.From.Time.Format("2006-01-02"), c.To.ID[:10], c.To.Time.Format("2006-01-02")))
	for _, m := range c.Commits {
		p.prose("  ", fmt.Sprintf("%s %s (%s, %s)", m.ID[:10], memory.Line(m.Subject), memory.Line(m.Author), m.Time.Format("2006-01-02")))
	}
	if len(c.Files) == 0 {
		p.line("Nothing of its files changed")
	}
	for _, f := range c.Files {
		was := ""
		if f.Was != "" {
			was = ", was " + memory.Line(f.Was)
		}
		p.line("")
		p.line("%s (%s%s)", memory.Line(f.Path), f.State, was)
		if f.Note != "" {
			p.line("  %s", f.Note)
		}
		for _, l := range f.Lines {
			p.line("  %c %s", l.Sign, memory.Plain(l.Text))
		}
		if f.More > 0 {
			p.line("  … and %s", count(f.More, "more line"))
		}
	}
	if c.More > 0 {
		p.line("and %s", count(c.More, "more file"))
	}
}
