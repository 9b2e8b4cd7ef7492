package hook

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
	"github.com/stele-dev/stele/session"
)

// pause notes what was relied on, how far the work is, and what may be worth remembering.
func (h *handling) pause(ctx context.Context) error {
	if h.request.Said != "" {
		cited, err := h.sessions.ObserveSession(ctx, h.caller, h.session.Name, h.request.Said)
		if err != nil {
			return err
		}
		h.out.Cited = cited
	}
	beat := session.HeartbeatRequest{Anchor: h.request.Anchor}
	if p := h.request.Progress; p != nil {
		beat.Task = cmp.Or(h.session.Task, session.ClipTo(first(p.Asked), taskLength))
		if p.Worked || len(h.request.Edited) > 0 {
			beat.Summary = gist(*p)
		}
	}
	status, err := h.heartbeat(ctx, beat)
	if err != nil {
		return err
	}
	if h.request.Propose {
		return h.propose(ctx, status.Leases)
	}
	return nil
}

// end is the last pause, after which the work session is finished. One that did nothing leaves no outcome.
func (h *handling) end(ctx context.Context) error {
	if h.session.Name == "" {
		return nil
	}
	if err := h.pause(ctx); err != nil {
		return err
	}
	ended, err := h.sessions.FinishSession(ctx, h.caller, session.FinishRequest{Session: h.session.Name, Seen: h.request.Seen})
	if err != nil {
		return err
	}
	if ended.Memory != nil {
		h.out.Outcome = ended.Memory.Handle
	}
	for _, handle := range ended.Cited {
		if !slices.Contains(h.out.Cited, handle) {
			h.out.Cited = append(h.out.Cited, handle)
		}
	}
	waiting, err := h.waiting(ctx)
	if err != nil {
		return err
	}
	switch {
	case waiting == 1:
		h.out.Notice = "Stele: 1 sentence of this session may be worth remembering: stele review --reason candidate"
	case waiting > 1:
		h.out.Notice = fmt.Sprintf("Stele: %d sentences of this session may be worth remembering: stele review --reason candidate", waiting)
	}
	return nil
}

func first(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[0]
}

// How much of a conversation its gist keeps.
const (
	answerLength = 600 // characters of the last answer
	failedShown  = 5   // commands
	failedLength = 120 // characters of each

	summaryLength = 800 // characters of what a model said
	modelLength   = 100 // of its name
)

// gist is what a conversation came to, in its own words: the end of it, what was asked last, which commands failed; then what a model says
// of it, if one was asked.
func gist(p Progress) string {
	var parts []string
	if answer := session.ClipTo(opening(p.Answer), answerLength); answer != "" {
		parts = append(parts, answer)
	}
	if n := len(p.Asked); n > 1 {
		parts = append(parts, "Asked last: "+session.ClipTo(p.Asked[n-1], taskLength))
	}
	if len(p.Failed) > 0 {
		lines := []string{"Commands that failed and were not run again with success:"}
		for _, c := range p.Failed[:min(len(p.Failed), failedShown)] {
			lines = append(lines, "- `"+strings.ReplaceAll(session.ClipTo(c, failedLength), "`", "'")+"`")
		}
		if more := len(p.Failed) - failedShown; more > 0 {
			lines = append(lines, fmt.Sprintf("- and %d more", more))
		}
		parts = append(parts, strings.Join(lines, "\n"))
	}
	// Nobody said this: it stands last, behind whose words it is.
	if said := session.ClipTo(p.Summary, summaryLength); said != "" {
		by := cmp.Or(session.ClipTo(p.SummaryBy, modelLength), "unnamed")
		parts = append(parts, "Summary by a model ("+by+"), which nobody checked: "+said)
	}
	return strings.Join(parts, "\n\n")
}

// opening is the prose an answer begins with: what follows a heading, a list or a block of code is detail.
func opening(answer string) string {
	var kept []string
	code := false
	for line := range strings.Lines(answer) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "```"):
			code = !code
		case code, line == "", strings.HasPrefix(line, "|"), strings.Trim(line, "-=*_ ") == "":
		default:
			kept = append(kept, strings.TrimLeft(line, "#> "))
		}
	}
	return strings.Join(kept, " ")
}

// MaxCandidates is how many sentences of one work session wait at a time. Constant of the contract.
const MaxCandidates = 5

// propose stores sentences that may be worth remembering as candidates. One that cannot be stored is left out.
func (h *handling) propose(ctx context.Context, on []session.Lease) error {
	found := slices.Concat(Corrections(h.request.Asked), Statements(h.request.Said))
	if len(found) == 0 {
		return nil
	}
	waiting, err := h.waiting(ctx)
	if err != nil {
		return err
	}
	slices.SortStableFunc(found, func(a, b Found) int { return cmp.Compare(b.weight, a.weight) })
	var elements []string
	if len(on) <= narrow {
		for _, l := range on {
			if !l.Element.Orphan {
				elements = append(elements, l.Element.Key)
			}
		}
	}
	for _, f := range found {
		if waiting+len(h.out.Candidates) >= MaxCandidates {
			return nil
		}
		p, err := h.memory.Prepare(ctx, h.caller, memory.RememberRequest{Kind: f.Kind, Content: f.Text, Why: f.Why, Elements: elements, Seen: h.request.Seen, Anchor: h.request.Anchor})
		if problem.Is(err, problem.Invalid) {
			continue // nothing is left of it after its secrets, or it cannot be a memory
		}
		if err != nil {
			return err
		}
		var made *memory.Memory
		if err := h.store.Write(ctx, h.caller.Org, []memory.SpaceKey{p.Space()}, func(tx memory.Tx) (err error) {
			made, err = h.memory.PlaceCandidate(ctx, tx, h.caller, p, h.session.ID)
			return err
		}); err != nil {
			return err
		}
		if made != nil {
			h.out.Candidates = append(h.out.Candidates, made.Handle)
		}
	}
	return nil
}

// narrow is on how many elements a session may work for what was said in it to be about them.
const narrow = 3

// waiting counts the candidates of the session.
func (h *handling) waiting(ctx context.Context) (n int, err error) {
	err = h.store.View(ctx, h.caller.Org, func(v memory.View) error {
		found, err := v.Candidates(ctx, memory.CandidateQuery{Batch: h.session.ID, Limit: MaxCandidates})
		n = len(found)
		return err
	})
	return n, err
}
