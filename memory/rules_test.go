package memory_test

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

// The rules of writing, once more and as simply as they can be said, against which random sequences of operations are
// compared. Nothing here looks at the implementation: it holds facts in a list and walks it.

type fact struct {
	handle, title, text string
	kind                memory.Kind
	scope               memory.Scope
	owner               string // user of a personal memory
	user                string
	elements            []string
	status              memory.Status
	successor           *fact
	confirmations       int
	revision            int
	disputed            bool
	expires             time.Time
	shown               map[string]int // session → revision
	doubtedAt           time.Time
	shownDoubt          map[string]time.Time
}

func (f *fact) sameSpace(scope memory.Scope, user string) bool {
	return f.scope == scope && (scope != memory.Personal || f.owner == user)
}

func (f *fact) visible(user string) bool { return f.scope != memory.Personal || f.owner == user }

func (f *fact) live() bool { return f.status == memory.Live }

func (f *fact) overlaps(elements []string) bool {
	if len(f.elements) == 0 || len(elements) == 0 {
		return true
	}
	return slices.ContainsFunc(elements, func(e string) bool { return slices.Contains(f.elements, e) })
}

// revise counts a revision. Whoever makes it, and had been shown the one before, has seen it.
func (f *fact) revise(c memory.Caller) {
	f.revision++
	if _, ok := f.shown[c.Session]; ok {
		f.shown[c.Session] = f.revision
	}
}

// rules is the world of one sequence.
type rules struct {
	facts []*fact
	now   time.Time
	log   []string // what was done, for the report of a difference
}

func (w *rules) find(handle, user string) *fact {
	for _, f := range w.facts {
		if f.handle == handle && f.visible(user) {
			return f
		}
	}
	return nil
}

func (f *fact) liveSuccessor() *fact {
	for f != nil && f.status == memory.Superseded {
		f = f.successor
	}
	if f == nil || !f.live() {
		return nil
	}
	return f
}

// titled gives the live fact of that title a user's links find: the project's before their own before the organization's.
func (w *rules) titled(title, user string) *fact {
	for _, scope := range []memory.Scope{memory.Project, memory.Personal, memory.Organization} {
		for _, f := range w.facts {
			if f.live() && f.title == title && f.sameSpace(scope, user) {
				return f
			}
		}
	}
	return nil
}

func (w *rules) titleTaken(title string, scope memory.Scope, user string, except *fact) bool {
	return title != "" && slices.ContainsFunc(w.facts, func(f *fact) bool {
		return f != except && f.live() && f.title == title && f.sameSpace(scope, user)
	})
}

// outcome is what a write says: an error code, or how it was taken.
type outcome struct {
	Code         problem.Code
	Deduplicated bool
	Echo         bool
	Handle       string // of the existing memory when deduplicated
}

func (w *rules) remember(c memory.Caller, r memory.RememberRequest) (outcome, *fact) {
	reviewer := c.Role == memory.RoleReviewer
	if r.Scope == memory.Organization && !reviewer {
		return outcome{Code: problem.Forbidden}, nil
	}
	kind := r.Kind
	elements := slices.Clone(r.Elements)
	var old *fact
	if r.Supersedes != "" {
		old = w.find(r.Supersedes, c.User)
		switch {
		case old == nil:
			return outcome{Code: problem.NotFound}, nil
		case !old.sameSpace(r.Scope, c.User):
			return outcome{Code: problem.Invalid}, nil
		case !old.live():
			return outcome{Code: problem.Conflict}, nil
		}
		if len(elements) == 0 {
			elements = slices.Clone(old.elements)
		}
	}
	if old == nil && !r.Separate {
		for _, f := range w.facts {
			if f.live() && f.sameSpace(r.Scope, c.User) && f.kind == kind && f.text == r.Content && f.overlaps(elements) &&
				(f.title == "" || r.Title == "" || f.title == r.Title) { // another title may name another thing
				if _, ok := f.shown[c.Session]; ok {
					return outcome{Deduplicated: true, Echo: true, Handle: f.handle}, nil
				}
				w.restate(f, r, elements, c)
				return outcome{Deduplicated: true, Handle: f.handle}, nil
			}
		}
	}
	if w.titleTaken(r.Title, r.Scope, c.User, old) {
		return outcome{Code: problem.Conflict}, nil
	}
	n := &fact{title: r.Title, text: r.Content, kind: kind, scope: r.Scope, user: c.User, elements: elements, status: memory.Live, revision: 1,
		shown: map[string]int{}, shownDoubt: map[string]time.Time{}}
	if r.Scope == memory.Personal {
		n.owner = c.User
	}
	if r.Expires != "" {
		n.expires = w.now.Add(time.Hour)
	}
	if old != nil {
		old.status, old.successor = memory.Superseded, n
	}
	w.facts = append(w.facts, n)
	return outcome{}, n
}

