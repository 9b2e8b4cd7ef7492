package session

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
	"github.com/stele-dev/stele/memory/terms"
)

// FinishSession ends a session: one outcome on all elements it worked on, citations of what it used, follow-ups. A session that
// said nothing, decided nothing and edited nothing leaves no outcome. Finishing again gives the first answer.
func (s *Service) FinishSession(ctx context.Context, c memory.Caller, r FinishRequest) (Ended, error) {
	redacted, err := r.clean()
	if err != nil {
		return Ended{}, err
	}
	var st Stored
	var e ending
	if err := s.view(ctx, c, func(v View) error {
		if st, err = own(ctx, v, c, r.Session); err != nil {
			return err
		}
		e, err = endingOf(ctx, v, st, Checkpoint{r.Summary, r.Decisions, r.FollowUps}, r.Outcome)
		return err
	}); err != nil {
		return Ended{}, fmt.Errorf("finish work session: %w", err)
	}
	prepared, err := s.prepare(ctx, c.Org, st, e, r.Seen)
	if err != nil {
		return Ended{}, err
	}
	var out Ended
	err = s.write(ctx, c, func(tx Tx) error {
		w := work{Service: s, tx: tx, caller: c, now: s.memory.Now()}
		now, err := own(ctx, tx, c, st.Name)
		if err != nil {
			return err
		}
		if now.State == Finished || now.State == Cancelled {
			out, err = w.repeated(ctx, now)
			return err
		}
		if now.Outcome != st.Outcome {
			return errMoved // it expired or was reopened meanwhile: what the outcome replaces is another one
		}
		out, err = w.finish(ctx, now, r, e, prepared)
		out.Redacted = redacted
		return err
	})
	if err != nil {
		return Ended{}, fmt.Errorf("finish work session: %w", err)
	}
	s.beats.forget(c, st.Name)
	return out, nil
}

var errMoved = problem.New(problem.Conflict, clientField, "the work session changed at this moment", "finish it again")

func (r *FinishRequest) clean() ([]memory.Redaction, error) {
	point := Checkpoint{r.Summary, r.Decisions, r.FollowUps}
	redacted, err := point.clean()
	if err != nil {
		return nil, err
	}
	r.Summary, r.Decisions, r.FollowUps = point.Summary, point.Decisions, point.FollowUps
	if len(r.UsedMemories) > MaxUsedMemories {
		return nil, problem.Invalidf("used_memories", "%d names are more than the %d of one session", len(r.UsedMemories), MaxUsedMemories).
			Fix("name those the work relied on")
	}
	if len(r.Closes) > MaxUsedMemories {
		return nil, problem.Invalidf("closes", "%d follow-ups are more than the %d of one session", len(r.Closes), MaxUsedMemories).Fix("name the outcomes that left them")
	}
	switch r.Outcome {
	case "":
		r.Outcome = Done
	case Done, Incomplete, Failed:
	default:
		return nil, problem.Invalidf("outcome", "%q is not how a session ends", clip(string(r.Outcome))).Fix("use done, partial or failed")
	}
	return redacted, nil
}

// ending is what a session leaves behind.
type ending struct {
	point    Checkpoint
	outcome  Outcome
	elements []string // keys
	dropped  int      // elements beyond what a memory can be attached to
	edited   []string
	replaces string // handle of an earlier outcome of the session
}

// endingOf collects what the outcome of a session is made of. What it did not say now, its checkpoint said.
func endingOf(ctx context.Context, v View, st Stored, said Checkpoint, outcome Outcome) (ending, error) {
	e := ending{point: st.Body.Checkpoint, outcome: outcome}
	e.point.update(said)
	leases, err := leasesOf(ctx, v, st.Project, []uuid.UUID{st.ID}, false)
	if err != nil {
		return e, err
	}
	for _, l := range leases[st.ID] {
		if !l.Element.Orphan && l.Element.Key != "" {
			e.elements = append(e.elements, l.Element.Key)
		}
	}
	if most := memory.MaxElements; len(e.elements) > most {
		e.dropped, e.elements = len(e.elements)-most, e.elements[:most]
	}
	edits, err := v.Edits(ctx, []uuid.UUID{st.ID}, time.Time{})
	if err != nil {
		return e, err
	}
	for _, f := range edits {
		e.edited = append(e.edited, f.Path)
	}
	slices.Sort(e.edited)
	if st.Outcome != uuid.Nil {
		recs, err := v.Records(ctx, []uuid.UUID{st.Outcome})
		if err != nil {
			return e, err
		}
		if len(recs) == 1 && recs[0].Status == memory.Live {
			e.replaces = recs[0].Handle
		}
	}
	return e, nil
}

// nothing tells that a session leaves no outcome.
func (e ending) nothing() bool { return e.point.empty() && len(e.edited) == 0 }

// mostNamed is how many edited files an outcome names; the rest is counted.
const mostNamed = 20

