package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/stele-dev/stele/memory"
	"github.com/stele-dev/stele/review"
)

// words of names such as evidence_gone.
func spelledOut[T ~string](name T) string {
	return strings.ReplaceAll(memory.Line(string(name)), "_", " ")
}

// queue writes a page of the review queue.
func (p *printer) queue(q review.Queue) {
	if q.Total == 0 {
		p.line("Nothing is to be looked at")
	} else {
		open := 0
		var parts []string
		for _, reason := range review.Reasons {
			if n := q.Counts[reason]; n > 0 {
				open += n
				parts = append(parts, fmt.Sprintf("%d %s", n, spelledOut(reason)))
			}
		}
		head := count(q.Total, "group") + " to look at, " + count(open, "item")
		if q.CanWait > 0 {
			head += fmt.Sprintf("; %d can wait", q.CanWait)
		}
		p.line("%s", p.paint(strong, head))
		p.hanging(indent, indent, strings.Join(parts, ", "))
	}
	for n, g := range q.Groups {
		if g.CanWait && n > 0 && !q.Groups[n-1].CanWait {
			p.line("")
			p.hanging("", "", "What can wait: nobody was shown these in the last 30 days.")
		}
		p.line("")
		p.groupHead(g)
		shown := 0
		for _, i := range q.Items {
			if i.Group == g.ID {
				p.itemLine(indent+indent, i)
				shown++
			}
		}
		if more := g.Count - shown; more > 0 {
			p.line("%sand %d more: stele review show %s", indent+indent, more, memory.Line(g.ID))
		}
		p.actions(g)
	}
	if q.NotMine > 0 {
		p.line("")
		p.hanging("", indent, count(q.NotMine, "item")+" of others: stele review --all")
	}
	if q.NextCursor != "" {
		p.line("")
		p.line("More groups: stele review --cursor %s", memory.Line(q.NextCursor))
	}
	if len(q.Groups) > 0 {
		p.line("")
		first := q.Groups[0]
		p.line("Open one: stele review show %s", memory.Line(first.ID))
		p.line("Decide:   stele review ACTION %s", memory.Line(first.ID))
	}
}

// verb is the command of an action.
func verb(a review.Action) string { return strings.ReplaceAll(memory.Line(string(a)), "_", "-") }

// groupHead writes what a group is about.
func (p *printer) groupHead(g review.Group) {
	head := p.paint(strong, memory.Line(g.ID)) + "  " + p.paint(alarm, spelledOut(g.Reason))
	if g.Count > 1 && !strings.HasPrefix(g.Line, strconv.Itoa(g.Count)+" ") { // said once: one stands below alone, and most lines begin with it
		head += ", " + count(g.Count, "item")
	}
	if g.Served > 0 {
		head += ", shown " + count(g.Served, "time") + " lately"
	}
	if g.Today {
		head += ", in a briefing today"
	}
	p.title(head)
	p.hanging(indent, indent, memory.Line(g.Line))
}

// actions writes what can be done about a group.
func (p *printer) actions(g review.Group) {
	if len(g.Actions) == 0 {
		return
	}
	verbs := make([]string, len(g.Actions))
	for n, a := range g.Actions {
		verbs[n] = verb(a)
	}
	p.hanging(indent+p.paint(faint, "can: "), indent+"     ", p.paint(faint, strings.Join(verbs, ", ")))
}

// itemLine names the memory of an item in one line, and of a conflict the other one in a second.
func (p *printer) itemLine(indent string, i review.Item) {
	line := func(m memory.Memory, before string) {
		first := m.Title
		if first == "" {
			first = firstLine(m.Content)
		}
		p.line("%s", short(indent+before+p.paint(strong, memory.Line(m.Handle))+"  "+kindName(m.Kind)+"  "+memory.Line(first), p.width))
	}
	line(i.Memory, "")
	if i.Other != nil {
		line(*i.Other, "against ")
	}
}

// group writes a group with its memories in full.
func (p *printer) group(page review.GroupPage) {
	p.groupHead(page.Group)
	p.line("%ssince %s", indent, page.Group.Since.UTC().Format(dateTime))
	p.actions(page.Group)
	for _, i := range page.Items {
		p.line("")
		p.item(i)
	}
	if page.NextCursor != "" {
		p.line("")
		p.line("More items: stele review show %s --cursor %s", memory.Line(page.Group.ID), memory.Line(page.NextCursor))
	}
}