func (w *rules) restate(f *fact, r memory.RememberRequest, elements []string, c memory.Caller) {
	changed := false
	for _, e := range elements {
		if !slices.Contains(f.elements, e) {
			f.elements, changed = append(f.elements, e), true
		}
	}
	if f.title == "" && r.Title != "" && !w.titleTaken(r.Title, f.scope, c.User, f) {
		f.title, changed = r.Title, true
	}
	if changed {
		f.revise(c)
	}
	if !f.expires.IsZero() && !f.expires.After(w.now) {
		f.expires = time.Time{}
		if r.Expires != "" {
			f.expires = w.now.Add(time.Hour)
		}
	}
	f.confirmations++
}

func (w *rules) confirm(c memory.Caller, handle string, holds bool) problem.Code {
	f := w.find(handle, c.User)
	switch {
	case f == nil:
		return problem.NotFound
	case !f.live():
		return problem.Conflict
	}
	if rev, ok := f.shown[c.Session]; ok && (rev < f.revision || f.doubtedAt.After(f.shownDoubt[c.Session])) {
		return problem.Stale
	}
	if holds {
		f.confirmations++
		f.disputed, f.doubtedAt = false, time.Time{}
	} else {
		f.disputed, f.doubtedAt = true, w.now
	}
	return ""
}

func (w *rules) forget(c memory.Caller, handle string) problem.Code {
	f := w.find(handle, c.User)
	switch {
	case f == nil:
		return problem.NotFound
	case c.Role != memory.RoleReviewer && f.user != c.User:
		return problem.Forbidden
	case !f.live():
		return problem.Conflict
	}
	f.status = memory.Retired
	return ""
}

func (w *rules) restore(c memory.Caller, handle string) problem.Code {
	f := w.find(handle, c.User)
	switch {
	case f == nil:
		return problem.NotFound
	case c.Role != memory.RoleReviewer && f.user != c.User:
		return problem.Forbidden
	case f.live(), f.liveSuccessor() != nil, w.titleTaken(f.title, f.scope, f.owner, f):
		return problem.Conflict
	}
	f.status, f.successor = memory.Live, nil
	return ""
}

func code(err error) problem.Code {
	if p, ok := problem.As(err); ok {
		return p.Code
	}
	if err != nil {
		return problem.Code("fault: " + err.Error())
	}
	return ""
}

// TestRulesAgree runs two thousand random sequences of operations and compares every answer and the final state with the
// rules above. Each sequence has an organization of its own.
func TestRulesAgree(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	const sequences, shares = 2000, 4
	for share := range shares {
		t.Run(fmt.Sprint(share), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(rt *rapid.T) {
				for range sequences / shares / 100 { // rapid checks 100 times
					h.sequence(rt, fmt.Sprintf("rules-%d-%s", share, uuid.NewString()))
				}
			})
		})
	}
}

