package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stele-dev/stele/hook/local"
	"github.com/stele-dev/stele/internal/config"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
	"github.com/stele-dev/stele/transcript"
)

func (a *app) statuslineCommand() *cobra.Command {
	return &cobra.Command{
		Use: "statusline", Short: "Print a line of status for a client that shows one", Args: cobra.NoArgs,
		Long: "Print how many elements of the architecture are documented, and how many\n" +
			"memories are in doubt, as the hooks of this machine were last told. Nothing is\n" +
			"asked of a server or database. What the client writes to it is ignored.",
		Example:     "  stele statusline",
		Annotations: map[string]string{failsOpen: "yes"},
		RunE: func(*cobra.Command, []string) error {
			if !a.interactive {
				drain(a.in)
			}
			dir, err := a.folder()
			if err != nil {
				return err
			}
			root := topOf(dir)
			standing, _ := a.hooks().Standing(root + "//" + config.NearestRepository(root, dir))
			return a.answer(standing, func(p *printer) { p.line("%s", standingLine(standing)) })
		},
	}
}

// topOf is the top folder of the repository that a folder lies in, without asking git; the folder itself outside any.
func topOf(dir string) string {
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return at
		}
		if at == filepath.Dir(at) {
			return dir
		}
	}
}

func (a *app) turnCommand() *cobra.Command {
	return &cobra.Command{
		Use: "turn HANDLE", Short: "Show the turn of the conversation that a memory came from", Args: cobra.ExactArgs(1),
		Long: "Show what a person asked and what the assistant answered when a memory was made,\n" +
			"from the client's own file of that conversation. Conversations are not stored:\n" +
			"the file must be on this machine still.",
		Example:           "  stele turn m-7k3f9qa",
		ValidArgsFunction: a.completeHandles,
		RunE: func(cmd *cobra.Command, args []string) error {
			b, err := a.open(cmd.Context())
			if err != nil {
				return err
			}
			caller, err := b.Caller(cmd.Context(), a.project, false)
			if err != nil {
				return err
			}
			found, err := b.Get(cmd.Context(), caller, args)
			if err != nil {
				return err
			}
			t, err := turnOf(found[0])
			if err != nil {
				return err
			}
			return a.answer(t, func(p *printer) { p.turn(t) })
		},
	}
}

// turn is what `stele turn` prints.
type turn struct {
	Handle string        `json:"handle"`
	Anchor memory.Anchor `json:"anchor"`
	Asked  string        `json:"asked"`
	Answer string        `json:"answer"`
	Edited []string      `json:"edited"`
	Cut    bool          `json:"cut"`
}

// turnOf reads the turn that a memory came from.
func turnOf(m memory.Memory) (turn, error) {
	out := turn{Handle: m.Handle, Edited: []string{}}
	if m.Anchor == nil || m.Anchor.Transcript == "" || m.Anchor.Turn == "" {
		return out, problem.New(problem.NotFound, "handle", m.Handle+" came from no conversation that a client kept", "stele history "+m.Handle+" says where it came from")
	}
	out.Anchor = *m.Anchor
	found, ok, err := transcript.FindTurn(m.Anchor.Transcript, m.Anchor.Turn)
	if err != nil {
		return out, problem.New(problem.NotFound, "handle", fmt.Sprintf("the conversation is not on this machine: %s kept it in %s, of %s",
			memory.Line(m.Anchor.Client), memory.Line(m.Anchor.Transcript), memory.Line(m.Author)), "ask its author, or look on the machine they worked on").Because(err)
	}
	if !ok {
		return out, problem.New(problem.NotFound, "handle", "the conversation is here and has that turn no more: "+memory.Line(m.Anchor.Transcript),
			"stele get "+m.Handle+" has what is remembered of it")
	}
	out.Asked, out.Answer, out.Cut = found.Asked, found.Answer, found.Cut
	out.Edited = append(out.Edited, found.Edited...)
	return out, nil
}

func (p *printer) turn(t turn) {
	p.line("Asked:")
	p.prose(indent, t.Asked)
	p.line("")
	p.line("Answered:")
	p.prose(indent, t.Answer)
	if t.Cut {
		p.line(indent + "(and more, in the file)")
	}
	if len(t.Edited) > 0 {
		p.line("")
		p.line("Edited:")
		for _, f := range t.Edited {
			p.line("%s%s", indent, memory.Line(f))
		}
	}
	p.line("")
	p.line("%s, %s", memory.Line(t.Anchor.Client), memory.Line(t.Anchor.Transcript))
}

func (a *app) hookLogCommand() *cobra.Command {
	var since string
	c := &cobra.Command{
		Use: "log", Short: "Show what hooks did on this machine", Args: cobra.NoArgs,
		Long: "Show what the hooks of this machine did, each with the time it took, the\n" +
			"memories it put before the model or, where it only observes, would have, and why\n" +
			"it could not. No text is in it.",
		Example: "  stele hook log\n  stele hook log --since 2d --json",
		RunE: func(*cobra.Command, []string) error {
			var from time.Time
			if since != "" {
				t, err := sinceWhen(since, time.Now())
				if err != nil {
					return err
				}
				from = t
			}
			entries, err := a.hooks().Entries(from)
			if err != nil {
				return problem.New(problem.Unavailable, "log", "the log of the hooks cannot be read", "make "+string(a.hooks())+" readable for you").Because(err)
			}
			return a.answer(map[string]any{"events": entries}, func(p *printer) { p.hookLog(entries) })
		},
	}
	c.Flags().StringVar(&since, "since", "", "only from a time on: 2d, today, 2026-05-01 …")
	return c
}

func (p *printer) hookLog(entries []local.Entry) {
	if len(entries) == 0 {
		p.line("No hook was called.")
		return
	}
	for _, e := range entries {
		line := fmt.Sprintf("%s  %-16s %5d ms  %s", e.At.Local().Format("2006-01-02 15:04:05"), e.Event, e.Milliseconds, e.Outcome)
		if e.Reason != "" {
			line += ": " + e.Reason
		}
		if e.Outcome == local.Synced {
			line += fmt.Sprintf(": %d written, %d taken", e.Written, e.Taken)
		}
		if e.Conflicts > 0 {
			line += fmt.Sprintf(", %s to look at: stele sync", count(e.Conflicts, "file"))
		}
		if e.Tokens > 0 {
			line += fmt.Sprintf(", %s", count(e.Tokens, "token"))
		}
		if len(e.Handles) > 0 {
			line += "  " + strings.Join(e.Handles, " ")
		}
		if len(e.Cited) > 0 {
			line += "  cited " + strings.Join(e.Cited, " ")
		}
		if len(e.Candidates) > 0 {
			line += "  proposed " + strings.Join(e.Candidates, " ")
		}
		if e.Memory != "" {
			line += "  left " + e.Memory
		}
		if e.Summary != "" {
			line += "  summary " + e.Summary
		}
		if e.SummaryTokens > 0 {
			line += fmt.Sprintf(" (%s)", count(e.SummaryTokens, "token"))
		}
		p.line("%s", line)
	}
}
