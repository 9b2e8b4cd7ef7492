package main

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
	"github.com/stele-dev/stele/review"
)

// reviewService is what the commands ask of the review queue.
type reviewService interface {
	ReviewQueue(ctx context.Context, c memory.Caller, r review.QueueRequest) (review.Queue, error)
	ReviewGroup(ctx context.Context, c memory.Caller, r review.GroupRequest) (review.GroupPage, error)
	DecideReview(ctx context.Context, c memory.Caller, r review.DecideRequest) (review.Decision, error)
	UndoReview(ctx context.Context, c memory.Caller, decision string) (review.Decision, error)
	ReviewHistory(ctx context.Context, c memory.Caller, r review.HistoryRequest) (review.History, error)
	ReviewDigest(ctx context.Context, c memory.Caller, r review.DigestRequest) (review.Digest, error)
}

func (a *app) reviewCommand() *cobra.Command {
	c := a.reviewListCommand("review", "Show what should be looked at, and decide about it")
	c.Long = "Show the memories that a person should look at, grouped by cause: what drifted,\n" +
		"what quotes code that is gone, what is disputed, contradicts another, grew old\n" +
		"or lost its element. A group is decided as a whole, or opened with show. A\n" +
		"target is one group (g-…), items (reason:m-…:…), or memories by handle or title.\n" +
		"Every decision can be taken back with undo."
	c.Example = "  stele review\n  stele review show g-2f1c5e9a7b3d\n  stele review confirm g-2f1c5e9a7b3d --reason \"read after the move\""
	c.AddCommand(
		a.reviewListCommand("list", "Show what should be looked at, grouped by cause"), a.reviewShowCommand(),
		a.reviewConfirmCommand(), a.reviewDisputeCommand(), a.reviewEditCommand(), a.reviewMergeCommand(), a.reviewRetireCommand(),
		a.reviewRestoreCommand(), a.reviewSnoozeCommand(), a.reviewReattachCommand(), a.reviewPromoteCommand(), a.reviewAcceptBindingCommand(),
		a.reviewKeepCommand(), a.reviewUndoCommand(), a.reviewHistoryCommand(), a.reviewDigestCommand(),
	)
	return c
}

func (a *app) reviewListCommand(use, short string) *cobra.Command {
	var r review.QueueRequest
	var reasons []string
	c := &cobra.Command{
		Use: use, Short: short, Args: cobra.NoArgs, Example: "  stele review list --all --reason drifted",
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, reason := range reasons {
				r.Reasons = append(r.Reasons, review.Reason(strings.ReplaceAll(reason, " ", "_")))
			}
			return a.with(cmd.Context(), false, func(b *backend, c memory.Caller) error {
				q, err := b.ReviewQueue(cmd.Context(), c, r)
				if err != nil {
					return err
				}
				return a.answer(q, func(p *printer) { p.queue(q) })
			})
		},
	}
	f := c.Flags()
	f.BoolVar(&r.All, "all", false, "also what you neither wrote nor own by CODEOWNERS")
	f.StringArrayVar(&reasons, "reason", nil, "only this reason; repeatable")
	f.IntVar(&r.Limit, "limit", 20, "groups of a page, 1 to 200")
	f.IntVar(&r.PerGroup, "items", 3, "items shown of each group, 1 to 200")
	f.StringVar(&r.Cursor, "cursor", "", "where the page before ended")
	names := make([]string, len(review.Reasons))
	for n, reason := range review.Reasons {
		names[n] = string(reason)
	}
	a.completeFlag(c, "reason", fixed(names...))
	return c
}

