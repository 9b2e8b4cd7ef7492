package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

// undoWithoutReason is how many memories may change without saying why: what takes more than a glance to check wants a
// word in the history of each.
const undoWithoutReason = 10

// undo takes back what an author did, after saying what that is.
func (a *app) undo(ctx context.Context, author, since, reason string, everywhere, dry, yes bool) error {
	if author == "" || since == "" {
		return problem.Invalidf("author", "whose work to take back needs both --author and --since").Fix("give both; stele audit shows who did what and when")
	}
	at, err := sinceWhen(since, time.Now())
	if err != nil {
		return err
	}
	return a.with(ctx, true, func(b *backend, c memory.Caller) error {
		plan, err := b.Undo(ctx, c, memory.UndoRequest{Author: author, Since: at, Reason: reason, Everywhere: everywhere, DryRun: true})
		if err != nil {
			return err
		}
		changes := len(plan.Retired) + len(plan.Restored)
		if dry || changes == 0 {
			return a.answer(plan, func(p *printer) { p.undone(plan, "would be ") })
		}
		if changes > undoWithoutReason && strings.TrimSpace(reason) == "" {
			return problem.Invalidf("reason", "this would change %d memories, and more than %d want a reason", changes, undoWithoutReason).
				Fix("say --reason, which the history of each will show").Fix("see them with --dry-run")
		}
		if !yes {
			if !a.json {
				p := a.printer()
				p.undone(plan, "would be ")
			}
			agreed, err := a.ask(fmt.Sprintf("Do this to %s?", count(changes, "memory")))
			if err != nil {
				return err
			}
			if !agreed {
				return problem.New(problem.Invalid, "", "nothing was changed", "say --yes to do it without being asked")
			}
		}
		done, err := b.Undo(ctx, c, memory.UndoRequest{Author: author, Since: at, Reason: reason, Everywhere: everywhere})
		if err != nil {
			return err
		}
		return a.answer(done, func(p *printer) { p.undone(done, "") })
	})
}

// undone tells what became, or would become, of an author's work.
func (p *printer) undone(r memory.UndoResponse, would string) {
	for _, part := range []struct {
		handles []string
		verb    string
	}{{r.Retired, would + "retired"}, {r.Restored, would + "restored"}, {r.Undone, "taken back before"}} {
		if len(part.handles) > 0 {
			p.hanging(fmt.Sprintf("%s %s: ", count(len(part.handles), "memory"), part.verb), indent, strings.Join(part.handles, ", "))
		}
	}
	for _, k := range r.Kept {
		p.hanging(indent+pad(k.Memory, 11)+string(k.Verb)+" is left: ", indent+indent, memory.Line(k.Reason))
	}
	if len(r.Retired)+len(r.Restored)+len(r.Undone)+len(r.Kept) == 0 {
		p.line("there is nothing of this author since then to take back")
	}
}
