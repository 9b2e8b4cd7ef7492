package web

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/drift"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
	"github.com/stele-dev/stele/review"
)

type reviewService interface {
	ReviewQueue(ctx context.Context, c memory.Caller, r review.QueueRequest) (review.Queue, error)
	ReviewGroup(ctx context.Context, c memory.Caller, r review.GroupRequest) (review.GroupPage, error)
	DecideReview(ctx context.Context, c memory.Caller, r review.DecideRequest) (review.Decision, error)
	UndoReview(ctx context.Context, c memory.Caller, decision string) (review.Decision, error)
	ReviewHistory(ctx context.Context, c memory.Caller, r review.HistoryRequest) (review.History, error)
}

const (
	// shownGroups is how many causes a page of the queue holds, and shownItems how many memories a page of a group.
	shownGroups = 25
	shownItems  = 20
	// mostItems bounds the memories of a group whose first lines are listed before one decision about all.
	mostItems = 1000
	// shownDecisions is how many decisions a page lists.
	shownDecisions = 50
	// progressTime is the time in which decisions count as made in this sitting.
	progressTime = 24 * time.Hour
)

func (p *Pages) registerReview(mux *http.ServeMux) {
	mux.Handle("GET /p/{project}/review", p.project(p.reviewPage))
	mux.Handle("GET /p/{project}/review/groups/{group}", p.project(p.groupPage))
	mux.Handle("GET /p/{project}/review/history", p.project(p.historyPage))
	mux.Handle("POST /p/{project}/review/decide", p.project(p.decide))
	mux.Handle("POST /p/{project}/review/undo", p.project(p.undo))
}

// reviewView is a page of the queue.
type reviewView struct {
	review.Queue

	All      bool
	Reason   review.Reason
	Reasons  []review.Reason
	Groups   []task
	Open     int // items of the queue as filtered
	Progress progress
	Done     *decided
	Wrong    *problem.Error
	Rest     string // address of the groups that did not fit
}

// progress tells how far somebody is who goes through the queue.
type progress struct {
	Decided int // items, in the last day
	Total   int // with those that are open
}

// task is what can be decided at once: a group, or one item of it.
type task struct {
	review.Group

	Item     *review.Item // nil: the group
	Items    []review.Item
	Here     string // address of the page
	At       int    // place on the page, from 0
	Current  bool   // where to go on
	Promote  bool
	Bulk     bool              // it needs a reason
	Elements []c4model.Element // to choose from
	Suggests []string
	Typed    typed
}

// May tells whether an action is offered.
func (t task) May(action string) bool { return slices.Contains(t.Actions, review.Action(action)) }

// About is the one memory that the task is about; nil of several.
func (t task) About() *review.Item {
	if t.Item != nil {
		return t.Item
	}
	if t.Count == 1 && len(t.Items) == 1 {
		return &t.Items[0]
	}
	return nil
}

// typed is what somebody wrote, to be shown again when nothing came of it.
type typed struct {
	Reason, Title, Content, Why string

	For string // item, group or memory
}

// decided is a decision with the way back.
type decided struct {
	review.Decision

	MayUndo bool
	Back    string
}

func (p *Pages) reviewPage(v *visit) error { return p.showReview(v, http.StatusOK, nil, typed{}) }

func (p *Pages) showReview(v *visit, code int, wrong *problem.Error, kept typed) error {
	q := v.r.URL.Query()
	view := reviewView{All: q.Get("all") != "", Reason: review.Reason(q.Get("reason")), Reasons: review.Reasons, Wrong: wrong}
	r := review.QueueRequest{All: view.All, Limit: shownGroups, Cursor: q.Get("cursor")}
	if view.Reason != "" {
		r.Reasons = []review.Reason{view.Reason}
	}
	queue, err := p.Service.ReviewQueue(v.ctx(), v.caller, r)
	if err != nil {
		return err
	}
	view.Queue = queue
	here := address(v, v.place("review"), "at", "done")
	at := place(q.Get("at"))
	for i, g := range queue.Groups {
		t := task{Group: g, Here: here, At: i, Bulk: g.Count >= review.BulkReason}
		for _, item := range queue.Items {
			if item.Group == g.ID {
				t.Items = append(t.Items, item)
			}
		}
		t.Current = i == min(at, len(queue.Groups)-1)
		if kept.For == g.ID {
			t.Typed = kept
		}
		view.Groups = append(view.Groups, t)
	}
	for _, n := range queue.Counts {
		view.Open += n
	}
	if queue.NextCursor != "" {
		view.Rest = with(address(v, v.place("review"), "at", "done", "cursor"), "cursor", queue.NextCursor)
	}
	if view.Done, view.Progress, err = p.sitting(v, here, view.Open); err != nil {
		return err
	}
	return v.show(code, "review", "Review", view)
}