// item writes a memory with what speaks for looking at it.
func (p *printer) item(i review.Item) {
	p.title(p.heading(i.Memory))
	p.hanging(indent, indent+indent, p.paint(alarm, strings.ToUpper(spelledOut(i.Reason)))+": "+memory.Line(i.Evidence))
	for _, f := range i.Memory.Flags {
		if f.Reason != i.Evidence {
			p.hanging(indent, indent+indent, p.paint(alarm, strings.ToUpper(memory.Line(f.Flag)))+": "+memory.Line(f.Reason))
		}
	}
	p.prose(indent, i.Memory.Content)
	if i.Memory.Why != "" {
		p.hanging(indent+"why: ", indent+"     ", memory.Plain(i.Memory.Why))
	}
	p.facts(i.Memory)
	if o := i.Other; o != nil {
		p.title(indent + "against " + p.heading(*o))
		p.prose(indent+indent, o.Content)
	}
	since := "since " + i.Since.UTC().Format(time.DateOnly)
	if i.Served > 0 {
		since += ", shown " + count(i.Served, "time") + " in 30 days"
	}
	p.line("%s%s", indent, since)
	p.line("%sitem: %s", indent, memory.Line(i.ID))
}

// done says what each action did.
var done = map[review.Action]string{
	review.Confirm: "Confirmed", review.Dispute: "Marked as disputed:", review.Edit: "Wrote anew:", review.Merge: "Merged", review.Retire: "Retired",
	review.Restore: "Restored", review.Snooze: "Put off:", review.Reattach: "Attached anew:", review.AcceptBinding: "Bound anew:", review.Promote: "Promoted",
	review.Keep: "Kept as they are:",
}

// decided tells what was decided.
func (p *printer) decided(d review.Decision) {
	what := done[d.Action]
	if what == "" {
		what = spelledOut(d.Action) + ":"
	}
	p.line("%s", p.paint(strong, what+" "+count(d.Count, "memory"))+", "+count(d.Items, "item")+" settled")
	p.aftermath(d)
	p.line("%stake it back: stele review undo %s", indent, memory.Line(d.ID))
}

// takenBack tells what became of a decision that was undone.
func (p *printer) takenBack(d review.Decision) {
	p.line("%s", p.paint(strong, "Took back: "+verb(d.Action)+" of "+count(d.Count, "memory")))
	p.aftermath(d)
}

// aftermath writes the memories of a decision, and what was left.
func (p *printer) aftermath(d review.Decision) {
	if len(d.Memories) > 0 {
		names := strings.Join(d.Memories, ", ")
		if more := d.Count - len(d.Memories); more > 0 {
			names += fmt.Sprintf(" and %d more", more)
		}
		p.hanging(indent, indent, memory.Line(names))
	}
	if d.Into != "" {
		p.line("%sstands for them now: %s", indent, memory.Line(d.Into))
	}
	if d.Until != nil {
		p.line("%suntil %s", indent, d.Until.UTC().Format(dateTime))
	}
	for _, k := range d.Kept {
		p.hanging(indent+pad(memory.Line(k.Memory), 11)+"is left as it is: ", indent+indent, memory.Line(k.Reason))
	}
}

// decisions writes a page of the history.
func (p *printer) decisions(h review.History) {
	for n, d := range h.Decisions {
		if n > 0 {
			p.line("")
		}
		head := p.paint(strong, verb(d.Action)) + " of " + count(d.Count, "memory") + ", " + count(d.Items, "item") + " settled, by " + memory.Line(d.Author)
		if d.Door != "" {
			head += " (" + memory.Line(d.Door) + ")"
		}
		p.hanging(d.At.UTC().Format(dateTime)+"  ", indent, head)
		p.line("%sdecision %s", indent, memory.Line(d.ID))
		if d.Reason != "" {
			p.hanging(indent+"reason: ", indent+"        ", memory.Line(d.Reason))
		}
		p.aftermath(d)
		if d.UndoneAt != nil {
			p.line("%s", indent+p.paint(alarm, "taken back")+" "+d.UndoneAt.UTC().Format(dateTime)+" by "+memory.Line(d.UndoneBy))
		}
	}
	if len(h.Decisions) == 0 {
		p.line("Nothing was decided yet")
	}
	if h.NextCursor != "" {
		p.line("")
		p.line("More decisions: stele review history --cursor %s", memory.Line(h.NextCursor))
	}
}
