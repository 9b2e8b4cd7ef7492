package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

func (a *app) editCommand() *cobra.Command {
	var r memory.EditRequest
	var elements, paths, tags []string
	var expires, text string
	c := &cobra.Command{
		Use: "edit HANDLE", Short: "Change a memory's text in $EDITOR, or what is around it by flags", Args: cobra.ExactArgs(1),
		Long: "Change a memory. Its text is never overwritten: the new one supersedes the old\n" +
			"one, which keeps its place in the history. Flags change attachments, paths,\n" +
			"tags and expiry in place.",
		Example: `  stele edit m-7k3f9qa
  stele edit m-7k3f9qa --text "Stock is cached for two minutes."
  stele edit m-7k3f9qa --element shop.api --tag cache --expires 30d`,
		ValidArgsFunction: a.completeHandles,
		RunE: func(cmd *cobra.Command, args []string) error {
			r.Memory = args[0]
			changed := cmd.Flags().Changed
			around := changed("element") || changed("path") || changed("tag") || changed("expires")
			if around && changed("text") {
				return problem.Invalidf("text", "a new text makes a new memory, so nothing around the old one can change with it").
					Fix("give --text alone, then the other flags with the new handle")
			}
			return a.with(cmd.Context(), true, func(b *backend, c memory.Caller) error {
				if !around {
					return a.editText(cmd.Context(), b, c, args[0], text, changed("text"))
				}
				for n, path := range paths {
					paths[n] = b.place.relative(path)
				}
				for _, set := range []struct {
					flag string
					do   func()
				}{
					{"element", func() { r.Elements = &elements }}, {"path", func() { r.Paths = &paths }},
					{"tag", func() { r.Tags = &tags }}, {"expires", func() { r.Expires = &expires }},
				} {
					if changed(set.flag) {
						set.do()
					}
				}
				m, err := b.Edit(cmd.Context(), c, r)
				if err != nil {
					return err
				}
				return a.answer(map[string]any{"memory": m}, func(p *printer) { p.memory(m) })
			})
		},
	}
	f := c.Flags()
	f.StringVar(&text, "text", "", "the new text, without an editor; - reads standard input")
	f.StringArrayVar(&elements, "element", nil, "attach to these instead; repeatable")
	f.StringArrayVar(&paths, "path", nil, "be about these paths instead; repeatable")
	f.StringArrayVar(&tags, "tag", nil, "have these tags instead; repeatable")
	f.StringVar(&expires, "expires", "", "3d, 12h, 2w or a date; empty for never")
	f.IntVar(&r.Revision, "revision", 0, "refuse when the memory has changed since this revision")
	a.completeFlag(c, "element", a.completeElements)
	return c
}

// editText replaces a memory's text by one that supersedes it.
func (a *app) editText(ctx context.Context, b *backend, c memory.Caller, ref, text string, given bool) error {
	ms, err := b.Get(ctx, c, []string{ref})
	if err != nil {
		return err
	}
	old := ms[0]
	draft := editable{title: old.Title, why: old.Why, content: old.Content}
	switch {
	case given:
		if draft.content, err = a.text([]string{text}); err != nil {
			return err
		}
	case !a.interactive:
		return problem.Invalidf("text", "there is no terminal to open an editor in").Fix("give --text TEXT, or --text - for standard input")
	default:
		if draft, err = a.openEditor(ctx, draft); err != nil {
			return err
		}
	}
	if strings.TrimSpace(draft.content) == strings.TrimSpace(old.Content) && draft.title == old.Title && draft.why == old.Why {
		return a.answer(memory.RememberResponse{Memory: old, SimilarTo: []memory.Similar{}, Redacted: []memory.Redaction{}, Warnings: []string{"nothing was changed"}},
			func(p *printer) { p.line("Nothing was changed") })
	}
	request := memory.RememberRequest{
		Kind: old.Kind, Title: draft.title, Content: draft.content, Why: draft.why, Scope: old.Scope, Paths: old.Paths, Tags: old.Tags,
		Supersedes: old.Handle, Seen: b.place.look(ctx),
	}
	if old.ExpiresAt != nil {
		request.Expires = old.ExpiresAt.UTC().Format("2006-01-02T15:04:05Z07:00")
	}
	answer, err := b.Remember(ctx, c, request)
	if err != nil {
		return err
	}
	return a.answer(answer, func(p *printer) {
		p.remembered(answer)
		p.line("%sit supersedes %s", indent, old.Handle)
	})
}

// editable is what an editor shows of a memory.
type editable struct{ title, why, content string }

const editorHelp = "# Lines that begin with # here are left out; everything below the line of dashes is the text."

func (e editable) String() string {
	return fmt.Sprintf("%s\ntitle: %s\nwhy: %s\n---\n%s\n", editorHelp, e.title, strings.Join(strings.Fields(e.why), " "), e.content)
}

// parseEditable reads back what String wrote and somebody changed.
func parseEditable(text string) (editable, error) {
	var e editable
	head, content, ok := strings.Cut("\n"+strings.ReplaceAll(text, "\r\n", "\n"), "\n---\n")
	if !ok {
		return e, problem.Invalidf("", "the line of dashes is gone, so title and text cannot be told apart").Fix("edit again and keep it")
	}
	for l := range strings.Lines(head) {
		l = strings.TrimSpace(l)
		key, value, _ := strings.Cut(l, ":")
		switch {
		case l == "" || strings.HasPrefix(l, "#"):
		case key == "title":
			e.title = strings.TrimSpace(value)
		case key == "why":
			e.why = strings.TrimSpace(value)
		default:
			return e, problem.Invalidf("", "%q stands above the line of dashes and is neither title nor why", short(l, 40)).Fix("move it below the dashes")
		}
	}
	e.content = strings.TrimSpace(content)
	return e, nil
}

// openEditor lets a person change a memory. The file is private and gone afterwards.
func (a *app) openEditor(ctx context.Context, e editable) (_ editable, err error) {
	editor := a.environment.Variables["VISUAL"]
	if editor == "" {
		editor = a.environment.Variables["EDITOR"]
	}
	if editor == "" {
		return e, problem.Invalidf("EDITOR", "no editor is set").Fix("set EDITOR, or give --text TEXT")
	}
	f, err := os.CreateTemp("", "stele-*.md") // mode 0600
	if err != nil {
		return e, fmt.Errorf("making a file to edit: %w", err)
	}
	defer func() { err = errors.Join(err, os.Remove(f.Name())) }()
	_, werr := f.WriteString(e.String())
	if err := errors.Join(werr, f.Close()); err != nil {
		return e, fmt.Errorf("writing the file to edit: %w", err)
	}
	// EDITOR may hold arguments ("code --wait"), so a shell reads it, as git does.
	cmd := exec.CommandContext(ctx, "sh", "-c", editor+` "$1"`, "sh", f.Name())
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return e, problem.New(problem.Unavailable, "EDITOR", fmt.Sprintf("%s ended with an error, so nothing was changed (%v)", editor, err),
			"set EDITOR to a program that waits until the file is closed").Because(err)
	}
	text, err := os.ReadFile(f.Name())
	if err != nil {
		return e, fmt.Errorf("reading the edited file: %w", err)
	}
	return parseEditable(string(text))
}