func (h *harness) sequence(rt *rapid.T, name string) {
	ctx := context.Background()
	w := &rules{now: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)}
	s := memory.New(h.store, memory.Options{Now: func() time.Time { return w.now }})
	must := func(err error) {
		if err != nil {
			rt.Fatal(err)
		}
	}
	org, err := s.EnsureOrganization(ctx, name)
	must(err)
	p, err := s.CreateProject(ctx, memory.Caller{Org: org, User: "operator", Role: memory.RoleAdmin}, "shop", nil)
	must(err)
	callers := []memory.Caller{
		{Org: org, Project: p.ID, User: "u1", Role: memory.RoleReviewer, Door: memory.FromCLI, Session: "s1"},
		{Org: org, Project: p.ID, User: "u2", Agent: "agent", Role: memory.RoleAgent, Door: memory.FromMCP, Session: "s2"},
	}
	_, err = s.ImportModel(ctx, callers[0], shopModel())
	must(err)

	handles := func() []string {
		out := []string{"m-aaaaaaa"} // one that nobody has
		for _, f := range w.facts {
			out = append(out, f.handle)
		}
		return out
	}
	for range rapid.IntRange(3, 14).Draw(rt, "length") {
		w.now = w.now.Add(time.Minute)
		c := callers[rapid.IntRange(0, 1).Draw(rt, "caller")]
		handle := rapid.SampledFrom(handles()).Draw(rt, "handle")
		op := rapid.SampledFrom([]string{"remember", "remember", "remember", "remember", "show", "confirm", "dispute", "forget", "restore", "wait", "attach"}).Draw(rt, "op")
		w.log = append(w.log, fmt.Sprintf("%s by %s on %s", op, c.User, handle))
		switch op {
		case "remember":
			r := drawRequest(rt, handle)
			want, n := w.remember(c, r)
			got, err := s.Remember(ctx, c, r)
			is := outcome{Code: code(err), Deduplicated: got.Deduplicated, Echo: got.Echo}
			if got.Deduplicated {
				is.Handle = got.Memory.Handle
			}
			if d := cmp.Diff(want, is); d != "" {
				rt.Fatalf("after\n%s\nremember %+v by %s (-rules +stele):\n%s%v", strings.Join(w.log, "\n"), r, c.User, d, err)
			}
			w.log[len(w.log)-1] += fmt.Sprintf(": %+v became %s", r, got.Memory.Handle)
			if n != nil {
				n.handle = got.Memory.Handle
			}
		case "show":
			f := w.find(handle, c.User)
			_, err := s.Get(ctx, c, []string{handle})
			if (f == nil) != (code(err) == problem.NotFound) || (f != nil && err != nil) {
				rt.Fatalf("get %s by %s: %v, known to the rules: %v", handle, c.User, err, f != nil)
			}
			if f != nil && f.live() {
				f.shown[c.Session], f.shownDoubt[c.Session] = f.revision, f.doubtedAt
			}
		case "confirm", "dispute":
			holds := rapid.Bool().Draw(rt, "holds")
			_, err := s.Confirm(ctx, c, memory.ConfirmRequest{Memory: handle, Holds: holds})
			if want := w.confirm(c, handle, holds); want != code(err) {
				rt.Fatalf("confirm %s holds %v by %s: %v, rules say %q", handle, holds, c.User, err, want)
			}
		case "forget":
			_, err := s.Forget(ctx, c, memory.ForgetRequest{Memory: handle})
			if want := w.forget(c, handle); want != code(err) {
				rt.Fatalf("forget %s by %s: %v, rules say %q", handle, c.User, err, want)
			}
		case "restore":
			_, err := s.Restore(ctx, c, handle)
			if want := w.restore(c, handle); want != code(err) {
				rt.Fatalf("restore %s by %s: %v, rules say %q", handle, c.User, err, want)
			}
		case "wait":
			w.now = w.now.Add(2 * time.Hour)
		case "attach":
			elements := drawElements(rt)
			_, err := s.Edit(ctx, c, memory.EditRequest{Memory: handle, Elements: &elements})
			f := w.find(handle, c.User)
			want := problem.Code("")
			switch {
			case f == nil:
				want = problem.NotFound
			case !f.live():
				want = problem.Conflict
			case f.scope == memory.Organization && c.Role != memory.RoleReviewer && f.user != c.User:
				want = problem.Forbidden
			default:
				f.elements = elements
				f.revise(c)
			}
			if want != code(err) {
				rt.Fatalf("attach %s by %s: %v, rules say %q", handle, c.User, err, want)
			}
		}
	}
	h.compare(rt, s, callers, w)
}