// place is a number of an address; -1 for none.
func place(text string) int {
	if n, err := strconv.Atoi(text); err == nil && n >= 0 {
		return n
	}
	return -1
}

// sitting tells what the caller decided lately: the last of it, to be taken back, and how much beside what is open.
func (p *Pages) sitting(v *visit, back string, open int) (*decided, progress, error) {
	out := progress{Total: open}
	past, err := p.Service.ReviewHistory(v.ctx(), v.caller, review.HistoryRequest{Limit: review.MaxLimit})
	if err != nil {
		return nil, out, err
	}
	me := memory.AuthorName(v.caller.Agent, v.caller.User)
	var last *decided
	for _, d := range past.Decisions {
		if d.Author != me || d.UndoneAt != nil || now().Sub(d.At) > progressTime {
			continue
		}
		if last == nil {
			last = &decided{Decision: d, MayUndo: true, Back: back}
		}
		out.Decided += d.Items
	}
	out.Total += out.Decided
	return last, out, nil
}

// groupView is a group with the items of a page in full, and of a large one all first lines.
type groupView struct {
	All      task
	Items    []task
	Lines    []review.Item // of a group that needs a reason
	Unlisted int
	Found    []found
	Progress progress
	Done     *decided
	Wrong    *problem.Error
	Before   string // address of the items before, and of those after
	After    string
	Queue    string // address of the queue, filtered as it was
}

// queue is the address of the queue as whoever looks at a group saw it.
func (v *visit) queue() string {
	if v.r.URL.Query().Get("all") != "" {
		return with(v.place("review"), "all", "1")
	}
	return v.place("review")
}

func (p *Pages) groupPage(v *visit) error { return p.showGroup(v, http.StatusOK, nil, typed{}) }

func (p *Pages) showGroup(v *visit, code int, wrong *problem.Error, kept typed) error {
	group, items, err := p.wholeGroup(v)
	if v.r.URL.Query().Get("done") != "" && (problem.Is(err, problem.NotFound) || problem.Is(err, problem.Conflict)) {
		return v.redirect(v.queue()) // the decision that led here was the last one
	}
	if err != nil {
		return err
	}
	q, self := v.r.URL.Query(), v.place("review", "groups", group.ID)
	here := address(v, self, "at", "done")
	view := groupView{Wrong: wrong, Queue: v.queue(), All: task{Group: group, Items: items, Here: here, At: -1, Bulk: group.Count >= review.BulkReason}}
	if kept.For == group.ID {
		view.All.Typed = kept
	}
	if view.All.Bulk {
		view.Lines, view.Unlisted = items, group.Count-len(items)
	}
	if group.Reason == review.Orphaned {
		model, err := p.Service.Model(v.ctx(), v.caller)
		if err != nil {
			return err
		}
		view.All.Elements = model.Elements
	}
	if group.Reason == review.Drifted {
		if view.Found, err = p.behind(v, group, items); err != nil {
			return err
		}
		view.All.Suggests = suggested(view.Found)
	}
	from := max(0, min(place(q.Get("from")), len(items)-1))
	at := place(q.Get("at"))
	page := items[from:min(from+shownItems, len(items))]
	for i := range page {
		t := task{Group: group, Item: &page[i], Here: here, At: i, Current: i == min(at, len(page)-1)}
		t.Actions = slices.DeleteFunc(slices.Clone(group.Actions), func(a review.Action) bool { return a == review.AcceptBinding })
		if mayDecide(v.caller, page[i].Memory) {
			t.Actions = appendNew(t.Actions, review.Edit, review.Retire, review.Reattach, review.Snooze, review.Keep)
		}
		t.Promote = !doubts[group.Reason] && v.caller.MayReview() && v.caller.Bound == uuid.Nil && page[i].Memory.Scope == memory.Project
		if kept.For == page[i].ID {
			t.Typed = kept
		}
		view.Items = append(view.Items, t)
	}
	if from > 0 {
		view.Before = with(address(v, self, "at", "done", "from"), "from", strconv.Itoa(max(0, from-shownItems)))
	}
	if next := from + shownItems; next < len(items) {
		view.After = with(address(v, self, "at", "done", "from"), "from", strconv.Itoa(next))
	}
	if view.Done, view.Progress, err = p.sitting(v, here, group.Count); err != nil {
		return err
	}
	return v.show(code, "group", group.Line, view)
}

