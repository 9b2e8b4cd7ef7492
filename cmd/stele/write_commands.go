package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

// with opens the domain and says who calls, also from which work session, whose sign of life that is; run does the rest.
func (a *app) with(ctx context.Context, writes bool, run func(b *backend, c memory.Caller) error) error {
	b, err := a.open(ctx)
	if err != nil {
		return err
	}
	c, err := b.Caller(ctx, a.project, writes)
	if err != nil {
		return err
	}
	c.Session = b.config.Session
	if c, err = b.Arrive(ctx, c); err != nil {
		return err
	}
	return run(b, c)
}

// maxInput bounds what is read from standard input, in bytes: more than any memory may hold, so that one that is too long
// is refused by the rule that says so.
const maxInput = 4 * memory.MaxContentBytes

func (a *app) rememberCommand() *cobra.Command {
	var r memory.RememberRequest
	var kind string
	var org, personal bool
	c := &cobra.Command{
		Use: "remember TEXT", Short: "Store one fact, or confirm the memory it restates", Args: cobra.MinimumNArgs(1),
		Long: "Store one fact. Attach it to elements of the model, or to paths, which find\n" +
			"their element by the bindings. A text that restates a memory confirms it\n" +
			"instead. - reads standard input.",
		Example: `  stele remember --kind pitfall --element shop.api "Stock is cached 60 s."
  stele remember --kind convention --path 'api/**' --why "clients retry" -`,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if r.Content, err = a.text(args); err != nil {
				return err
			}
			r.Kind = memory.Kind(kind)
			switch {
			case org && personal:
				return problem.Invalidf("scope", "a memory is either personal or the organization's").Fix("give one of --org and --personal")
			case org:
				r.Scope = memory.Organization
			case personal:
				r.Scope = memory.Personal
			}
			return a.with(cmd.Context(), true, func(b *backend, c memory.Caller) error {
				for n, path := range r.Paths {
					r.Paths[n] = b.place.relative(path)
				}
				r.Seen = b.place.look(cmd.Context())
				answer, err := b.Remember(cmd.Context(), c, r)
				if err != nil {
					return err
				}
				return a.answer(answer, func(p *printer) { p.remembered(answer) })
			})
		},
	}
	f := c.Flags()
	f.StringVar(&kind, "kind", "", "pitfall, convention or note (default note)")
	f.StringArrayVar(&r.Elements, "element", nil, "key or name of an element it is about; repeatable")
	f.StringArrayVar(&r.Paths, "path", nil, "file or glob it is about; repeatable")
	f.StringArrayVar(&r.Tags, "tag", nil, "tag; repeatable")
	f.StringVar(&r.Title, "title", "", "name by which [[links]] find it")
	f.StringVar(&r.Why, "why", "", "the reason it holds")
	f.StringVar(&r.Expires, "expires", "", "3d, 12h, 2w or a date")
	f.StringVar(&r.Supersedes, "supersedes", "", "handle or title of the memory it replaces")
	f.BoolVar(&r.Separate, "separate", false, "store it even if it restates a memory")
	f.BoolVar(&org, "org", false, "for every project of the organization")
	f.BoolVar(&personal, "personal", false, "for you alone, in every project")
	a.completeFlag(c, "element", a.completeElements)
	a.completeFlag(c, "kind", fixed("pitfall", "convention", "note"))
	return c
}

func (a *app) confirmCommand() *cobra.Command {
	var denied bool
	var note string
	var revision int
	c := &cobra.Command{
		Use: "confirm HANDLE...", Short: "Say that memories still hold, or with --false that they do not", Args: cobra.MinimumNArgs(1),
		Example: `  stele confirm m-7k3f9qa
  stele confirm m-7k3f9qa --false --note "the limit is 16 KB since June"`,
		ValidArgsFunction: a.completeHandles,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.each(cmd, args, func(b *backend, c memory.Caller, ref string) (memory.Memory, []string, error) {
				m, err := b.Confirm(cmd.Context(), c, memory.ConfirmRequest{
					Memory: ref, Holds: !denied, Note: note, Revision: revision, Seen: b.place.look(cmd.Context()),
				})
				return m, nil, err
			}, func(p *printer, m memory.Memory) {
				if denied {
					p.line("Marked %s as disputed; it ranks lower until someone confirms or replaces it", m.Handle)
					return
				}
				p.line("Confirmed %s (%s)", m.Handle, count(m.Confirmations, "confirmation"))
			})
		},
	}
	c.Flags().BoolVar(&denied, "false", false, "it does not hold")
	c.Flags().StringVar(&note, "note", "", "why")
	c.Flags().IntVar(&revision, "revision", 0, "refuse when the memory has changed since this revision")
	return c
}

