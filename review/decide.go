package review

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

// The verbs of the trail; the subject is the decision.
const (
	VerbDecide memory.Verb = "review"
	VerbUndo   memory.Verb = "undo_review"
)

const (
	// maxTogether is how many memories are decided about in one transaction, which holds the project all the while: a person
	// waits for a second, and so do agents that write. A decision about more goes on in further ones; when it is cut off, what
	// is left is open, and deciding again completes it.
	maxTogether = 500
	// maxNamed bounds the items or memories of one request.
	maxNamed = 500
	// maxSnooze is how far off the end of a snooze may be.
	maxSnooze = 366 * 24 * time.Hour
)

// DecideReview decides about a group, items, or memories with all their items. Everything happens or nothing does, up to 500
// memories; a larger decision happens in steps of so many. Of two people who decide about the same at once the second is told
// of the first.
func (s *Service) DecideReview(ctx context.Context, c memory.Caller, r DecideRequest) (Decision, error) {
	if err := check(c); err != nil {
		return Decision{}, err
	}
	d := deciding{Service: s, caller: c, request: r, stored: Stored{ID: uuid.Must(uuid.NewV7()), Project: c.Project, Group: r.Group, Action: r.Action, Agent: c.Agent,
		User: c.User, Door: c.Door, Personal: true}}
	if err := d.check(); err != nil {
		return Decision{}, err
	}
	if err := d.prepare(ctx); err != nil {
		return Decision{}, fmt.Errorf("review: %w", err)
	}
	for more := true; more; {
		step := d
		err := s.write(ctx, c, nil, func(tx Tx) error {
			step = d // fn may run again
			if done, err := memory.Answered(ctx, tx, c, VerbDecide, r, &step.out); err != nil || done {
				more = false
				return err
			}
			var err error
			if more, err = step.run(ctx, tx); err != nil || more {
				return err
			}
			return memory.Once(ctx, tx, c, step.at, VerbDecide, r, &step.out, func() error { return nil })
		})
		if err != nil {
			return Decision{}, fmt.Errorf("review: %w", err)
		}
		d = step
	}
	return d.out, nil
}

// deciding is one decision, over its transactions.
type deciding struct {
	*Service
	caller  memory.Caller
	request DecideRequest
	text    memory.Prepared // of edit, and of merge into a new text
	at      time.Time       // of all that it does
	stored  Stored
	out     Decision
	begun   bool // a transaction is behind it
}

// check refuses what makes no sense, before anything is read.
func (d *deciding) check() error {
	r := &d.request
	if !slices.Contains(Actions, r.Action) {
		return problem.Invalidf("action", "%q is no action", clip(string(r.Action))).Fix("use %s", join(Actions))
	}
	given := 0
	for _, is := range []bool{r.Group != "", len(r.Items) > 0, len(r.Memories) > 0} {
		if is {
			given++
		}
	}
	switch {
	case given != 1:
		return problem.Invalidf("group", "name a group, items, or memories: one of the three").Fix("take the ids from the queue")
	case len(r.Items)+len(r.Memories) > maxNamed:
		return problem.Invalidf("items", "%d are more than the %d of one decision", len(r.Items)+len(r.Memories), maxNamed).Fix("decide about the group, or in parts")
	case r.Action == Restore && len(r.Memories) == 0:
		return problem.Invalidf("memories", "what left recall is in no queue").Fix("name the memories to restore; the history has them")
	}
	note, _, err := memory.Clean("reason", r.Reason, MaxNoteBytes, "shorten it")
	if err != nil {
		return err
	}
	d.stored.Note = note
	return d.checkAction()
}

