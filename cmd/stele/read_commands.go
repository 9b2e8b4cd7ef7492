package main

import (
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

func (a *app) recallCommand() *cobra.Command {
	var q memory.RecallRequest
	var kinds []string
	var asOf string
	var maxTokens int
	c := &cobra.Command{
		Use: "recall [QUERY]", Short: "Find what is known, best first",
		Long: "Find what is known about a question, an element or files. Without a query, all\n" +
			"that hangs on the element or the paths. --explain takes each score apart.",
		Example: `  stele recall "why is the stock wrong"
  stele recall --element shop.api --kind pitfall --explain`,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if q.Query, err = a.text(args); err != nil {
				return err
			}
			for _, k := range kinds {
				q.Kinds = append(q.Kinds, memory.Kind(k))
			}
			if cmd.Flags().Changed("max-tokens") {
				q.MaxTokens = &maxTokens
			}
			if err := checkLimit(q.Limit); err != nil {
				return err
			}
			if asOf != "" {
				at, err := until("as-of", asOf)
				if err != nil {
					return err
				}
				q.AsOf = &at
			}
			return a.with(cmd.Context(), false, func(b *backend, c memory.Caller) error {
				for n, path := range q.Paths {
					q.Paths[n] = b.place.relative(path)
				}
				r, err := b.Recall(cmd.Context(), c, q)
				if err != nil {
					return err
				}
				return a.answer(r, func(p *printer) { p.recalled(r) })
			})
		},
	}
	f := c.Flags()
	f.StringVar(&q.Element, "element", "", "key or name; with its parents and children")
	f.StringArrayVar(&q.Paths, "path", nil, "files whose elements and memories to look at; repeatable")
	f.StringArrayVar(&kinds, "kind", nil, "pitfall, convention, note or session_outcome; repeatable")
	f.StringArrayVar(&q.Tags, "tag", nil, "tag; repeatable")
	f.StringVar(&a.session, "session", "", "work session this is asked for (default STELE_SESSION)")
	f.StringArrayVar(&q.Projects, "projects", nil, "further projects to search; repeatable")
	f.IntVar(&q.Limit, "limit", memory.DefaultLimit, "how many results at most")
	f.IntVar(&maxTokens, "max-tokens", memory.DefaultMaxTokens, "budget of tokens; 0 gives the index alone")
	f.BoolVar(&q.IncludeExpired, "expired", false, "also memories that have expired")
	f.BoolVar(&q.Explain, "explain", false, "take each score apart")
	f.StringVar(&asOf, "as-of", "", "answer as of a time or the end of a date")
	a.completeFlag(c, "element", a.completeElements)
	a.completeFlag(c, "kind", fixed("pitfall", "convention", "note", "session_outcome"))
	return c
}

// checkLimit refuses what the domain would take for its default, or cut to its maximum.
func checkLimit(n int) error {
	if n < 1 || n > memory.MaxLimit {
		return problem.Invalidf("limit", "%d is out of range", n).Fix("give 1 to %d", memory.MaxLimit)
	}
	return nil
}

func (a *app) listCommand() *cobra.Command {
	var r memory.ListRequest
	var kinds []string
	var since, status, origin string
	c := &cobra.Command{
		Use: "list", Short: "List memories, newest first", Args: cobra.NoArgs,
		Example: `  stele list --since today
  stele list --element shop.api --status all`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkLimit(r.Limit); err != nil {
				return err
			}
			for _, k := range kinds {
				r.Kinds = append(r.Kinds, memory.Kind(k))
			}
			r.Status, r.Origin = memory.Status(status), memory.Origin(origin)
			if since != "" {
				at, err := sinceWhen(since, time.Now())
				if err != nil {
					return err
				}
				r.Since = &at
			}
			return a.with(cmd.Context(), false, func(b *backend, c memory.Caller) error {
				page, err := b.List(cmd.Context(), c, r)
				if err != nil {
					return err
				}
				return a.answer(page, func(p *printer) {
					p.listed(page.Memories)
					if len(page.Memories) == 0 {
						p.line("no memory yet that fits")
					}
					if page.NextCursor != "" {
						p.line("more: --cursor %s", page.NextCursor)
					}
				})
			})
		},
	}
	f := c.Flags()
	f.StringVar(&since, "since", "", "today, yesterday, 3d, 12h or a date")
	f.StringArrayVar(&kinds, "kind", nil, "pitfall, convention, note or session_outcome; repeatable")
	f.StringVar(&r.Author, "author", "", "user, or agent/user")
	f.StringVar(&origin, "origin", "", "mcp, api, web, cli, hook, import or session")
	f.StringVar(&r.Element, "element", "", "key or name")
	f.StringVar(&status, "status", "", "live, superseded, retired, erased or all (default live)")
	f.IntVar(&r.Limit, "limit", 20, "how many at most")
	f.StringVar(&r.Cursor, "cursor", "", "where the last page ended")
	a.completeFlag(c, "element", a.completeElements)
	return c
}