func (a *app) forgetCommand() *cobra.Command {
	var erase, yes, dry, everywhere bool
	var reason, author, since string
	c := &cobra.Command{
		Use: "forget HANDLE... | --author A --since T", Short: "Take memories out of recall; with --erase destroy their text",
		Long: "Take memories out of recall. stele restore takes them back. With --erase,\n" +
			"content, vector, words and history are destroyed for good; what is left says\n" +
			"that there was a memory.\n\n" +
			"With --author and --since, take back what one author did since then: what they\n" +
			"wrote is retired, what they retired or superseded comes back, and the rest is\n" +
			"listed. What would be done is shown first. It needs the role reviewer.",
		Example: `  stele forget m-7k3f9qa --reason "that gateway is gone"
  stele forget m-7k3f9qa --erase --yes
  stele forget --author some-agent/sam --since 2d --dry-run`,
		ValidArgsFunction: a.completeHandles,
		Args: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("author") || cmd.Flags().Changed("since") {
				return cobra.NoArgs(cmd, args)
			}
			return cobra.MinimumNArgs(1)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				if erase {
					return problem.Invalidf("erase", "an author's work is taken back, never destroyed").Fix("leave --erase out")
				}
				return a.undo(cmd.Context(), author, since, reason, everywhere, dry, yes)
			}
			if dry {
				return problem.Invalidf("dry-run", "it belongs to --author and --since").Fix("leave it out; stele get shows what a handle names")
			}
			if erase && !yes {
				agreed, err := a.ask("Destroy the text of " + count(len(args), "memory") + " for good?")
				if err != nil {
					return err
				}
				if !agreed {
					return problem.New(problem.Invalid, "", "nothing was erased", "say --erase --yes to destroy the text without being asked")
				}
			}
			return a.each(cmd, args, func(b *backend, c memory.Caller, ref string) (memory.Memory, []string, error) {
				r, err := b.Forget(cmd.Context(), c, memory.ForgetRequest{Memory: ref, Erase: erase, Reason: reason})
				return r.Memory, r.Warnings, err
			}, func(p *printer, m memory.Memory) {
				if erase {
					p.line("Erased %s", m.Handle)
					return
				}
				p.line("Retired %s; stele restore %s takes it back", m.Handle, m.Handle)
			})
		},
	}
	f := c.Flags()
	f.BoolVar(&erase, "erase", false, "destroy the text for good")
	f.BoolVar(&yes, "yes", false, "do not ask")
	f.StringVar(&reason, "reason", "", "why, for the history")
	f.StringVar(&author, "author", "", "whose work to take back: user, or agent/user")
	f.StringVar(&since, "since", "", "from when on: today, yesterday, 3d, 12h or a date")
	f.BoolVar(&everywhere, "everywhere", false, "with --author: in every project")
	f.BoolVar(&dry, "dry-run", false, "with --author: only say what would be done")
	return c
}

func (a *app) restoreCommand() *cobra.Command {
	return &cobra.Command{
		Use: "restore HANDLE...", Short: "Take forgotten memories back", Args: cobra.MinimumNArgs(1),
		Example: "  stele restore m-7k3f9qa",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.each(cmd, args, func(b *backend, c memory.Caller, ref string) (memory.Memory, []string, error) {
				m, err := b.Restore(cmd.Context(), c, ref)
				return m, nil, err
			}, func(p *printer, m memory.Memory) { p.line("Restored %s", m.Handle) })
		},
	}
}

// each does one thing to every memory that was named, and stops at the first that cannot be done. One memory answers with
// the shape of MCP and REST, {"memory"}; several with {"memories"}.
func (a *app) each(cmd *cobra.Command, refs []string,
	do func(b *backend, c memory.Caller, ref string) (memory.Memory, []string, error), say func(p *printer, m memory.Memory),
) error {
	return a.with(cmd.Context(), true, func(b *backend, c memory.Caller) error {
		done, warnings := make([]memory.Memory, 0, len(refs)), []string{}
		var failed error
		for _, ref := range refs {
			m, ws, err := do(b, c, ref)
			if err != nil {
				failed = err
				break
			}
			done, warnings = append(done, m), append(warnings, ws...)
		}
		// What was done is told also when a later one failed; as JSON there is one document, and it is the error.
		if !a.json || failed == nil {
			var shape any = map[string]any{"memories": done, "warnings": warnings}
			if len(refs) == 1 && failed == nil {
				shape = map[string]any{"memory": done[0], "warnings": warnings}
			}
			err := a.answer(shape, func(p *printer) {
				for _, m := range done {
					say(p, m)
				}
				p.warnings(warnings)
			})
			if failed == nil {
				return err
			}
		}
		return failed
	})
}
