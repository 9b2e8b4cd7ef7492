package mcp

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
	"github.com/stele-dev/stele/review"
)

// reviewService is what the review queue is asked of.
type reviewService interface {
	ReviewQueue(ctx context.Context, c memory.Caller, r review.QueueRequest) (review.Queue, error)
	ReviewGroup(ctx context.Context, c memory.Caller, r review.GroupRequest) (review.GroupPage, error)
	DecideReview(ctx context.Context, c memory.Caller, r review.DecideRequest) (review.Decision, error)
	UndoReview(ctx context.Context, c memory.Caller, decision string) (review.Decision, error)
}

type reviewQueueArgs struct {
	All     bool     `arg:"all" doc:"also what is not yours"`
	Reasons []string `arg:"reason" doc:"only these" enum:"drifted,evidence_gone,rewritten,disputed,conflict,ignored,stale,orphaned,expired,dangling_link,unreviewed"`
	Group   string   `arg:"group" doc:"open this one"`
	Limit   *int     `arg:"limit"`
	Cursor  string   `arg:"cursor"`
	readPlace
}

type resolveReviewArgs struct {
	Action   string   `arg:"action,required" enum:"confirm,dispute,edit,merge,retire,restore,snooze,reattach,accept_binding,promote,keep,undo"`
	Group    string   `arg:"group" doc:"with all its items"`
	Items    []string `arg:"item" doc:"ids of items"`
	Memories []string `arg:"memory" also:"handle" doc:"handles or titles"`
	Expected *int     `arg:"expected" doc:"items of the group as you saw it"`
	Reason   string   `arg:"reason" also:"note" doc:"why; wanted for more than 10"`
	Until    string   `arg:"until" doc:"snooze: time or date"`
	Elements []string `arg:"element" doc:"reattach: all of them"`
	Into     string   `arg:"into" doc:"merge: the memory that stays"`
	Title    string   `arg:"title"`
	Content  string   `arg:"content" also:"text" doc:"edit, merge: the new text"`
	Why      string   `arg:"why"`
	Decision string   `arg:"decision" doc:"undo: its id"`
	place
}

func queueTool(ctx context.Context, c *call, a reviewQueueArgs) (review.Queue, string, error) {
	n, err := reviewLimit(a.Limit)
	if err != nil {
		return review.Queue{}, "", err
	}
	if a.Group != "" {
		page, err := c.ReviewGroup(ctx, c.caller, review.GroupRequest{Group: a.Group, Limit: n, Cursor: a.Cursor})
		if err != nil {
			return review.Queue{}, "", err
		}
		out := review.Queue{Groups: []review.Group{page.Group}, Items: page.Items, Counts: map[review.Reason]int{page.Group.Reason: page.Group.Count}, Total: 1,
			NextCursor: page.NextCursor}
		return out, queueText(out, true), nil
	}
	r := review.QueueRequest{All: a.All, Limit: n, Cursor: a.Cursor}
	for _, reason := range a.Reasons {
		r.Reasons = append(r.Reasons, review.Reason(reason))
	}
	q, err := c.ReviewQueue(ctx, c.caller, r)
	if err != nil {
		return review.Queue{}, "", err
	}
	return q, queueText(q, false), nil
}

// reviewLimit refuses what the domain would take for "the default".
func reviewLimit(n *int) (int, error) {
	switch {
	case n == nil:
		return 0, nil
	case *n < 1 || *n > review.MaxLimit:
		return 0, problem.Invalidf("limit", "%d is out of range", *n).Fix("give 1 to %d", review.MaxLimit)
	}
	return *n, nil
}

func resolveReview(ctx context.Context, c *call, a resolveReviewArgs) (review.Decision, string, error) {
	if a.Action == "undo" {
		d, err := c.UndoReview(ctx, c.caller, a.Decision)
		if err != nil {
			return d, "", err
		}
		return d, "Took back " + decisionText(d), nil
	}
	if a.Decision != "" {
		return review.Decision{}, "", problem.Invalidf("decision", "only undo takes a decision").Fix("leave it out, or use action undo")
	}
	until, err := moment("until", a.Until)
	if err != nil {
		return review.Decision{}, "", err
	}
	r := review.DecideRequest{
		Action: review.Action(a.Action), Group: a.Group, Items: a.Items, Memories: a.Memories, Reason: a.Reason, Until: until, Elements: a.Elements,
		Into: a.Into, Title: a.Title, Content: a.Content, Why: a.Why,
	}
	if a.Expected != nil {
		r.Expected = *a.Expected
	}
	if r.Action == review.Confirm {
		r.Seen = c.backend.Seen(ctx)
	}
	d, err := c.DecideReview(ctx, c.caller, r)
	if err != nil {
		return d, "", err
	}
	return d, "Decided " + decisionText(d), nil
}

// queueText tells a model what there is to decide. Causes and evidence quote memories, so they are fenced.
func queueText(q review.Queue, opened bool) string {
	var lines []string
	for _, g := range q.Groups {
		line := fmt.Sprintf("%s %s, %s: %s", g.ID, memory.Line(string(g.Reason)), items(g.Count), memory.Line(g.Line))
		if len(g.Actions) > 0 {
			line += " [" + actionWords(g.Actions) + "]"
		}
		lines = append(lines, line)
		for _, i := range q.Items {
			if i.Group != g.ID {
				continue
			}
			line := memory.Line(i.ID) + " " + memory.Line(string(i.Memory.Kind)) + ": " + firstLine(i.Memory)
			if opened {
				line += " — " + memory.Line(i.Evidence)
			}
			if i.Other != nil {
				line += " — against " + memory.Line(i.Other.Handle) + ": " + firstLine(*i.Other)
			}
			lines = append(lines, line)
		}
	}
	head := "Nothing is to be looked at."
	if len(lines) > 0 {
		head = "To decide, call resolve_review with a group or with items; get_memories shows memories in full.\n" + memory.RenderReference(lines)
	}
	if q.NotMine > 0 {
		head += fmt.Sprintf("\n%s of others are left out; all: true shows them.", items(q.NotMine))
	}
	if q.NextCursor != "" {
		head += "\nThere is more: pass cursor."
	}
	return head
}

// maxFirstLine bounds what is quoted of a memory, in characters: enough to know it again.
const maxFirstLine = 160

func firstLine(m memory.Memory) string {
	text := m.Title
	if text == "" {
		text, _, _ = strings.Cut(strings.TrimSpace(m.Content), "\n")
	}
	line := []rune(memory.Line(text))
	if len(line) > maxFirstLine {
		return string(line[:maxFirstLine-1]) + "…"
	}
	return string(line)
}

func items(n int) string {
	if n == 1 {
		return "1 item"
	}
	return fmt.Sprintf("%d items", n)
}

func actionWords(actions []review.Action) string {
	words := make([]string, len(actions))
	for i, a := range actions {
		words[i] = string(a)
	}
	return strings.Join(words, ", ")
}

func decisionText(d review.Decision) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s): %s settled, %d memories.", memory.Line(string(d.Action)), d.ID, items(d.Items), d.Count)
	if d.Into != "" {
		b.WriteString(" " + d.Into + " stands for them now.")
	}
	if d.Until != nil {
		b.WriteString(" They come back on " + d.Until.UTC().Format(time.RFC3339) + ".")
	}
	for _, k := range d.Kept {
		b.WriteString("\nLeft as it is: " + memory.Line(k.Memory) + ": " + memory.Line(k.Reason))
	}
	return b.String()
}