func (a *app) reviewShowCommand() *cobra.Command {
	var r review.GroupRequest
	c := &cobra.Command{
		Use: "show GROUP", Short: "Open a group: its memories in full, with the evidence", Args: cobra.ExactArgs(1),
		Example: "  stele review show g-2f1c5e9a7b3d",
		RunE: func(cmd *cobra.Command, args []string) error {
			r.Group = args[0]
			return a.with(cmd.Context(), false, func(b *backend, c memory.Caller) error {
				page, err := b.ReviewGroup(cmd.Context(), c, r)
				if err != nil {
					return err
				}
				return a.answer(page, func(p *printer) { p.group(page) })
			})
		},
	}
	c.Flags().IntVar(&r.Limit, "limit", 20, "items of a page, 1 to 200")
	c.Flags().StringVar(&r.Cursor, "cursor", "", "where the page before ended")
	return c
}

// decision is a command that decides: what it does, and how it is called.
type decision struct {
	action              review.Action
	use, short, example string
	long                string
	exact               bool // one target
	before              func(cmd *cobra.Command, b *backend, c memory.Caller, r *review.DecideRequest) error
}

// decide makes a command of a decision; r is filled by its flags.
func (a *app) decide(d decision, r *review.DecideRequest) *cobra.Command {
	c := &cobra.Command{Use: d.use, Short: d.short, Long: d.long, Example: d.example, Args: cobra.MinimumNArgs(1), ValidArgsFunction: a.completeHandles,
		RunE: func(cmd *cobra.Command, args []string) error {
			r.Action = d.action
			if err := aim(r, args); err != nil {
				return err
			}
			return a.with(cmd.Context(), true, func(b *backend, c memory.Caller) error {
				if d.before != nil {
					if err := d.before(cmd, b, c, r); err != nil {
						return err
					}
				}
				if r.Group != "" {
					if err := a.beforeGroup(cmd.Context(), b, c, r); err != nil {
						return err
					}
				}
				out, err := b.DecideReview(cmd.Context(), c, *r)
				if err != nil {
					return err
				}
				return a.answer(out, func(p *printer) { p.decided(out) })
			})
		},
	}
	if d.exact {
		c.Args = cobra.ExactArgs(1)
	}
	c.Flags().StringVar(&r.Reason, "reason", "", "why, for the history; wanted for more than 10 memories")
	return c
}

// itemID is how the id of an item looks: its reason, the handle of its memory, and what tells its evidence from the next.
var itemID = regexp.MustCompile(`^[a-z_]+:m-[a-z0-9]+:[0-9a-f]+$`)

// aim tells groups, items and memories apart.
func aim(r *review.DecideRequest, args []string) error {
	for _, arg := range args {
		switch {
		case strings.HasPrefix(arg, "g-"):
			r.Group = arg
		case itemID.MatchString(arg):
			r.Items = append(r.Items, arg)
		default:
			r.Memories = append(r.Memories, arg)
		}
	}
	if r.Group != "" && len(args) > 1 || len(r.Items) > 0 && len(r.Memories) > 0 {
		return problem.Invalidf("", "a decision is about one group, or about items, or about memories").Fix("name one kind at a time; stele review shows what there is")
	}
	return nil
}

// beforeGroup looks at a group before it is decided, so that what joined it meanwhile is not decided unseen. What is many is
// shown, one line each, and wants a reason.
func (a *app) beforeGroup(ctx context.Context, b *backend, c memory.Caller, r *review.DecideRequest) error {
	page, err := b.ReviewGroup(ctx, c, review.GroupRequest{Group: r.Group, Limit: review.MaxLimit})
	if err != nil {
		return err
	}
	r.Expected = page.Group.Count
	if page.Group.Count < review.BulkReason || a.json {
		return nil
	}
	p := a.printer()
	p.groupHead(page.Group)
	for {
		for _, i := range page.Items {
			p.itemLine(indent, i)
		}
		if page.NextCursor == "" {
			break
		}
		if page, err = b.ReviewGroup(ctx, c, review.GroupRequest{Group: r.Group, Limit: review.MaxLimit, Cursor: page.NextCursor}); err != nil {
			return err
		}
	}
	p.line("")
	if strings.TrimSpace(r.Reason) != "" {
		return nil
	}
	if r.Reason, err = a.prompt("Why? "); err != nil {
		return err
	}
	if r.Reason == "" {
		return problem.Invalidf("reason", "this is about %d items, and more than %d want a reason", r.Expected, review.BulkReason-1).Fix("say --reason, which the history will show")
	}
	return nil
}