// text is the outcome in words: what was done, then what was asked, decided, edited and left open.
func (e ending) text(task string) string {
	var b strings.Builder
	switch {
	case e.point.Summary != "":
		b.WriteString(e.point.Summary)
	case task != "":
		b.WriteString("Worked on: " + task)
	case len(e.edited) > 0:
		fmt.Fprintf(&b, "Edited %d files", len(e.edited))
	default:
		b.WriteString("Worked here")
	}
	switch e.outcome {
	case Failed:
		b.WriteString("\n\nIt failed.")
	case Incomplete:
		b.WriteString("\n\nIt is not finished.")
	case Done:
	}
	if e.point.Summary != "" && task != "" {
		b.WriteString("\n\nTask: " + memory.Line(task))
	}
	list := func(head string, items []string) {
		if len(items) > 0 {
			b.WriteString("\n\n" + head + ":\n- " + strings.Join(items, "\n- "))
		}
	}
	list("Decisions", e.point.Decisions)
	files := slices.Clone(e.edited[:min(len(e.edited), mostNamed)])
	if more := len(e.edited) - len(files); more > 0 {
		files = append(files, fmt.Sprintf("and %d more", more))
	}
	list("Edited", files)
	list("Follow-ups", e.point.FollowUps)
	return b.String()
}

// prepare makes the outcome ready, nil when there is none; not under the lock, since it is embedded.
func (s *Service) prepare(ctx context.Context, org uuid.UUID, st Stored, e ending, seen *memory.Seen) (*memory.Prepared, error) {
	if e.nothing() {
		return nil, nil
	}
	text := e.text(st.Body.Task)
	if len(text) > memory.MaxContentBytes {
		return nil, problem.Invalidf("summary", "with decisions and follow-ups it has %d bytes, more than the %d of a memory", len(text), memory.MaxContentBytes).
			Fix("shorten it; facts that last belong in remember")
	}
	p, err := s.memory.Prepare(ctx, st.author(org), memory.RememberRequest{Kind: memory.SessionOutcome, Content: text, Elements: e.elements,
		Supersedes: e.replaces, Separate: true, Seen: seen, Anchor: st.Body.Anchor})
	if err != nil {
		return nil, err
	}
	return &p, nil
}

// finish stores what a session leaves and closes it.
func (w *work) finish(ctx context.Context, st Stored, r FinishRequest, e ending, outcome *memory.Prepared) (Ended, error) {
	out := Ended{SessionID: st.Name, Cited: []string{}, Unmatched: []string{}, FollowUps: []FollowUp{}, Closed: []FollowUp{}, Warnings: []string{}}
	if e.dropped > 0 {
		out.Warnings = append(out.Warnings, fmt.Sprintf("the outcome is on %d elements; %d more are left out", len(e.elements), e.dropped))
	}
	var err error
	if out.Closed, err = w.closeFollowUps(ctx, st, r.Closes, &out); err != nil {
		return out, err
	}
	if err := w.leave(ctx, &st, e, outcome, &out); err != nil {
		return out, err
	}
	if err := w.cite(ctx, st, r, &out); err != nil {
		return out, err
	}
	if r.UsedMemories != nil {
		st.Reporting = true
		if err := w.tx.Report(ctx, st.Name); err != nil {
			return out, err
		}
	}
	st.State, st.BeatAt, st.EndedAt, st.Partial = Finished, w.now, w.now, false
	st.Body.Unmatched = out.Unmatched
	if r.Seen != nil {
		st.Seen = memory.Seen{Commit: r.Seen.Commit, Branch: r.Seen.Branch}
	}
	if err := w.tx.ReleaseLeases(ctx, st.ID, w.now); err != nil {
		return out, err
	}
	if err := w.tx.SaveSession(ctx, st); err != nil {
		return out, err
	}
	return out, w.audit(ctx, VerbFinish, st)
}

// leave stores the outcome and what it leaves to do, in place of what an earlier outcome of the session left.
func (w *work) leave(ctx context.Context, st *Stored, e ending, outcome *memory.Prepared, out *Ended) error {
	if outcome == nil {
		return nil
	}
	author := st.author(w.caller.Org)
	answer, err := w.memory.Place(ctx, w.tx, author, *outcome)
	if err != nil {
		return err
	}
	out.Memory = &answer.Memory
	out.Warnings = append(out.Warnings, answer.Warnings...)
	st.Outcome, st.Body.Checkpoint = answer.Memory.ID, Checkpoint{}
	if err := w.tx.ForgetFollowUps(ctx, st.ID, w.now); err != nil {
		return err
	}
	texts, err := w.newFollowUps(ctx, e.point.FollowUps)
	if err != nil {
		return err
	}
	if err := w.tx.OpenFollowUps(ctx, *st, texts, w.now); err != nil {
		return err
	}
	for _, text := range texts {
		out.FollowUps = append(out.FollowUps, FollowUp{Text: text, SessionID: st.Name, Outcome: answer.Memory.Handle, OpenedAt: w.now})
	}
	return nil
}

// mostFollowUps bounds the open follow-ups of a project that are looked at; the newest come first.
const mostFollowUps = 500

