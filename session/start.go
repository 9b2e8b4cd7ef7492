package session

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

// StartSession begins a session, or goes on with one that is open: the caller's own, the one that Continues names, or one that
// a hook of the same client, user and worktree opened. What a gate denies leaves nothing behind.
func (s *Service) StartSession(ctx context.Context, c memory.Caller, r StartRequest) (Started, error) {
	redacted, err := r.clean()
	if err != nil {
		return Started{}, err
	}
	if err := c.Check(); err != nil {
		return Started{}, err
	}
	if c.Project == uuid.Nil {
		return Started{}, noProject()
	}
	c.Session = keyOf(c.User, c.Session)
	// Whose time is over is not in the way of anybody.
	if err := s.sweep(ctx, c.Org, c.Project); err != nil {
		return Started{}, fmt.Errorf("start work session: %w", err)
	}
	var out Started
	var st Stored
	err = s.write(ctx, c, func(tx Tx) error {
		out = Started{Leases: []Lease{}, Conflicts: []Conflict{}, Warnings: warnings(redacted)}
		w := work{Service: s, tx: tx, caller: c, now: s.memory.Now()}
		err := memory.Once(ctx, tx, c, w.now, VerbStart, r, &out, func() (err error) {
			st, err = w.start(ctx, r, &out)
			return err
		})
		if err == nil && out.SessionID != "" && st.Name != out.SessionID { // a retry: the answer is that of the first attempt
			st, _, err = tx.Session(ctx, c.User, out.SessionID)
		}
		return err
	})
	if err != nil {
		return Started{}, fmt.Errorf("start work session: %w", err)
	}
	if out.Gate.Verdict == Deny {
		return out, nil
	}
	s.beats.forget(c, st.Name)
	c.Session = st.Name
	if out.Briefing, err = s.brief(ctx, c, st, r, out); err != nil {
		return Started{}, fmt.Errorf("start work session: %w", err)
	}
	return out, nil
}

// clean checks and redacts what is free text.
func (r *StartRequest) clean() (redacted []memory.Redaction, err error) {
	if r.Task, redacted, err = cleanTask(r.Task); err != nil {
		return nil, err
	}
	if len(r.Elements) > memory.MaxElements {
		return nil, problem.Invalidf("elements", "%d elements are more than the %d that one session can work on", len(r.Elements), memory.MaxElements).
			Fix("name their common parent")
	}
	if r.Paths, err = cleanPaths("paths", r.Paths); err != nil {
		return nil, err
	}
	if len(r.Worktree) > maxWorktreeBytes || strings.ContainsFunc(r.Worktree, unicode.IsControl) {
		return nil, problem.Invalidf("worktree", "it is no name of a working folder").Fix("give at most %d printable bytes, or leave it out", maxWorktreeBytes)
	}
	switch r.Source {
	case "", SourceStartup, SourceResume, SourceClear, SourceCompact:
	default:
		return nil, problem.Invalidf("source", "%q is not why a session starts", clip(r.Source)).Fix("use startup, resume, clear or compact, or leave it out")
	}
	if r.MaxTokens != nil && (*r.MaxTokens < 0 || *r.MaxTokens > MaxBriefingTokens) {
		return nil, problem.Invalidf("max_tokens", "%d is not between 0 and %d", *r.MaxTokens, MaxBriefingTokens).Fix("leave it out for %d", DefaultBriefingTokens)
	}
	r.AgentName = memory.AgentName(r.AgentName)
	return redacted, nil
}

func cleanTask(task string) (string, []memory.Redaction, error) {
	return memory.Clean("task", task, MaxTaskBytes, "say in a sentence what is to be done")
}

