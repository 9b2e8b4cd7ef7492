package mcp

import (
	"context"
	"fmt"
	"strings"

	"github.com/stele-dev/stele/memory"
	"github.com/stele-dev/stele/session"
)

// sessionService is what work sessions are asked of.
type sessionService interface {
	// Arrive is what every call passes: the sign of life of its session.
	Arrive(ctx context.Context, c memory.Caller) (memory.Caller, error)
	StartSession(ctx context.Context, c memory.Caller, r session.StartRequest) (session.Started, error)
	HeartbeatSession(ctx context.Context, c memory.Caller, r session.HeartbeatRequest) (session.Status, error)
	FinishSession(ctx context.Context, c memory.Caller, r session.FinishRequest) (session.Ended, error)
	Sessions(ctx context.Context, c memory.Caller, r session.ListRequest) (session.List, error)
}

type startArgs struct {
	Task      string   `arg:"task" also:"query,goal"`
	AgentName string   `arg:"agentName" also:"agent,name" doc:"your name"`
	Elements  []string `arg:"element" doc:"keys or names to work on"`
	Paths     []string `arg:"paths" also:"file" doc:"or their files"`
	Exclusive bool     `arg:"exclusive" doc:"nobody else meanwhile"`
	MaxTokens *int     `arg:"maxTokens,hidden"`
	Continues string   `arg:"continues,hidden" also:"resumes"`
	readPlace
}

type heartbeatArgs struct {
	Summary   string   `arg:"summary" also:"text" doc:"the work so far"`
	Decisions []string `arg:"decisions"`
	FollowUps []string `arg:"followUps" also:"todo,nextSteps"`
	Elements  []string `arg:"element" doc:"work on these too"`
	Paths     []string `arg:"paths,hidden" also:"file"`
	Edited    []string `arg:"edited" doc:"files"`
	place
}

type finishArgs struct {
	Summary      string   `arg:"summary" also:"text" doc:"what was done"`
	Decisions    []string `arg:"decisions"`
	FollowUps    []string `arg:"followUps" also:"todo,nextSteps" doc:"left to do"`
	UsedMemories []string `arg:"usedMemories" also:"used,usedHandles,cited" doc:"handles you relied on; [] if none"`
	Closes       []string `arg:"closes" also:"closed" doc:"follow-ups done"`
	Outcome      string   `arg:"outcome" enum:"done,partial,failed"`
	place
}

type sessionsArgs struct {
	Element string `arg:"element"`
	State   string `arg:"state,hidden" enum:"active,finished,expired,cancelled,all"`
	User    string `arg:"user,hidden" also:"author"`
	Limit   *int   `arg:"limit,hidden"`
	readPlace
}

func startSessionTool(ctx context.Context, c *call, a startArgs) (session.Started, string, error) {
	r := session.StartRequest{
		Task: a.Task, AgentName: a.AgentName, Elements: a.Elements, Paths: c.paths(a.Paths), Exclusive: a.Exclusive, MaxTokens: a.MaxTokens,
		Continues: a.Continues, Worktree: c.backend.Worktree(), Seen: c.backend.Seen(ctx),
	}
	out, err := c.StartSession(ctx, c.worker(), r)
	if err != nil {
		return out, "", err
	}
	return out, startedText(out), nil
}

func heartbeatSession(ctx context.Context, c *call, a heartbeatArgs) (session.Status, string, error) {
	out, err := c.HeartbeatSession(ctx, c.worker(), session.HeartbeatRequest{
		Summary: a.Summary, Decisions: a.Decisions, FollowUps: a.FollowUps, Elements: a.Elements, Paths: c.paths(a.Paths), Edited: c.paths(a.Edited),
	})
	if err != nil {
		return out, "", err
	}
	return out, statusText(out), nil
}

func finishSession(ctx context.Context, c *call, a finishArgs) (session.Ended, string, error) {
	out, err := c.FinishSession(ctx, c.worker(), session.FinishRequest{
		Summary: a.Summary, Decisions: a.Decisions, FollowUps: a.FollowUps, UsedMemories: a.UsedMemories, Closes: a.Closes,
		Outcome: session.Outcome(a.Outcome), Seen: c.backend.Seen(ctx),
	})
	if err != nil {
		return out, "", err
	}
	return out, endedText(out), nil
}

func listSessions(ctx context.Context, c *call, a sessionsArgs) (session.List, string, error) {
	n, err := limit(a.Limit)
	if err != nil {
		return session.List{}, "", err
	}
	out, err := c.Sessions(ctx, c.caller, session.ListRequest{State: session.State(a.State), Element: a.Element, User: a.User, Limit: n})
	if err != nil {
		return out, "", err
	}
	return out, sessionsText(out), nil
}

// worker is the caller of a call about its own work session. Where calls that name none are told apart by their token alone, all
// agents with that token would be one: such a call has no session.
func (c *call) worker() memory.Caller {
	who := c.caller
	if c.shared {
		who.Session = ""
	}
	return who
}

