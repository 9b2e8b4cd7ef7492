package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
	"github.com/stele-dev/stele/session"
)

func (a *app) sessionCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "session", Short: "Say what you work on, see who works where, keep what came of it",
		Long: "A work session is a piece of work on elements of the model: it tells others that\n" +
			"somebody works there, begins with a briefing of what is known, and ends with an\n" +
			"outcome that the elements remember. Where a command takes an ID, STELE_SESSION\n" +
			"stands in for it, and every command with STELE_SESSION set shows that the\n" +
			"session lives. Without a sign of life for 30 minutes it expires.",
		Example: `  stele session start --task "retry failed payments" --element shop.api
  stele session list
  stele session finish ws-4f2k7qa --summary "payments are retried"`,
		RunE: a.group,
	}
	c.AddCommand(a.sessionStart(), a.sessionHeartbeat(), a.sessionFinish(), a.sessionCancel(), a.sessionList(), a.sessionShow())
	return c
}

func (a *app) sessionStart() *cobra.Command {
	var r session.StartRequest
	var maxTokens int
	c := &cobra.Command{
		Use: "start", Short: "Begin a work session, with a briefing of what is known", Args: cobra.NoArgs,
		Long: "Begin a work session, or go on with the one that is open. Who else works on the\n" +
			"same elements, above or below them, is told. --exclusive begins only where\n" +
			"nobody works: else nothing is started and the exit code is 1.",
		Example: `  stele session start --task "retry failed payments" --element shop.api
  stele session start --task "split the api" --path api/pay.go --exclusive`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("max-tokens") {
				r.MaxTokens = &maxTokens
			}
			return a.with(cmd.Context(), true, func(b *backend, c memory.Caller) error {
				b.place.relatives(r.Paths)
				r.Worktree, r.Seen = b.place.worktree(), b.place.look(cmd.Context())
				out, err := b.StartSession(cmd.Context(), c, r)
				if err != nil {
					return err
				}
				if err := a.answer(out, func(p *printer) { p.sessionStarted(out) }); err != nil {
					return err
				}
				if out.Gate.Verdict == session.Deny {
					return errNo
				}
				return nil
			})
		},
	}
	f := c.Flags()
	f.StringVar(&r.Task, "task", "", "what is to be done, in a sentence")
	f.StringVar(&r.AgentName, "agent", "", "what the agent calls itself")
	f.StringArrayVar(&r.Elements, "element", nil, "key or name of an element to work on; repeatable")
	f.StringArrayVar(&r.Paths, "path", nil, "file whose elements to work on; repeatable")
	f.BoolVar(&r.Exclusive, "exclusive", false, "nobody else may work there meanwhile")
	f.StringVar(&r.Continues, "continues", "", "session to go on with, when it is still open")
	f.IntVar(&maxTokens, "max-tokens", session.DefaultBriefingTokens, "budget of the briefing; 0 gives none")
	a.completeFlag(c, "element", a.completeElements)
	return c
}

func (a *app) sessionHeartbeat() *cobra.Command {
	var r session.HeartbeatRequest
	c := &cobra.Command{
		Use: "heartbeat [ID]", Short: "Show that a work session lives, and keep how far it is", Args: cobra.MaximumNArgs(1),
		Long: "Show that a work session lives. What is said here is kept: when the session\n" +
			"never finishes, it becomes an outcome marked partial. What is left out stays as\n" +
			"it was said before.",
		Example:           `  stele session heartbeat --summary "written, not tested" --edited api/pay.go`,
		ValidArgsFunction: a.completeSessions,
		RunE: func(cmd *cobra.Command, args []string) error {
			r.Session = optional(args)
			return a.with(cmd.Context(), true, func(b *backend, c memory.Caller) error {
				b.place.relatives(r.Paths)
				b.place.relatives(r.Edited)
				out, err := b.HeartbeatSession(cmd.Context(), c, r)
				if err != nil {
					return err
				}
				return a.answer(out, func(p *printer) {
					p.session(out.Summary)
					p.warnings(out.Warnings)
				})
			})
		},
	}
	f := c.Flags()
	f.StringVar(&r.Summary, "summary", "", "the work so far")
	f.StringArrayVar(&r.Decisions, "decision", nil, "what was decided; repeatable")
	f.StringArrayVar(&r.FollowUps, "follow-up", nil, "what is left to do; repeatable")
	f.StringArrayVar(&r.Elements, "element", nil, "element it works on too; repeatable")
	f.StringArrayVar(&r.Paths, "path", nil, "file whose elements it works on too; repeatable")
	f.StringArrayVar(&r.Edited, "edited", nil, "file that it edited; repeatable")
	a.completeFlag(c, "element", a.completeElements)
	return c
}