// checkAction refuses what an action lacks.
func (d *deciding) checkAction() error {
	r := &d.request
	switch r.Action {
	case Snooze:
		now := d.memory.Now()
		if r.Until == nil || !r.Until.After(now) || r.Until.After(now.Add(maxSnooze)) {
			return problem.Invalidf("until", "a snooze ends at a moment of the next 366 days").Fix("give one, such as in two weeks")
		}
		until := r.Until.UTC().Truncate(time.Microsecond)
		d.stored.Detail.Until = &until
	case Reattach:
		if len(r.Elements) == 0 {
			return problem.Invalidf("elements", "no element is named").Fix("name those that the memory is about")
		}
	case Edit:
		if r.Content == "" {
			return problem.Invalidf("content", "the new text is empty").Fix("write what holds now; to drop the memory, retire it")
		}
	case Merge:
		if (r.Content == "") == (r.Into == "") {
			return problem.Invalidf("into", "a merge is into one of the two, or into a new text").Fix("name the memory that stays, or write the content")
		}
	case AcceptBinding, Promote:
		if !d.caller.MayReview() {
			return problem.New(problem.Forbidden, "action", string(r.Action)+" needs the reviewer role", "use a token of role reviewer")
		}
	case Confirm, Dispute, Retire, Restore, Keep:
	}
	return nil
}

// prepare embeds the new text before the project is held.
func (d *deciding) prepare(ctx context.Context) error {
	r := &d.request
	if r.Content == "" || r.Action != Edit && r.Action != Merge {
		return nil
	}
	var old *memory.Record
	err := d.view(ctx, d.caller, func(v View) error {
		t, err := d.targets(ctx, v)
		if err != nil {
			return err
		}
		old, _, err = d.pair(ctx, v, t)
		return err
	})
	if err != nil {
		return err
	}
	text := memory.RememberRequest{
		Supersedes: old.ID.String(), Content: r.Content, Title: r.Title, Why: r.Why, Tags: old.Tags, Scope: old.Scope,
	}
	if text.Title == "" {
		text.Title = old.Title
	}
	if text.Why == "" {
		text.Why = old.Why
	}
	d.text, err = d.memory.Prepare(ctx, d.caller, text)
	return err
}

// targets are the items and memories that a decision is about.
type targets struct {
	items    []Open
	memories []uuid.UUID
}

// targets finds what the request names. What somebody decided already is told with who did.
func (d *deciding) targets(ctx context.Context, v View) (targets, error) {
	var t targets
	var err error
	switch r := &d.request; {
	case r.Group != "":
		t.items, err = d.groupItems(ctx, v)
	case len(r.Items) > 0:
		t.items, err = d.namedItems(ctx, v)
	default:
		return d.namedMemories(ctx, v)
	}
	for _, o := range t.items {
		if !slices.Contains(t.memories, o.Memory) {
			t.memories = append(t.memories, o.Memory)
		}
	}
	return t, err
}

func (d *deciding) groupItems(ctx context.Context, v View) ([]Open, error) {
	g, err := d.find(ctx, v, d.caller, d.request.Group)
	if d.begun && (problem.Is(err, problem.NotFound) || problem.Is(err, problem.Conflict)) {
		return nil, nil // the rest is decided
	}
	if err != nil {
		return nil, err
	}
	if shown := d.request.Expected; !d.begun && shown > 0 && g.Count > shown {
		return nil, problem.New(problem.Stale, "group", fmt.Sprintf("the group has %d items by now, and you were shown %d", g.Count, shown), "look at it again")
	}
	return g.items, nil
}

func (d *deciding) namedItems(ctx context.Context, v View) ([]Open, error) {
	var memories []uuid.UUID
	for _, id := range d.request.Items {
		handle, ok := memoryOf(id)
		if !ok {
			return nil, problem.Invalidf("items", "%q is no id of an item", clip(id)).Fix("take the ids from the queue")
		}
		m, err := v.ByHandle(ctx, handle)
		if err != nil {
			return nil, err
		}
		memories = append(memories, m)
	}
	open, err := d.open(ctx, v, d.caller, memories, nil)
	if err != nil {
		return nil, err
	}
	var out []Open
	for i, id := range d.request.Items {
		n := slices.IndexFunc(open, func(o Open) bool { return o.itemID() == id })
		if n >= 0 {
			out = append(out, open[n])
			continue
		}
		if memories[i] != uuid.Nil {
			if err := d.decidedMeanwhile(ctx, v, d.caller, DecisionQuery{Memory: memories[i]}); err != nil {
				return nil, err
			}
		}
		return nil, problem.New(problem.NotFound, "items", fmt.Sprintf("%q is not open", clip(id)), "look at the queue again")
	}
	return out, nil
}