func (a *app) getCommand() *cobra.Command {
	return &cobra.Command{
		Use: "get HANDLE...", Short: "Show memories in full", Args: cobra.MinimumNArgs(1),
		Example: "  stele get m-7k3f9qa m-2b7c1xd", ValidArgsFunction: a.completeHandles,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.with(cmd.Context(), false, func(b *backend, c memory.Caller) error {
				ms, err := b.Get(cmd.Context(), c, args)
				if err != nil {
					return err
				}
				return a.answer(map[string]any{"memories": ms}, func(p *printer) {
					for n, m := range ms {
						if n > 0 {
							p.line("")
						}
						p.memory(m)
					}
				})
			})
		},
	}
}

func (a *app) historyCommand() *cobra.Command {
	return &cobra.Command{
		Use: "history HANDLE", Short: "Show what happened to a memory, its versions and who was served it", Args: cobra.ExactArgs(1),
		Long: "Show what happened to a memory, its versions, where it was served and cited, and\n" +
			"whether it is ignored. Sessions of other projects are counted and not named.",
		Example: "  stele history m-7k3f9qa", ValidArgsFunction: a.completeHandles,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.with(cmd.Context(), false, func(b *backend, c memory.Caller) error {
				h, err := b.History(cmd.Context(), c, args[0])
				if err != nil {
					return err
				}
				u, err := b.Usage(cmd.Context(), c, h.Memory.ID.String())
				if err != nil {
					return err
				}
				return a.answer(struct {
					memory.HistoryResponse
					Usage memory.Usage `json:"usage"`
				}{h, u}, func(p *printer) {
					p.history(h)
					p.usage(u)
				})
			})
		},
	}
}

func (a *app) timelineCommand() *cobra.Command {
	var limit int
	c := &cobra.Command{
		Use: "timeline HANDLE", Short: "Show what was recorded around a memory on its elements", Args: cobra.ExactArgs(1),
		Example: "  stele timeline m-7k3f9qa", ValidArgsFunction: a.completeHandles,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkLimit(limit); err != nil {
				return err
			}
			return a.with(cmd.Context(), false, func(b *backend, c memory.Caller) error {
				t, err := b.Timeline(cmd.Context(), c, args[0], limit)
				if err != nil {
					return err
				}
				return a.answer(t, func(p *printer) { p.timeline(t) })
			})
		},
	}
	c.Flags().IntVar(&limit, "limit", 20, "how many entries at most")
	return c
}

func (a *app) whyCommand() *cobra.Command {
	return &cobra.Command{
		Use: "why FILE[:LINE]", Short: "Show everything known and doubted about a file", Args: cobra.ExactArgs(1),
		Long: "Show everything known and doubted about a file, newest doubt first. It works\n" +
			"by the paths that memories name and by the bindings of elements.",
		Example: "  stele why auth/middleware.go:42",
		RunE: func(cmd *cobra.Command, args []string) error {
			path, line := fileLine(args[0])
			return a.with(cmd.Context(), false, func(b *backend, c memory.Caller) error {
				w, err := b.Why(cmd.Context(), c, b.place.relative(path), line)
				if err != nil {
					return err
				}
				if err := a.answer(w, func(p *printer) {
					p.why(w)
					if len(w.Entries) == 0 {
						p.prose("", "nothing is known about "+w.Path)
					}
				}); err != nil {
					return err
				}
				if len(w.Entries) == 0 {
					return errNo
				}
				return nil
			})
		},
	}
}