// newFollowUps leaves out what an earlier session left in the same words: it is the same piece of work, and is open already.
func (w *work) newFollowUps(ctx context.Context, texts []string) ([]string, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	open, err := w.tx.FollowUps(ctx, w.caller.Project, mostFollowUps)
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for _, f := range open {
		known[terms.Fold(f.Text)] = true
	}
	return slices.DeleteFunc(slices.Clone(texts), func(t string) bool { return known[terms.Fold(t)] }), nil
}

// closeFollowUps closes the open follow-ups that are named by their words or by the outcome that left them.
func (w *work) closeFollowUps(ctx context.Context, st Stored, names []string, out *Ended) ([]FollowUp, error) {
	closed := []FollowUp{}
	if len(names) == 0 {
		return closed, nil
	}
	open, err := w.tx.FollowUps(ctx, w.caller.Project, mostFollowUps)
	if err != nil {
		return nil, err
	}
	var ids []uuid.UUID
	for _, name := range names {
		folded, found := terms.Fold(name), false
		for _, f := range open {
			if terms.Fold(f.Text) != folded && !strings.EqualFold(f.Outcome, strings.TrimSpace(name)) && f.ID.String() != strings.TrimSpace(name) {
				continue
			}
			found = true
			if !slices.Contains(ids, f.ID) {
				ids, closed = append(ids, f.ID), append(closed, f)
			}
		}
		if !found {
			out.Warnings = append(out.Warnings, fmt.Sprintf("no open follow-up is called %q", clip(name)))
		}
	}
	if len(ids) == 0 {
		return closed, nil
	}
	return closed, w.tx.CloseFollowUps(ctx, ids, st.ID, w.now)
}

// repeated is the answer to finishing what is over.
func (w *work) repeated(ctx context.Context, st Stored) (Ended, error) {
	if st.State == Cancelled {
		return Ended{}, over(st)
	}
	out := Ended{SessionID: st.Name, Cited: []string{}, Unmatched: some(st.Body.Unmatched), FollowUps: []FollowUp{}, Closed: []FollowUp{},
		Repeated: true, Redacted: []memory.Redaction{}, Warnings: []string{"it had been finished before; nothing was stored now"}}
	ids, err := w.tx.CitedBy(ctx, st.Name)
	if err != nil {
		return out, err
	}
	if st.Outcome != uuid.Nil {
		ids = append(ids, st.Outcome)
	}
	memories, err := w.memory.ShowRecords(ctx, w.tx, w.caller, ids)
	if err != nil {
		return out, err
	}
	for i := range memories {
		if memories[i].ID == st.Outcome {
			out.Memory = &memories[i]
		} else {
			out.Cited = append(out.Cited, memories[i].Handle)
		}
	}
	open, err := w.tx.FollowUps(ctx, st.Project, mostFollowUps)
	for _, f := range open {
		if f.SessionID == st.Name {
			out.FollowUps = append(out.FollowUps, f)
		}
	}
	return out, err
}

// CancelSession ends a session without a trace of what it did: no outcome, no follow-ups. Another's needs the reviewer role.
func (s *Service) CancelSession(ctx context.Context, c memory.Caller, ref string) (Summary, error) {
	var out Summary
	err := s.write(ctx, c, func(tx Tx) error {
		w := work{Service: s, tx: tx, caller: c, now: s.memory.Now()}
		st, err := own(ctx, tx, c, ref)
		if problem.Is(err, problem.NotFound) && c.MayReview() && IsName(ref) {
			anyone, ok, verr := tx.Session(ctx, "", ref)
			if verr != nil {
				return verr
			}
			if ok && anyone.Project == c.Project {
				st, err = anyone, nil
			}
		}
		switch {
		case err != nil:
			return err
		case st.State == Finished:
			return over(st)
		case st.State == Cancelled:
			out, err = w.summary(ctx, st)
			return err
		}
		if err := w.cancel(ctx, &st); err != nil {
			return err
		}
		out, err = w.summary(ctx, st)
		return err
	})
	if err != nil {
		return Summary{}, fmt.Errorf("cancel work session: %w", err)
	}
	s.beats.forget(c, out.SessionID)
	return out, nil
}

func (w *work) cancel(ctx context.Context, st *Stored) error {
	if st.Outcome != uuid.Nil { // what it left when it expired
		recs, err := w.tx.Records(ctx, []uuid.UUID{st.Outcome})
		if err != nil {
			return err
		}
		if len(recs) == 1 && recs[0].Status == memory.Live {
			if err := w.tx.SetStatus(ctx, &recs[0], memory.Retired, uuid.Nil, nil); err != nil {
				return err
			}
			if err := w.tx.Audit(ctx, w.caller, memory.AuditEntry{At: w.now, Verb: memory.VerbRetire, Subject: st.Outcome, Revision: recs[0].Revision}); err != nil {
				return err
			}
		}
	}
	if err := w.tx.ForgetFollowUps(ctx, st.ID, w.now); err != nil {
		return err
	}
	if err := w.tx.ReleaseLeases(ctx, st.ID, w.now); err != nil {
		return err
	}
	st.State, st.EndedAt, st.Body.Checkpoint = Cancelled, w.now, Checkpoint{}
	if err := w.tx.SaveSession(ctx, *st); err != nil {
		return err
	}
	return w.audit(ctx, VerbCancel, *st)
}