// startedText tells what stands in the way first, then what is known. What others wrote is fenced.
func startedText(s session.Started) string {
	var b strings.Builder
	switch s.Gate.Verdict {
	case session.Deny:
		b.WriteString("Denied: no session was started.\n" + memory.RenderReference(s.Gate.Reasons))
		b.WriteString("\nWork on another element, or wait until they have finished (list_work_sessions).")
		if !alone(s.Conflicts) {
			b.WriteString(" To work beside them, start again without exclusive.")
		}
		b.WriteString(" When it cannot wait, ask the person you work for.")
		return b.String() + notes(s.Warnings)
	case session.Warn:
		b.WriteString("Others work here. Keep out of what they change, or tell the person you work for.\n" + memory.RenderReference(s.Gate.Reasons) + "\n")
	case session.Allow:
	}
	if s.Adopted {
		b.WriteString("This goes on with your open session. ")
	}
	if len(s.Leases) > 0 {
		b.WriteString("You work on " + leasesText(s.Leases) + ".\n")
	} else {
		b.WriteString("No element is named yet: name it with heartbeat_work_session once you know it.\n")
	}
	if s.Briefing == "" {
		b.WriteString("Work session " + s.SessionID)
	}
	b.WriteString(s.Briefing)
	return strings.TrimRight(b.String(), "\n") + notes(s.Warnings)
}

// alone tells whether somebody wants to be alone: then nobody gets in, exclusively or not.
func alone(conflicts []session.Conflict) bool {
	for _, c := range conflicts {
		if c.Exclusive {
			return true
		}
	}
	return false
}

func leasesText(leases []session.Lease) string {
	parts := make([]string, len(leases))
	for n, l := range leases {
		parts[n] = memory.Line(l.Element.Key)
		switch {
		case l.Exclusive:
			parts[n] += " (alone)"
		case l.Soft:
			parts[n] += " (seen by a hook)"
		}
	}
	return strings.Join(parts, ", ")
}

func statusText(s session.Status) string {
	text := "Work session " + s.SessionID + " is " + string(s.State) + "."
	if len(s.Leases) > 0 {
		text += " You work on " + leasesText(s.Leases) + "."
	}
	if len(s.Conflicts) > 0 { // they quote others
		return text + "\n" + memory.RenderReference(s.Warnings)
	}
	return text + notes(s.Warnings)
}

func endedText(e session.Ended) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Finished %s.", e.SessionID)
	switch {
	case e.Memory == nil:
		b.WriteString(" Nothing was said, decided or edited, so there is no outcome.")
	case len(e.Memory.Elements) == 0:
		fmt.Fprintf(&b, " Outcome %s, on no element.", e.Memory.Handle)
	default:
		fmt.Fprintf(&b, " Outcome %s on %s.", e.Memory.Handle, attachments(e.Memory.Elements))
	}
	line := func(head string, items []string) {
		if len(items) > 0 {
			b.WriteString("\n" + head + ": " + strings.Join(items, "; ") + ".")
		}
	}
	line("Cited", e.Cited)
	unmatched := make([]string, len(e.Unmatched))
	for n, u := range e.Unmatched {
		unmatched[n] = fmt.Sprintf("%q", memory.Line(u))
	}
	line("Unmatched, no memory known here", unmatched)
	line("Left open", texts(e.FollowUps))
	line("Closed", texts(e.Closed))
	for _, x := range e.Redacted {
		fmt.Fprintf(&b, "\nRemoved before storing: %d × %s.", x.Count, x.Kind)
	}
	return b.String() + notes(e.Warnings)
}

func texts(followUps []session.FollowUp) []string {
	out := make([]string, len(followUps))
	for n, f := range followUps {
		out[n] = strings.TrimRight(memory.Line(f.Text), ".")
	}
	return out
}

// sessionsText lists who works where; tasks are what others wrote.
func sessionsText(l session.List) string {
	if len(l.Sessions) == 0 {
		return "Nobody works here."
	}
	lines := make([]string, len(l.Sessions))
	for n, s := range l.Sessions {
		lines[n] = fmt.Sprintf("%s %s %s since %s", s.SessionID, memory.Line(s.Author), s.State, s.StartedAt.UTC().Format("2006-01-02 15:04 UTC"))
		if len(s.Leases) > 0 {
			lines[n] += ", on " + leasesText(s.Leases)
		}
		if s.Outcome != "" {
			lines[n] += ", outcome " + s.Outcome
		}
		if s.Task != "" {
			lines[n] += ": " + memory.Line(s.Task)
		}
	}
	text := memory.RenderReference(lines)
	if l.NextCursor != "" {
		text += "\nThere are older ones."
	}
	return text
}

// notes are warnings about what the caller itself did.
func notes(warnings []string) string {
	var b strings.Builder
	for _, w := range warnings {
		b.WriteString("\nNote: " + memory.Line(w))
	}
	return b.String()
}