func (a *app) reviewConfirmCommand() *cobra.Command {
	r := &review.DecideRequest{}
	return a.decide(decision{action: review.Confirm, use: "confirm TARGET...", short: "Say that what is in doubt still holds",
		example: "  stele review confirm g-2f1c5e9a7b3d\n  stele review confirm m-7k3f9qa --reason \"read after the move\"",
		before: func(cmd *cobra.Command, b *backend, _ memory.Caller, r *review.DecideRequest) error {
			r.Seen = b.place.look(cmd.Context())
			return nil
		}}, r)
}

func (a *app) reviewDisputeCommand() *cobra.Command {
	return a.decide(decision{action: review.Dispute, use: "dispute TARGET...", short: "Say that it does not hold; it ranks lower from then on",
		example: "  stele review dispute m-7k3f9qa --reason \"the limit is 16 KB since June\""}, &review.DecideRequest{})
}

func (a *app) reviewRetireCommand() *cobra.Command {
	return a.decide(decision{action: review.Retire, use: "retire TARGET...", short: "Take memories out of recall",
		example: "  stele review retire g-2f1c5e9a7b3d --reason \"the gateway is gone\""}, &review.DecideRequest{})
}

func (a *app) reviewRestoreCommand() *cobra.Command {
	return a.decide(decision{action: review.Restore, use: "restore HANDLE...", short: "Take retired memories back into recall",
		example: "  stele review restore m-7k3f9qa"}, &review.DecideRequest{})
}

func (a *app) reviewKeepCommand() *cobra.Command {
	return a.decide(decision{action: review.Keep, use: "keep TARGET...", short: "Leave memories as they are, and settle the items",
		long: "Leave memories as they are. The items come back on new evidence, and on nothing\nelse.", example: "  stele review keep g-2f1c5e9a7b3d"}, &review.DecideRequest{})
}

func (a *app) reviewPromoteCommand() *cobra.Command {
	return a.decide(decision{action: review.Promote, use: "promote HANDLE...", short: "Make memories the organization's, for all its projects",
		example: "  stele review promote m-7k3f9qa"}, &review.DecideRequest{})
}

func (a *app) reviewAcceptBindingCommand() *cobra.Command {
	return a.decide(decision{action: review.AcceptBinding, use: "accept-binding GROUP", short: "Bind the element to where its files went", exact: true,
		long:    "Bind the element to where its files went, on the server. What still holds there\nis in doubt no more. stele.yaml has to say the same: commit it.",
		example: "  stele review accept-binding g-2f1c5e9a7b3d"}, &review.DecideRequest{})
}

func (a *app) reviewSnoozeCommand() *cobra.Command {
	r := &review.DecideRequest{}
	var until string
	c := a.decide(decision{action: review.Snooze, use: "snooze TARGET...", short: "Put items off until a moment, or new evidence",
		example: "  stele review snooze g-2f1c5e9a7b3d --until 2w",
		before: func(_ *cobra.Command, _ *backend, _ memory.Caller, r *review.DecideRequest) error {
			at, err := fromNow("until", until, time.Now())
			r.Until = &at
			return err
		}}, r)
	c.Flags().StringVar(&until, "until", "1w", "3d, 12h, 2w or a date")
	return c
}

func (a *app) reviewReattachCommand() *cobra.Command {
	r := &review.DecideRequest{}
	c := a.decide(decision{action: review.Reattach, use: "reattach TARGET... --element KEY", short: "Attach memories to other elements",
		example: "  stele review reattach g-2f1c5e9a7b3d --element shop.store"}, r)
	c.Flags().StringArrayVar(&r.Elements, "element", nil, "all elements they are about from now on; repeatable")
	a.completeFlag(c, "element", a.completeElements)
	return c
}