// fileLine takes a line number off a path, as compilers write it: file:12 or file:12:3.
func fileLine(s string) (path string, line int) {
	for range 2 {
		head, tail, ok := cutLast(s, ":")
		if !ok {
			break
		}
		n, err := strconv.Atoi(tail)
		if err != nil || n < 1 || head == "" {
			break
		}
		s, line = head, n
	}
	return s, line
}

func cutLast(s, sep string) (head, tail string, ok bool) {
	at := strings.LastIndex(s, sep)
	if at < 0 {
		return s, "", false
	}
	return s[:at], s[at+len(sep):], true
}

func (a *app) contextCommand() *cobra.Command {
	var limit int
	c := &cobra.Command{
		Use: "context TASK", Short: "Show which elements, files and memories a task is about", Args: cobra.MinimumNArgs(1),
		Example: `  stele context "let customers change an order after checkout"`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkLimit(limit); err != nil {
				return err
			}
			task, err := a.text(args)
			if err != nil {
				return err
			}
			return a.with(cmd.Context(), false, func(b *backend, c memory.Caller) error {
				r, err := b.Context(cmd.Context(), c, memory.ContextRequest{Task: task, Limit: limit})
				if err != nil {
					return err
				}
				return a.answer(r, func(p *printer) {
					p.context(r)
					if len(r.Elements) == 0 {
						p.line("no element of the model has anything to do with these words")
					}
				})
			})
		},
	}
	c.Flags().IntVar(&limit, "limit", 5, "how many elements at most")
	return c
}

func (a *app) mapCommand() *cobra.Command {
	return &cobra.Command{
		Use: "map", Short: "Show how much of the architecture is documented, and the holes", Args: cobra.NoArgs,
		Example: "  stele map",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.with(cmd.Context(), false, func(b *backend, c memory.Caller) error {
				m, err := b.Map(cmd.Context(), c)
				if err != nil {
					return err
				}
				return a.answer(m, func(p *printer) {
					if m.Total == 0 {
						p.line("there is no architecture model yet: stele model import PATH")
						return
					}
					p.knowledgeMap(m)
				})
			})
		},
	}
}

// sinceWhen reads a moment that something happened after, in the reader's own time zone.
func sinceWhen(s string, now time.Time) (time.Time, error) {
	midnight := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location())
	switch strings.ToLower(s) {
	case "today":
		return midnight, nil
	case "yesterday":
		return midnight.AddDate(0, 0, -1), nil
	}
	if span, ok := timeSpan(s); ok {
		return now.Add(-span), nil
	}
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return t, nil
	}
	if t, err := time.ParseInLocation(time.DateOnly, s, now.Location()); err == nil {
		return t, nil
	}
	return time.Time{}, problem.Invalidf("since", "%q is not a time", s).Fix("write today, yesterday, 3d, 12h, 2w or 2026-01-31")
}

// timeSpan reads 12h, 3d or 2w.
func timeSpan(s string) (time.Duration, bool) {
	units := map[byte]time.Duration{'h': time.Hour, 'd': 24 * time.Hour, 'w': 7 * 24 * time.Hour}
	if s == "" {
		return 0, false
	}
	n, err := strconv.Atoi(s[:len(s)-1])
	unit, ok := units[s[len(s)-1]]
	if err != nil || !ok || n < 0 || n >= 10_000 {
		return 0, false
	}
	return time.Duration(n) * unit, true
}

// until reads a moment up to which something is asked: a time, or a date, which means its end.
func until(field, s string) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return t, nil
	}
	day, err := time.ParseInLocation(time.DateOnly, s, time.Local) //nolint:gosmopolitan // a date on the command line is the reader's own
	if err != nil {
		return time.Time{}, problem.Invalidf(field, "%q is not a time", s).Fix("write 2026-01-31 or 2026-01-31T15:04:05Z")
	}
	return day.AddDate(0, 0, 1).Add(-time.Microsecond), nil
}
