package hook

import (
	"context"
	"fmt"
	"strings"

	"github.com/stele-dev/stele/memory"
	"github.com/stele-dev/stele/session"
)

// The least relevance of what is injected beside a prompt. Nobody asked for it, so it must be surer than an answer: the floors of
// recall cost no answer and silence little. Measured on the developer set, whose questions are what people ask in prompts
// (docs/hooks.md has the table).
const (
	floorByMeaning = 0.60
	floorByWords   = 0.55
)

// asked is how many results are looked through for those that are not before the client already.
const asked = 12

// prompt brings what is known of what a person asks.
func (h *handling) prompt(ctx context.Context) error {
	text, _, err := memory.Clean("prompt", h.request.Prompt, MaxPromptBytes, "cut it")
	if err != nil {
		return err
	}
	beat := session.HeartbeatRequest{}
	if h.session.Task == "" {
		beat.Task = session.ClipTo(text, taskLength)
	}
	if beat.Task != "" || len(h.request.Edited) > 0 {
		if err := h.beat(ctx, beat); err != nil {
			return err
		}
	}
	if strings.TrimSpace(text) == "" {
		return nil
	}
	all := memory.MaxMaxTokens
	continuing := session.AsksToContinue(text)
	c := h.caller
	c.Session = "" // what is not injected was not shown
	answer, err := h.memory.Recall(ctx, c, memory.RecallRequest{Query: text, Limit: asked, MaxTokens: &all, Door: string(memory.DoorPrompt), Continuing: continuing, Explain: true})
	if err != nil {
		return err
	}
	in := injection{handling: h, door: memory.DoorPrompt, most: PromptMemories, room: PromptTokens}
	for _, r := range answer.Results {
		wanted := continuing && r.Kind == memory.SessionOutcome
		if r.Via != nil || r.Kind == memory.DecisionKind || r.Factors == nil || !wanted && r.Factors.Relevance < floor(r.Factors) {
			continue
		}
		in.add(r.Memory, r.Tokens, "prompt")
	}
	return in.close(ctx)
}

// taskLength is how much of the first prompt stands for what a session is about.
const taskLength = 200

func floor(f *memory.Factors) float64 {
	if f.Semantic == 0 {
		return floorByWords
	}
	return floorByMeaning
}

// beforeEdit brings the traps and doubts of files, takes soft leases, and says who else is at them.
func (h *handling) beforeEdit(ctx context.Context) error {
	if len(h.request.Paths) == 0 {
		return h.beat(ctx, session.HeartbeatRequest{})
	}
	status, err := h.heartbeat(ctx, session.HeartbeatRequest{Paths: h.request.Paths})
	if err != nil {
		return err
	}
	in := injection{handling: h, door: memory.DoorFile, most: asked, room: FileTokens}
	for _, met := range status.Conflicts {
		switch {
		case met.Exclusive:
			if h.request.Guard && h.out.Ask == "" {
				h.out.Ask = fmt.Sprintf("%s works on %s alone since %s (%s)", memory.Line(met.Author), memory.Line(met.Element.Key), met.Since.UTC().Format("15:04 UTC"), met.SessionID)
			}
			in.say(fmt.Sprintf("- %s works on %s alone (%s: %s)", memory.Line(met.Author), memory.Line(met.Element.Key), met.SessionID, session.ClipTo(met.Task, taskLength)))
		case met.File != "" && !h.session.Edited(met.File):
			in.say(fmt.Sprintf("- %s edited %s within the last half hour (%s)", memory.Line(met.Author), memory.Line(met.File), met.SessionID))
		}
	}
	for _, path := range h.request.Paths {
		why, err := h.memory.Why(ctx, h.caller, path, 0)
		if err != nil {
			return err
		}
		for _, e := range why.Entries {
			if e.Memory.Kind == memory.Pitfall || doubted(e.Memory) {
				in.add(e.Memory, memory.Tokens(e.Memory.Content), e.Matched)
			}
		}
	}
	return in.close(ctx)
}

// doubted tells whether somebody has to look at a memory before relying on it.
func doubted(m memory.Memory) bool {
	if m.Kind == memory.SessionOutcome {
		return false
	}
	for _, f := range m.Flags {
		if f.Flag == "verify" || f.Flag == "disputed" {
			return true
		}
	}
	return false
}

// injection collects lines for the model within a budget, best first.
type injection struct {
	*handling
	door    memory.Door
	most    int // memories
	room    int // tokens left
	lines   []string
	shown   []memory.Impression
	cut     bool // a line shows less than the memory says
	skipped int  // for want of room
}

// say adds a line that is about no memory.
func (in *injection) say(line string) {
	if cost := memory.Tokens(line); cost <= in.room {
		in.room -= cost
		in.lines = append(in.lines, line)
	}
}

// add adds a memory that the client does not have before it already. tokens is what all of it costs.
func (in *injection) add(m memory.Memory, tokens int, why string) {
	if in.session.Has(m) || len(in.shown) >= in.most {
		return
	}
	for _, s := range in.shown {
		if s.Memory == m.ID {
			return
		}
	}
	line := session.MemoryLine(m, in.memory.Now())
	cut := strings.Contains(line, "… · "+m.Handle)
	if cut {
		line += fmt.Sprintf(" (%d tokens)", tokens)
	}
	cost := memory.Tokens(line)
	if cost > in.room {
		in.skipped++
		return
	}
	in.room -= cost
	in.cut = in.cut || cut
	in.lines = append(in.lines, line)
	in.shown = append(in.shown, memory.Impression{Memory: m.ID, Revision: m.Revision, DoubtedAt: m.DoubtedAt, Door: in.door})
	in.out.Shown = append(in.out.Shown, Shown{Handle: m.Handle, Kind: m.Kind, Tokens: cost, Why: memory.Line(why)})
}

// close writes what was collected into the answer, and records that it was shown.
func (in *injection) close(ctx context.Context) error {
	if in.skipped == 1 {
		in.lines = append(in.lines, "1 more is known here: recall finds it")
	} else if in.skipped > 1 {
		in.lines = append(in.lines, fmt.Sprintf("%d more are known here: recall finds them", in.skipped))
	}
	if len(in.lines) == 0 {
		return nil
	}
	if in.cut {
		open := "get_memories opens one in full"
		if in.request.Commands {
			open = "`stele get HANDLE` opens one in full"
		}
		in.lines = append(in.lines, open)
	}
	text := memory.Fence(strings.Join(in.lines, "\n") + "\n")
	if in.out.Context != "" {
		text = in.out.Context + "\n" + text
	}
	in.out.Context = text
	if in.request.Observe {
		return nil
	}
	return in.memory.Impress(ctx, in.caller, in.shown)
}