func (a *app) sessionFinish() *cobra.Command {
	var r session.FinishRequest
	var outcome string
	var none bool
	c := &cobra.Command{
		Use: "finish [ID]", Short: "End a work session with what came of it", Args: cobra.MaximumNArgs(1),
		Long: "End a work session. Its outcome is remembered by every element it worked on,\n" +
			"follow-ups stand in the next briefing until a session --closes them, and what\n" +
			"it relied on ranks higher from now on. --used-none says that it relied on\n" +
			"nothing it was shown; without --used and --used-none nothing is said about that.",
		Example: `  stele session finish --summary "payments are retried" --used m-7k3f5qa \
    --decision "back off by a minute each" --follow-up "alert when all fail"`,
		ValidArgsFunction: a.completeSessions,
		RunE: func(cmd *cobra.Command, args []string) error {
			r.Session, r.Outcome = optional(args), session.Outcome(outcome)
			if none {
				if len(r.UsedMemories) > 0 {
					return problem.Invalidf("used-none", "memories are named as used").Fix("give one of --used and --used-none")
				}
				r.UsedMemories = []string{}
			}
			return a.with(cmd.Context(), true, func(b *backend, c memory.Caller) error {
				r.Seen = b.place.look(cmd.Context())
				out, err := b.FinishSession(cmd.Context(), c, r)
				if err != nil {
					return err
				}
				return a.answer(out, func(p *printer) { p.sessionEnded(out) })
			})
		},
	}
	f := c.Flags()
	f.StringVar(&r.Summary, "summary", "", "what was done")
	f.StringArrayVar(&r.UsedMemories, "used", nil, "handle or title of a memory it relied on; repeatable")
	f.BoolVar(&none, "used-none", false, "it relied on no memory")
	f.StringArrayVar(&r.Decisions, "decision", nil, "what was decided; repeatable")
	f.StringArrayVar(&r.FollowUps, "follow-up", nil, "what is left to do; repeatable")
	f.StringArrayVar(&r.Closes, "closes", nil, "follow-up that is done: its words, or the handle of the outcome\nthat left it; repeatable")
	f.StringVar(&outcome, "outcome", "", "done, partial or failed (default done)")
	a.completeFlag(c, "outcome", fixed(string(session.Done), string(session.Incomplete), string(session.Failed)))
	a.completeFlag(c, "used", a.completeHandles)
	return c
}

func (a *app) sessionCancel() *cobra.Command {
	return &cobra.Command{
		Use: "cancel [ID]", Short: "End a work session without a trace of what it did", Args: cobra.MaximumNArgs(1),
		Long:              "End a work session without an outcome and without follow-ups. Another user's\nneeds the role reviewer.",
		Example:           "  stele session cancel ws-4f2k7qa",
		ValidArgsFunction: a.completeSessions,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.with(cmd.Context(), true, func(b *backend, c memory.Caller) error {
				out, err := b.CancelSession(cmd.Context(), c, optional(args))
				if err != nil {
					return err
				}
				return a.answer(map[string]any{"session": out}, func(p *printer) { p.line("Cancelled %s; nothing of it is kept", out.SessionID) })
			})
		},
	}
}

func (a *app) sessionList() *cobra.Command {
	var r session.ListRequest
	var state string
	var all, mine bool
	c := &cobra.Command{
		Use: "list", Short: "Show who works where", Args: cobra.NoArgs,
		Example: "  stele session list --element shop.api\n  stele session list --all --mine",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkLimit(r.Limit); err != nil {
				return err
			}
			if r.State = session.State(state); all {
				if state != "" {
					return problem.Invalidf("state", "--all is every state").Fix("give one of --all and --state")
				}
				r.State = "all"
			}
			return a.with(cmd.Context(), false, func(b *backend, c memory.Caller) error {
				if mine {
					r.User = c.User
				}
				page, err := b.Sessions(cmd.Context(), c, r)
				if err != nil {
					return err
				}
				return a.answer(page, func(p *printer) {
					for _, s := range page.Sessions {
						p.session(s)
					}
					switch {
					case len(page.Sessions) == 0 && r.State == "" && r.Element == "" && !mine:
						p.line("nobody works here now; --all shows the sessions that are over")
					case len(page.Sessions) == 0:
						p.line("no work session that fits")
					case page.NextCursor != "":
						p.line("more: --cursor %s", page.NextCursor)
					}
				})
			})
		},
	}
	f := c.Flags()
	f.BoolVar(&all, "all", false, "also those that are over")
	f.StringVar(&state, "state", "", "active, finished, expired, cancelled or all (default active)")
	f.StringVar(&r.Element, "element", "", "on this element, above or below it")
	f.BoolVar(&mine, "mine", false, "of yours alone")
	f.IntVar(&r.Limit, "limit", 20, "how many at most")
	f.StringVar(&r.Cursor, "cursor", "", "where the last page ended")
	a.completeFlag(c, "element", a.completeElements)
	a.completeFlag(c, "state", fixed("active", "finished", "expired", "cancelled", "all"))
	return c
}

func (a *app) sessionShow() *cobra.Command {
	return &cobra.Command{
		Use: "show [ID]", Short: "Show a work session, what it was shown, and what it used of that", Args: cobra.MaximumNArgs(1),
		Example:           "  stele session show ws-4f2k7qa",
		ValidArgsFunction: a.completeSessions,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.with(cmd.Context(), false, func(b *backend, c memory.Caller) error {
				out, err := b.SessionReceipt(cmd.Context(), c, optional(args))
				if err != nil {
					return err
				}
				return a.answer(out, func(p *printer) { p.receipt(out) })
			})
		},
	}
}

// optional is the argument of a command that may have one.
func optional(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

// relatives makes paths relative to the root of the repository.
func (p *place) relatives(paths []string) {
	for n, name := range paths {
		paths[n] = p.relative(name)
	}
}

func (a *app) completeSessions(c *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.offer(c, func(ctx context.Context, b *backend, caller memory.Caller) (out []cobra.Completion) {
		page, err := b.Sessions(ctx, caller, session.ListRequest{User: caller.User})
		if err != nil {
			return nil
		}
		for _, s := range page.Sessions {
			out = append(out, cobra.CompletionWithDesc(s.SessionID, short(memory.Line(s.Task), 50)))
		}
		return out
	})
}