func cleanPaths(field string, paths []string) ([]string, error) {
	if len(paths) > maxPaths {
		return nil, problem.Invalidf(field, "%d paths are more than the %d of one call", len(paths), maxPaths).Fix("name their folder as a glob")
	}
	out := make([]string, 0, len(paths))
	for _, p := range paths {
		p, err := memory.CleanPath(field, p)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

func warnings(redacted []memory.Redaction) []string {
	out := []string{}
	for _, r := range redacted {
		out = append(out, fmt.Sprintf("%d × %s was taken out of what you wrote", r.Count, r.Kind))
	}
	return out
}

// work is one change of a session under the lock of its project.
type work struct {
	*Service
	tx     Tx
	caller memory.Caller
	now    time.Time
}

// start finds or makes the session, asks the gate and takes the leases.
func (w *work) start(ctx context.Context, r StartRequest, out *Started) (Stored, error) {
	st, found, err := w.open(ctx, r)
	if err != nil {
		return st, err
	}
	wanted, err := w.elements(ctx, r.Elements, r.Paths)
	if err != nil {
		return st, err
	}
	if len(wanted) > memory.MaxElements {
		return st, problem.Invalidf("paths", "these files belong to %d elements, more than the %d that one session can work on", len(wanted), memory.MaxElements).
			Fix("name their common parent as element")
	}
	soft := w.caller.Door == memory.FromHook
	if out.Conflicts, err = w.conflicts(ctx, st.ID, wanted, nil); err != nil {
		return st, err
	}
	out.Gate = gate(out.Conflicts, r.Exclusive && !soft)
	if out.Gate.Verdict == Deny {
		return st, nil
	}
	if st.Body.Task == "" || r.Task != "" {
		st.Body.Task = r.Task
	}
	if r.AgentName != "" && r.AgentName != st.Agent {
		st.Label = r.AgentName
	}
	if r.Seen != nil {
		st.Seen = memory.Seen{Commit: r.Seen.Commit, Branch: r.Seen.Branch}
	}
	st.Worktree = cmp.Or(st.Worktree, r.Worktree)
	if found && !soft {
		st.Door = w.caller.Door // declared now: nobody else adopts it
	}
	if found && (r.Source == SourceCompact || r.Source == SourceClear) {
		st.Body.ForgotAt = w.now
	}
	st.State, st.BeatAt, st.EndedAt = Active, w.now, time.Time{}
	if err := w.tx.SaveSession(ctx, st); err != nil {
		return st, err
	}
	if alias := w.caller.Session; alias != "" && !IsName(alias) {
		if err := w.tx.AddAlias(ctx, st, alias); err != nil {
			return st, err
		}
	}
	leases := make([]HeldLease, len(wanted))
	for i, e := range wanted {
		leases[i] = HeldLease{Session: st.ID, Element: e.ID, TakenAt: w.now, Soft: soft, Exclusive: r.Exclusive && !soft}
	}
	if err := w.tx.TakeLeases(ctx, st, leases); err != nil {
		return st, err
	}
	if out.Leases, err = w.leasesOf(ctx, st, true); err != nil {
		return st, err
	}
	elements, err := w.tx.Elements(ctx, st.Project, false)
	if err != nil {
		return st, err
	}
	out.within = within(elements, out.Leases)
	out.SessionID, out.Adopted = st.Name, found
	verb := VerbStart
	if found {
		verb = VerbAdopt
	}
	return st, w.audit(ctx, verb, st)
}

// open gives the session to go on with, or a new one.
func (w *work) open(ctx context.Context, r StartRequest) (st Stored, found bool, err error) {
	for _, ref := range []string{w.caller.Session, keyOf(w.caller.User, r.Continues)} {
		if ref == "" {
			continue
		}
		st, ok, err := w.tx.Session(ctx, w.caller.User, ref)
		switch {
		case err != nil:
			return st, false, err
		case !ok && IsName(ref):
			return st, false, unknown(ref)
		case !ok || st.Project != w.caller.Project:
		case st.State == Active:
			return st, true, nil
		case st.State == Expired:
			return st, true, w.takeBack(ctx, st)
		}
	}
	if r.Worktree != "" && w.caller.Door != memory.FromHook {
		open, err := w.tx.Sessions(ctx, Query{Project: w.caller.Project, State: Active, User: w.caller.User, Agent: &w.caller.Agent,
			Worktree: r.Worktree, Door: memory.FromHook, Since: w.now.Add(-Lifetime), Limit: 1})
		if err != nil || len(open) == 1 {
			return first(open), err == nil, err
		}
	}
	return Stored{
		ID: uuid.Must(uuid.NewV7()), Project: w.caller.Project, Name: newName(), State: Active, Agent: w.caller.Agent, User: w.caller.User,
		Door: w.caller.Door, Worktree: r.Worktree, StartedAt: w.now, BeatAt: w.now,
	}, false, nil
}

func first(of []Stored) Stored {
	if len(of) == 0 {
		return Stored{}
	}
	return of[0]
}

// elements finds the elements that are named and those that own paths, each once.
func (w *work) elements(ctx context.Context, names, paths []string) ([]memory.Element, error) {
	var out []memory.Element
	add := func(e memory.Element) {
		if !slices.ContainsFunc(out, func(o memory.Element) bool { return o.ID == e.ID }) {
			out = append(out, e)
		}
	}
	for _, name := range names {
		if strings.TrimSpace(name) == "" {
			continue
		}
		e, err := memory.FindElement(ctx, w.tx, w.caller, "elements", name)
		if err != nil {
			return nil, err
		}
		add(e)
	}
	if len(paths) == 0 {
		return out, nil
	}
	owners, err := memory.OwnersOf(ctx, w.tx, w.caller.Project, paths)
	for _, e := range owners {
		add(e)
	}
	return out, err
}

// leasesOf gives the leases of a session: those it holds, or all it had.
func (w *work) leasesOf(ctx context.Context, st Stored, held bool) ([]Lease, error) {
	all, err := leasesOf(ctx, w.tx, st.Project, []uuid.UUID{st.ID}, held)
	return some(all[st.ID]), err
}

// leasesOf gives the leases of sessions of a project, oldest first, then by key.
func leasesOf(ctx context.Context, v View, project uuid.UUID, sessions []uuid.UUID, held bool) (map[uuid.UUID][]Lease, error) {
	stored, err := v.Leases(ctx, sessions)
	if err != nil || len(stored) == 0 {
		return nil, err
	}
	elements, err := v.Elements(ctx, project, true)
	if err != nil {
		return nil, err
	}
	byID := make(map[uuid.UUID]memory.Element, len(elements))
	for _, e := range elements {
		byID[e.ID] = e
	}
	out := map[uuid.UUID][]Lease{}
	for _, l := range stored {
		if held && !l.ReleasedAt.IsZero() {
			continue
		}
		out[l.Session] = append(out[l.Session], Lease{Element: byID[l.Element].Ref(), TakenAt: l.TakenAt, Soft: l.Soft, Exclusive: l.Exclusive})
	}
	for _, ls := range out {
		slices.SortFunc(ls, func(a, b Lease) int {
			return cmp.Or(a.TakenAt.Compare(b.TakenAt), strings.Compare(a.Element.Key, b.Element.Key))
		})
	}
	return out, nil
}

// some is a list that JSON shows as one, also when it is empty.
func some[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

func (w *work) audit(ctx context.Context, verb memory.Verb, st Stored) error {
	c := w.caller
	c.Session = st.Name
	return w.tx.Audit(ctx, c, memory.AuditEntry{At: w.now, Verb: verb, Subject: st.ID})
}
