package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stele-dev/stele/api/eventstream"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

type eventService interface {
	Events(ctx context.Context, c memory.Caller, after string, limit int) (memory.EventsResponse, error)
	EarlierEvents(ctx context.Context, c memory.Caller, upTo string, limit int) (memory.EventsResponse, error)
}

func (a *app) eventsCommand() *cobra.Command {
	var after string
	var limit int
	var follow bool
	c := &cobra.Command{
		Use: "events", Short: "Show what happens in the project, as it happens", Args: cobra.NoArgs,
		Long: "Show the latest events of the project, of the organization's memories and of\n" +
			"your own, oldest first: who did what to which memory, session, element or run.\n" +
			"They hold names and verbs, never a text. --follow goes on with what happens\n" +
			"until it is interrupted, over cuts and restarts of a server, and misses\n" +
			"nothing; with --json it prints one document a line. --after begins behind the\n" +
			"event whose id it is given.",
		Example: "  stele events\n  stele events --follow --json\n  stele events --after 41.2.7",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if follow && cmd.Flags().Changed("limit") {
				return problem.Invalidf("limit", "what is followed has no end").Fix("give one of --follow and --limit")
			}
			if limit < 1 || limit > memory.MaxEvents {
				return problem.Invalidf("limit", "%d is not between 1 and %d", limit, memory.MaxEvents).Fix("leave it out for 20")
			}
			given := cmd.Flags().Changed("after")
			return a.with(cmd.Context(), false, func(b *backend, c memory.Caller) error {
				if follow {
					if !given {
						after = memory.FromNow
					}
					return a.followEvents(cmd.Context(), b, c, after)
				}
				page, err := eventPage(cmd.Context(), b, c, after, limit, given)
				if err != nil {
					return err
				}
				return a.answer(page, func(p *printer) {
					for _, e := range page.Events {
						p.event(e)
					}
					switch {
					case len(page.Events) == 0:
						p.line("nothing happened since")
					case given && len(page.Events) == limit:
						p.line("more: --after %s", page.Position)
					}
				})
			})
		},
	}
	f := c.Flags()
	f.BoolVar(&follow, "follow", false, "go on with what happens")
	f.StringVar(&after, "after", "", "id of the event behind which to begin; 0.0.0 for everything\n(default: the latest; with --follow: from now on)")
	f.IntVar(&limit, "limit", 20, "how many at most")
	return c
}

// eventPage is a page behind a position, or the latest, oldest first either way; its position is where to go on.
func eventPage(ctx context.Context, b *backend, c memory.Caller, after string, limit int, given bool) (memory.EventsResponse, error) {
	if given {
		return b.Events(ctx, c, after, limit)
	}
	page, err := b.EarlierEvents(ctx, c, memory.FromNow, limit)
	if len(page.Events) > 0 {
		page.Position = page.Events[0].ID
		slices.Reverse(page.Events)
	}
	return page, err
}

// followEvents prints what happens until it is interrupted.
func (a *app) followEvents(ctx context.Context, b *backend, c memory.Caller, after string) error {
	p := a.printer()
	each := func(e memory.StreamEvent) error {
		if a.json {
			line, err := json.Marshal(e)
			if err != nil {
				return fmt.Errorf("event %s: %w", e.ID, err)
			}
			p.line("%s", line)
		} else {
			p.event(e)
		}
		return a.out.Flush() // whoever reads along waits for it
	}
	var err error
	if b.remote != nil {
		err = b.remote.FollowEvents(ctx, c, after, each)
	} else {
		err = pollEvents(ctx, b, c, after, each)
	}
	if ctx.Err() != nil {
		return nil //nolint:nilerr // to interrupt it is how to end it
	}
	return err
}

// pollEvents looks at the database as often as a stream of a server does.
func pollEvents(ctx context.Context, b *backend, c memory.Caller, after string, each func(memory.StreamEvent) error) error {
	poll := time.NewTicker(eventstream.Poll)
	defer poll.Stop()
	for {
		page, err := b.Events(ctx, c, after, memory.MaxEvents)
		if err != nil && !problem.Is(err, problem.Unavailable) { // a database that restarts is back soon
			return err
		}
		for _, e := range page.Events {
			if err := each(e); err != nil {
				return err
			}
		}
		after = cmp.Or(page.Position, after)
		if len(page.Events) == memory.MaxEvents {
			continue
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-poll.C:
		}
	}
}

// event writes one: when, what, to which, by whom.
func (p *printer) event(e memory.StreamEvent) {
	const when, what = 18, 18
	var text string
	switch {
	case e.Memory != "":
		text = e.Memory + " " + string(e.Kind)
	default:
		text = cmp.Or(e.Session, e.Element, e.Run)
	}
	if e.Scope != memory.Project {
		text += " " + string(e.Scope)
	}
	text += " by " + e.Author
	if e.Door != "" {
		text += " (" + e.Door + ")"
	}
	p.hanging(e.At.UTC().Format(dateTime)+"  "+pad(memory.Line(string(e.Verb)), what-1)+" ", strings.Repeat(" ", when+what), memory.Line(text))
}