func (d *deciding) namedMemories(ctx context.Context, v View) (targets, error) {
	var t targets
	for _, ref := range d.request.Memories {
		m, err := d.memory.Find(ctx, v, d.caller, "memories", ref)
		if err != nil {
			return t, err
		}
		if !slices.Contains(t.memories, m.ID) {
			t.memories = append(t.memories, m.ID)
		}
	}
	open, err := d.open(ctx, v, d.caller, t.memories, nil)
	if err != nil {
		return t, err
	}
	for _, o := range open {
		// Which of two similar memories holds is another question than whether one does.
		if slices.Contains(t.memories, o.Memory) && (o.Reason != Conflict || slices.Contains(t.memories, o.Other)) {
			t.items = append(t.items, o)
		}
	}
	if len(t.items) == 0 && (d.request.Action == Keep || d.request.Action == Snooze || d.request.Action == AcceptBinding) {
		return t, problem.New(problem.NotFound, "memories", "nothing is open about what you named", "look at the queue again")
	}
	return t, nil
}

// run decides in one transaction. more tells that memories are left for a further one.
func (d *deciding) run(ctx context.Context, tx Tx) (more bool, err error) {
	if !d.begun {
		d.at = d.memory.Now() // within the lock
		d.stored.At = d.at
	}
	t, err := d.targets(ctx, tx)
	if err != nil {
		return false, err
	}
	if n := len(t.memories); n >= BulkReason && d.stored.Note == "" {
		return false, problem.Invalidf("reason", "a decision about %d memories needs a reason", n).Fix("open the group, look at each, and say why")
	}
	if len(t.memories) > maxTogether && d.request.Action != AcceptBinding {
		more = true
		t.memories = t.memories[:maxTogether]
		t.items = slices.DeleteFunc(slices.Clone(t.items), func(o Open) bool { return !slices.Contains(t.memories, o.Memory) })
	}
	recs, err := d.records(ctx, tx, t)
	if err != nil {
		return false, err
	}
	return more, d.take(ctx, tx, t, recs)
}

// records loads the memories, and asks for the spaces they are in and for the right to decide.
func (d *deciding) records(ctx context.Context, tx Tx, t targets) ([]memory.Record, error) {
	recs, err := tx.Records(ctx, t.memories)
	if err != nil {
		return nil, err
	}
	var missing []memory.SpaceKey
	need := func(key memory.SpaceKey) {
		if tx.Space(key).ID == 0 && !slices.Contains(missing, key) {
			missing = append(missing, key)
		}
	}
	if d.request.Action == Promote {
		need(memory.SpaceKey{Scope: memory.Organization})
	}
	for i := range recs {
		need(recs[i].SpaceKey())
		if d.request.Action != Confirm && d.request.Action != Dispute && !d.caller.MayDecide(&recs[i]) {
			return nil, problem.New(problem.Forbidden, "action", fmt.Sprintf("to %s another author's memory (%s) needs the reviewer role",
				words(d.request.Action), recs[i].Handle), "say whether it holds: confirm or dispute it", "ask a reviewer")
		}
		d.stored.Personal = d.stored.Personal && recs[i].Scope == memory.Personal
	}
	if len(missing) > 0 {
		return nil, &memory.SpacesError{Spaces: missing}
	}
	return recs, nil
}

func words(a Action) string { return strings.ReplaceAll(string(a), "_", " ") }

