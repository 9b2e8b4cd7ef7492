package web

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
	"github.com/stele-dev/stele/review"
)

// snoozeDays is how long a snooze is unless the form says otherwise.
const snoozeDays = 14

// decide takes a decision from whichever page has a form for it, and goes back there.
func (p *Pages) decide(v *visit) error {
	form, err := v.form()
	if err != nil {
		return err
	}
	r, err := decisionOf(form)
	if err == nil {
		var d review.Decision
		if d, err = p.Service.DecideReview(v.ctx(), v.caller, r); err == nil {
			return v.redirect(returnTo(v, form, d.ID))
		}
	}
	kept := typed{Reason: form.Get("reason"), Title: form.Get("title"), Content: form.Get("content"), Why: form.Get("why"), For: form.Get("about")}
	return p.again(v, form.Get("back"), err, kept)
}

// decisionOf reads a decision from a form.
func decisionOf(form url.Values) (review.DecideRequest, error) {
	r := review.DecideRequest{Action: review.Action(form.Get("action")), Group: form.Get("group"), Items: form["item"], Memories: form["memory"],
		Reason: lineEnds(strings.TrimSpace(form.Get("reason"))), Elements: list(strings.Join(form["elements"], "\n")), Into: form.Get("into")}
	if len(r.Items) > 0 { // ticked ones of a group
		r.Group = ""
	}
	if r.Group != "" {
		if n, err := strconv.Atoi(form.Get("expected")); err == nil {
			r.Expected = n
		}
	}
	switch r.Action { //nolint:exhaustive // the others need nothing more
	case review.Snooze:
		days := snoozeDays
		if text := form.Get("days"); text != "" {
			var err error
			if days, err = strconv.Atoi(text); err != nil {
				return r, problem.Invalidf("days", "it is not a number of days").Fix("give one from 1 to 366")
			}
		}
		until := now().Add(time.Duration(days) * 24 * time.Hour)
		r.Until = &until
	case review.Edit, review.Merge:
		r.Title, r.Content, r.Why = strings.TrimSpace(form.Get("title")), lineEnds(form.Get("content")), lineEnds(form.Get("why"))
	}
	return r, nil
}

// returnTo is the page that a decision was made on, told of the decision and of the place to go on from.
func returnTo(v *visit, form url.Values, decision string) string {
	back := v.ours(form.Get("back"))
	if decision != "" {
		back = with(back, "done", decision)
	}
	if at := place(form.Get("at")); at >= 0 {
		back = with(back, "at", strconv.Itoa(at))
	}
	return back
}

// undo takes a decision back.
func (p *Pages) undo(v *visit) error {
	form, err := v.form()
	if err != nil {
		return err
	}
	if _, err := p.Service.UndoReview(v.ctx(), v.caller, form.Get("decision")); err != nil {
		return p.again(v, form.Get("back"), err, typed{})
	}
	return v.redirect(returnTo(v, form, ""))
}

// again shows the page that a form was on with what was wrong and what was typed, as if it had been asked for.
func (p *Pages) again(v *visit, back string, err error, kept typed) error {
	pr, ok := problem.As(err)
	if !ok {
		return err
	}
	u, uerr := url.Parse(v.ours(back))
	if uerr != nil {
		return err
	}
	v.r = v.r.Clone(v.ctx())
	v.r.Method, v.r.URL = http.MethodGet, u
	last := func(folder string) (string, bool) {
		name, ok := strings.CutPrefix(u.EscapedPath(), v.place(strings.Split(folder, "/")...)+"/")
		if !ok {
			return "", false
		}
		name, uerr := url.PathUnescape(name)
		return name, uerr == nil
	}
	code := status(pr.Code)
	if group, ok := last("review/groups"); ok {
		v.r.SetPathValue("group", group)
		if gone := p.showGroup(v, code, pr, kept); !problem.Is(gone, problem.NotFound) && !problem.Is(gone, problem.Conflict) {
			return gone
		}
		if v.r.URL, uerr = url.Parse(v.queue()); uerr != nil {
			return err
		}
	}
	if handle, ok := last("memories"); ok {
		v.r.SetPathValue("handle", handle)
		return p.showMemory(v, code, pr, kept)
	}
	if u.EscapedPath() == v.place("review", "history") {
		return p.showHistory(v, code, pr)
	}
	return p.showReview(v, code, pr, kept)
}

// ours is an address of the project's pages, the queue for any other.
func (v *visit) ours(to string) string {
	if to = local(to); strings.HasPrefix(to, v.place()) {
		return to
	}
	return v.place("review")
}

// address is a page with the query of this one, but for some of it.
func address(v *visit, page string, without ...string) string {
	q := v.r.URL.Query()
	for _, name := range without {
		q.Del(name)
	}
	if len(q) == 0 {
		return page
	}
	return page + "?" + q.Encode()
}

// with is an address with a value in its query.
func with(to, name, value string) string {
	u, err := url.Parse(to)
	if err != nil {
		return to
	}
	q := u.Query()
	q.Set(name, value)
	u.RawQuery = q.Encode()
	return u.String()
}

// actionNames are the actions as buttons say them, and done as a page tells of them afterwards.
var actionNames = map[review.Action]struct{ do, done string }{
	review.Confirm:       {"Confirm", "confirmed"},
	review.Dispute:       {"Dispute", "disputed"},
	review.Edit:          {"Edit", "rewritten"},
	review.Merge:         {"Merge", "merged"},
	review.Retire:        {"Retire", "retired"},
	review.Restore:       {"Restore", "restored"},
	review.Snooze:        {"Snooze", "put off"},
	review.Reattach:      {"Reattach", "reattached"},
	review.AcceptBinding: {"Accept binding", "bound to where the files went"},
	review.Promote:       {"Promote", "promoted"},
	review.Keep:          {"Keep", "kept as it is"},
}

func didWords(a review.Action) string {
	if name, ok := actionNames[a]; ok {
		return name.done
	}
	return memory.Line(string(a))
}

// reasonNames are the reasons as the page says them.
var reasonNames = map[review.Reason]string{
	review.Drifted: "the code drifted", review.EvidenceGone: "what it quotes is gone", review.Rewritten: "the code was rewritten", review.Disputed: "disputed",
	review.Conflict: "two say nearly the same", review.Ignored: "served and not used", review.Stale: "not confirmed for long", review.Orphaned: "its element left the model",
	review.Expired: "expired", review.DanglingLink: "a link leads nowhere", review.Unreviewed: "nobody reviewed it",
}

func reasonWords(r review.Reason) string {
	if name, ok := reasonNames[r]; ok {
		return name
	}
	return memory.Line(string(r))
}