func (a *app) reviewMergeCommand() *cobra.Command {
	r := &review.DecideRequest{}
	c := a.decide(decision{action: review.Merge, use: "merge TARGET...", short: "Make two memories one of the two, or a new one",
		long:    "Make two memories one: the one of --into, or a new one of --text that supersedes\nboth. - as text reads standard input.",
		example: "  stele review merge g-2f1c5e9a7b3d --into m-7k3f9qa\n  stele review merge m-7k3f9qa m-abcdefg --text \"Stock is cached for a minute.\"",
		before: func(_ *cobra.Command, _ *backend, _ memory.Caller, r *review.DecideRequest) error {
			if r.Content == "" {
				return nil
			}
			var err error
			r.Content, err = a.text([]string{r.Content})
			return err
		}}, r)
	c.Flags().StringVar(&r.Into, "into", "", "the memory that stays")
	a.newText(c, r)
	return c
}

func (a *app) reviewEditCommand() *cobra.Command {
	r := &review.DecideRequest{}
	c := a.decide(decision{action: review.Edit, use: "edit TARGET", short: "Write a new text that supersedes the old one", exact: true,
		long:    "Write a new text, in $EDITOR or by flags. It supersedes the old one, and what\nwas doubted about that is settled. - as text reads standard input.",
		example: "  stele review edit m-7k3f9qa\n  stele review edit m-7k3f9qa --text \"Stock is cached for two minutes.\"", before: a.beforeEdit}, r)
	a.newText(c, r)
	return c
}

func (a *app) newText(c *cobra.Command, r *review.DecideRequest) {
	c.Flags().StringVar(&r.Content, "text", "", "the new text; - reads standard input")
	c.Flags().StringVar(&r.Title, "title", "", "the new title")
	c.Flags().StringVar(&r.Why, "why", "", "the new reason it holds")
}

// beforeEdit gets the text: from the flags, else from an editor.
func (a *app) beforeEdit(cmd *cobra.Command, b *backend, c memory.Caller, r *review.DecideRequest) error {
	ctx := cmd.Context()
	if r.Title+r.Content+r.Why != "" {
		if r.Content == "" {
			return nil
		}
		var err error
		r.Content, err = a.text([]string{r.Content})
		return err
	}
	if !a.interactive {
		return problem.Invalidf("text", "there is no terminal to open an editor in").Fix("give --text TEXT, or --text - for standard input")
	}
	var ref string
	switch {
	case r.Group != "":
		page, err := b.ReviewGroup(ctx, c, review.GroupRequest{Group: r.Group, Limit: 1})
		if err != nil {
			return err
		}
		if page.Group.Count != 1 {
			return problem.Invalidf("group", "it has %d items, and one text is edited at a time", page.Group.Count).Fix("name the memory; stele review show %s", quoteName(r.Group))
		}
		ref = page.Items[0].Memory.Handle
	case len(r.Items) > 0:
		ref = strings.Split(r.Items[0], ":")[1]
	default:
		ref = r.Memories[0]
	}
	ms, err := b.Get(ctx, c, []string{ref})
	if err != nil {
		return err
	}
	old := editable{title: ms[0].Title, why: ms[0].Why, content: ms[0].Content}
	draft, err := a.openEditor(ctx, old)
	if err != nil {
		return err
	}
	if draft == old {
		return problem.New(problem.Invalid, "", "nothing was changed", "to leave it as it is, say stele review keep "+quoteName(ref))
	}
	r.Title, r.Why, r.Content = draft.title, draft.why, draft.content
	return nil
}

func (a *app) reviewUndoCommand() *cobra.Command {
	return &cobra.Command{
		Use: "undo DECISION", Short: "Take a decision back", Args: cobra.ExactArgs(1),
		Long: "Take a decision back: its memories are as they were, and its items open again.\n" +
			"When somebody decided about one of them since, nothing happens and it is told.",
		Example: "  stele review undo 01a22c29-a2b9-75d3-8e8d-4af7968fd3cd",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.with(cmd.Context(), true, func(b *backend, c memory.Caller) error {
				out, err := b.UndoReview(cmd.Context(), c, args[0])
				if err != nil {
					return err
				}
				return a.answer(out, func(p *printer) { p.takenBack(out) })
			})
		},
	}
}