// take does what was decided, and keeps how everything stood before and after.
func (d *deciding) take(ctx context.Context, tx Tx, t targets, recs []memory.Record) error {
	acting := acting{deciding: d, tx: tx, domain: d.memory.Within(tx, d.at), caller: d.caller, targets: t, records: recs}
	acting.caller.Session, acting.caller.Retry = "", "" // deciding about it is not relying on it; the decision has the key
	touched, err := acting.touches(ctx)
	if err != nil {
		return err
	}
	before, err := tx.States(ctx, touched)
	if err != nil {
		return err
	}
	made, err := acting.act(ctx)
	if err != nil {
		return err
	}
	touched = append(touched, made...)
	after, err := tx.States(ctx, touched)
	if err != nil {
		return err
	}
	var changes []Change
	for _, id := range touched {
		if c := (Change{Memory: id, Before: before[id], After: after[id]}); !c.Before.same(c.After) {
			changes = append(changes, c)
		}
	}
	if !d.begun {
		if err := tx.SaveDecision(ctx, d.stored); err != nil {
			return err
		}
	}
	items := make([]Settled, 0, len(t.items))
	for _, o := range acting.targets.items {
		items = append(items, Settled{Memory: o.Memory, Reason: o.Reason, Evidence: o.Evidence, Until: d.stored.Detail.Until})
	}
	if err := tx.Settle(ctx, d.stored.ID, items, changes); err != nil {
		return err
	}
	if err := d.tell(ctx, tx, acting.targets, recs); err != nil {
		return err
	}
	d.begun = true
	return tx.Audit(ctx, d.caller, memory.AuditEntry{At: d.at, Verb: VerbDecide, Subject: d.stored.ID, Space: d.projectSpace(tx),
		Detail: map[string]string{"action": string(d.request.Action), "memories": strconv.Itoa(len(acting.targets.memories))}})
}

func (d *deciding) projectSpace(tx Tx) int32 {
	return tx.Space(memory.SpaceKey{Scope: memory.Project, Owner: d.caller.Project.String()}).ID
}

// tell adds a transaction to the answer.
func (d *deciding) tell(ctx context.Context, tx Tx, t targets, recs []memory.Record) error {
	if !d.begun {
		out, err := d.decision(ctx, tx, d.caller, d.stored)
		if err != nil {
			return err
		}
		out.Kept = append(out.Kept, d.out.Kept...)
		d.out = out
	}
	d.out.Items += len(t.items)
	d.out.Count += len(t.memories)
	for i := range recs {
		if slices.Contains(t.memories, recs[i].ID) && len(d.out.Memories) < maxShown {
			d.out.Memories = append(d.out.Memories, recs[i].Handle)
		}
	}
	return nil
}

// maxShown is how many memories of a decision are named.
const maxShown = 100

// same tells whether nothing that a decision changes is different.
func (s State) same(o State) bool {
	return s.standing(o) && s.Unreviewed == o.Unreviewed && s.Changed == o.Changed && seen(s.Seen) == seen(o.Seen) &&
		slices.Equal(s.Elements, o.Elements) && slices.Equal(s.Gone, o.Gone) && slices.Equal(s.Disputes, o.Disputes)
}

// seen is what can be compared of a state of the code.
func seen(s memory.Seen) [3]string { return [3]string{s.Commit, s.Branch, s.Tree} }

// standing tells whether nobody decided about the memory in between.
func (s State) standing(o State) bool {
	expires := s.ExpiresAt == nil && o.ExpiresAt == nil || s.ExpiresAt != nil && o.ExpiresAt != nil && s.ExpiresAt.Equal(*o.ExpiresAt)
	return s.Status == o.Status && s.Revision == o.Revision && s.Confirmations == o.Confirmations && s.ConfirmedAt.Equal(o.ConfirmedAt) &&
		s.Successor == o.Successor && expires
}