func drawElements(rt *rapid.T) []string {
	return rapid.SampledFrom([][]string{{}, {}, {"shop.web"}, {"shop.api"}, {"shop.web", "shop.api"}}).Draw(rt, "elements")
}

func drawRequest(rt *rapid.T, handle string) memory.RememberRequest {
	r := memory.RememberRequest{
		Kind:     rapid.SampledFrom([]memory.Kind{memory.Note, memory.Pitfall}).Draw(rt, "kind"),
		Content:  rapid.SampledFrom([]string{"the cache is warm", "retries happen 3 times", "see [[Alpha]] first", "follows [[" + handle + "]]"}).Draw(rt, "content"),
		Title:    rapid.SampledFrom([]string{"", "", "Alpha", "Beta"}).Draw(rt, "title"),
		Scope:    rapid.SampledFrom([]memory.Scope{memory.Project, memory.Project, memory.Project, memory.Personal, memory.Organization}).Draw(rt, "scope"),
		Elements: drawElements(rt),
		Separate: rapid.SampledFrom([]bool{false, false, false, true}).Draw(rt, "separate"),
		Expires:  rapid.SampledFrom([]string{"", "", "1h"}).Draw(rt, "expires"),
	}
	if rapid.SampledFrom([]bool{false, false, true}).Draw(rt, "supersede") {
		r.Supersedes = handle
	}
	return r
}

// state is what is compared at the end, as each caller sees it.
type state struct {
	Status               memory.Status
	Title, Text          string
	Elements             []string
	Confirmations        int
	Revision             int
	Disputed, Expired    bool
	SupersededBy, LinkTo string
}

func (h *harness) compare(rt *rapid.T, s *memory.Service, callers []memory.Caller, w *rules) {
	ctx := context.Background()
	for _, c := range callers {
		c.Session = ""
		want, got := map[string]state{}, map[string]state{}
		for _, f := range w.facts {
			if !f.visible(c.User) {
				continue
			}
			st := state{Status: f.status, Title: f.title, Text: f.text, Elements: slices.Clone(f.elements), Confirmations: f.confirmations,
				Revision: f.revision, Disputed: f.disputed, Expired: !f.expires.IsZero() && !f.expires.After(w.now)}
			sort.Strings(st.Elements)
			if f.status == memory.Superseded {
				st.SupersededBy = f.successor.handle
			}
			st.LinkTo = w.linkTarget(f, c.User)
			want[f.handle] = st
		}
		list, err := s.List(ctx, c, memory.ListRequest{Status: "all"})
		if err != nil {
			rt.Fatal(err)
		}
		for _, m := range list.Memories {
			st := state{Status: m.Status, Title: m.Title, Text: m.Content, Confirmations: m.Confirmations, Revision: m.Revision, SupersededBy: m.SupersededBy}
			for _, e := range m.Elements {
				st.Elements = append(st.Elements, e.Key)
			}
			sort.Strings(st.Elements)
			for _, f := range m.Flags {
				st.Disputed = st.Disputed || f.Flag == "disputed"
				st.Expired = st.Expired || f.Flag == "expired"
			}
			for _, l := range m.Links {
				st.LinkTo = l.Target
			}
			got[m.Handle] = st
		}
		empty := cmp.Transformer("empty", func(in []string) string { return strings.Join(in, ",") })
		if d := cmp.Diff(want, got, empty); d != "" {
			rt.Fatalf("after\n%s\nwhat %s sees (-rules +stele):\n%s", strings.Join(w.log, "\n"), c.User, d)
		}
	}
}

// linkTarget is where the link in a fact's text leads for a user.
func (w *rules) linkTarget(f *fact, user string) string {
	_, rest, ok := strings.Cut(f.text, "[[")
	if !ok {
		return ""
	}
	text, _, _ := strings.Cut(rest, "]]")
	var to *fact
	if strings.HasPrefix(text, "m-") {
		to = w.find(text, user)
	} else {
		to = w.titled(text, user)
	}
	if to == nil {
		return ""
	}
	if live := to.liveSuccessor(); live != nil && live.visible(user) {
		return live.handle
	}
	return to.handle
}