func (a *app) reviewHistoryCommand() *cobra.Command {
	var r review.HistoryRequest
	c := &cobra.Command{
		Use: "history", Short: "List decisions, newest first: who, what, when, why", Args: cobra.NoArgs,
		Example: "  stele review history --author kim\n  stele review history --memory m-7k3f9qa",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.with(cmd.Context(), false, func(b *backend, c memory.Caller) error {
				h, err := b.ReviewHistory(cmd.Context(), c, r)
				if err != nil {
					return err
				}
				return a.answer(h, func(p *printer) { p.decisions(h) })
			})
		},
	}
	f := c.Flags()
	f.StringVar(&r.Author, "author", "", "only those of this user, or of agent/user")
	f.StringVar(&r.Memory, "memory", "", "only those about this memory: handle, id or title")
	f.IntVar(&r.Limit, "limit", 20, "decisions of a page, 1 to 200")
	f.StringVar(&r.Cursor, "cursor", "", "where the page before ended")
	return c
}

func (a *app) reviewDigestCommand() *cobra.Command {
	var since string
	var r review.DigestRequest
	c := &cobra.Command{
		Use: "digest", Short: "Say in a few lines how the knowledge stands, as Markdown", Args: cobra.NoArgs,
		Long: "Say in a few lines how the knowledge of the project stands: how much is\n" +
			"documented, three causes to look at first, the hole that is worth filling. It\n" +
			"holds no content of memories. A server posts it to a webhook by schedule, when\n" +
			"STELE_DIGEST_SCHEDULE and STELE_DIGEST_URL say so.",
		Example: "  stele review digest --since 2w > digest.md",
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if r.Since, err = sinceWhen(cmp.Or(since, "1w"), time.Now()); err != nil {
				return err
			}
			return a.with(cmd.Context(), false, func(b *backend, c memory.Caller) error {
				d, err := b.ReviewDigest(cmd.Context(), c, r)
				if err != nil {
					return err
				}
				return a.answer(d, func(p *printer) { p.line("%s", strings.TrimRight(memory.Plain(d.Markdown), "\n")) })
			})
		},
	}
	c.Flags().StringVar(&since, "since", "", "since when: today, 3d, 2w or a date (default 1w)")
	c.Flags().BoolVar(&r.Titles, "titles", false, "also the titles of memories")
	return c
}

// fromNow reads a moment to come: 3d, 12h, 2w, a date, which means its beginning, or RFC 3339.
func fromNow(field, s string, now time.Time) (time.Time, error) {
	s = strings.TrimSpace(s)
	if span, ok := timeSpan(s); ok && span > 0 {
		return now.Add(span), nil
	}
	at, err := time.Parse(time.RFC3339, s)
	if err != nil {
		at, err = time.ParseInLocation(time.DateOnly, s, now.Location())
	}
	if err != nil || !at.After(now) {
		return time.Time{}, problem.Invalidf(field, "%q is no moment to come", s).Fix("write 3d, 12h, 2w or %s", now.AddDate(0, 0, 14).Format(time.DateOnly))
	}
	return at, nil
}

// prompt asks a person for a line; "" where there is nobody to ask.
func (a *app) prompt(question string) (string, error) {
	if !a.interactive || a.json {
		return "", nil
	}
	if err := a.out.Flush(); err != nil {
		return "", fmt.Errorf("writing the question: %w", err)
	}
	fmt.Fprint(a.err, question)
	line, err := bufio.NewReader(a.in).ReadString('\n')
	if err != nil && line == "" {
		return "", nil // the input ended: nobody said anything
	}
	return strings.TrimSpace(line), nil
}