// doubts are the reasons for which a memory cannot become the organization's before somebody confirmed it.
var doubts = map[review.Reason]bool{review.Drifted: true, review.EvidenceGone: true, review.Rewritten: true, review.Disputed: true}

func appendNew(actions []review.Action, more ...review.Action) []review.Action {
	for _, a := range more {
		if !slices.Contains(actions, a) {
			actions = append(actions, a)
		}
	}
	return actions
}

// wholeGroup reads all items of a group, up to mostItems.
func (p *Pages) wholeGroup(v *visit) (review.Group, []review.Item, error) {
	r := review.GroupRequest{Group: v.r.PathValue("group"), Limit: review.MaxLimit}
	var items []review.Item
	for {
		page, err := p.Service.ReviewGroup(v.ctx(), v.caller, r)
		if err != nil {
			return review.Group{}, nil, err
		}
		items = append(items, page.Items...)
		if page.NextCursor == "" || len(items) >= mostItems {
			return page.Group, items, nil
		}
		r.Cursor = page.NextCursor
	}
}

// behind finds what runs found at the elements of a group, by the commit that caused it where that is known.
func (p *Pages) behind(v *visit, group review.Group, items []review.Item) ([]found, error) {
	all, _, err := p.findings(v)
	if err != nil {
		return nil, err
	}
	keys := map[string]bool{}
	for _, item := range items {
		for _, e := range item.Memory.Elements {
			keys[c4model.FoldKey(e.Key)] = true
		}
	}
	return slices.DeleteFunc(all, func(f found) bool {
		otherCommit := group.Commit != "" && f.Since != nil && f.Since.Commit != group.Commit
		return !keys[c4model.FoldKey(f.Element)] || otherCommit
	}), nil
}

// suggested are the patterns that runs propose for files that moved.
func suggested(findings []found) []string {
	var out []string
	for _, f := range findings {
		if f.Outcome == drift.Moved && f.Fix.New != "" {
			out = append(out, f.Fix.New)
		}
	}
	return out
}

// historyView is a page of decisions.
type historyView struct {
	Author, Memory string // what it is narrowed to

	Decisions []decided
	Done      *decided
	Rest      string
	Wrong     *problem.Error
}

func (p *Pages) historyPage(v *visit) error { return p.showHistory(v, http.StatusOK, nil) }

func (p *Pages) showHistory(v *visit, code int, wrong *problem.Error) error {
	q := v.r.URL.Query()
	view := historyView{Author: strings.TrimSpace(q.Get("author")), Memory: strings.TrimSpace(q.Get("memory")), Wrong: wrong}
	past, err := p.Service.ReviewHistory(v.ctx(), v.caller, review.HistoryRequest{Author: view.Author, Memory: view.Memory, Cursor: q.Get("cursor"), Limit: shownDecisions})
	if err != nil {
		return err
	}
	view.Decisions = decisionsFor(v, past.Decisions, address(v, v.place("review", "history"), "done"))
	if past.NextCursor != "" {
		view.Rest = with(address(v, v.place("review", "history"), "done", "cursor"), "cursor", past.NextCursor)
	}
	return v.show(code, "history", "Decisions", view)
}

// decisionsFor adds the way back to decisions.
func decisionsFor(v *visit, all []review.Decision, back string) []decided {
	out := make([]decided, len(all))
	me := memory.AuthorName(v.caller.Agent, v.caller.User)
	for i, d := range all {
		out[i] = decided{Decision: d, Back: back, MayUndo: d.UndoneAt == nil && (d.Author == me || v.caller.MayReview())}
	}
	return out
}

// doneOf is the decision that the address says was just made; nil without one.
func doneOf(v *visit, all []decided) *decided {
	id := v.r.URL.Query().Get("done")
	for i := range all {
		if all[i].ID == id && id != "" {
			return &all[i]
		}
	}
	return nil
}
