package main

import (
	"context"
	"slices"
	"time"

	"github.com/stele-dev/stele/doctor"
	"github.com/stele-dev/stele/hook"
	"github.com/stele-dev/stele/hook/local"
	"github.com/stele-dev/stele/hook/summary"
	"github.com/stele-dev/stele/internal/config"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

// Bounds of asking a model at the end of a conversation. The client waits meanwhile.
const (
	toldAfter     = 1500 * time.Millisecond // is left of a hook's time to store the outcome
	leastPatience = 300 * time.Millisecond  // below which no model is asked
	quietFor      = 2 * time.Minute         // after a model failed, it is not asked again
)

// newSummary is the client of the model that an operator chose; nil where none is.
func newSummary(c config.Config) (*summary.Client, error) {
	if c.SummaryURL == "" {
		return nil, nil //nolint:nilnil // nothing was chosen, which is no error
	}
	return summary.New(summary.Options{URL: c.SummaryURL, Model: c.SummaryModel, Key: c.SummaryKey, Insecure: c.Insecure, Program: "stele/" + thisBuild().Version})
}

// summarize adds what a model says of a conversation that is over, once, where an operator chose one. Whatever comes of it, the outcome is
// stored without.
func (t *telling) summarize(ctx context.Context, at *place, r *hook.Request) {
	if t.event != hook.End || r.Progress == nil || !r.Progress.Worked || t.config.SummaryURL == "" || t.entry.Summary != "" {
		return
	}
	end, bounded := ctx.Deadline()
	if end = end.Add(-toldAfter); !bounded || time.Until(end) < leastPatience {
		t.entry.Summary = local.NoTime
		return
	}
	ctx, cancel := context.WithDeadline(ctx, end)
	defer cancel()
	var text string
	text, t.entry.Summary, t.entry.SummaryTokens = t.ask(ctx, at)
	if t.entry.Summary == local.SummaryAdded {
		r.Progress.Summary, r.Progress.SummaryBy = text, t.config.SummaryModel
	}
}

// ask asks the model within the tokens of the day. It gives the text, what came of it, and what it cost.
func (t *telling) ask(ctx context.Context, at *place) (text, came string, spent int) {
	model, err := newSummary(t.config)
	if err != nil {
		return "", codeOf(err), 0
	}
	down := "summary " + model.Host()
	if t.hooks().Lately(down, quietFor) {
		return "", local.LeftAlone, 0
	}
	told := summary.Conversation{Asked: t.conversation.Asked, Answers: t.conversation.Answers, Failed: t.conversation.Failed}
	for _, f := range t.conversation.Edited {
		if f = inside(at, f); !slices.Contains(told.Edited, f) {
			told.Edited = append(told.Edited, f)
		}
	}
	prompt := summary.Compose(told)
	if prompt == "" {
		return "", local.SummaryEmpty, 0
	}
	now, most := time.Now(), summary.Cost(prompt)
	switch ok, err := t.hooks().Reserve(ctx, now, most, t.config.SummaryDailyTokens); {
	case ctx.Err() != nil:
		return "", local.NoTime, 0
	case err != nil:
		return "", "state", 0 // what is spent cannot be counted, so nothing is
	case !ok:
		return "", local.OverBudget, 0
	}
	answer, err := model.Ask(ctx, prompt)
	// What was spent is told in any case, also where the time to ask is over.
	counted, cancel := context.WithTimeout(context.WithoutCancel(ctx), leastPatience)
	defer cancel()
	switch {
	case err != nil && ctx.Err() != nil:
		t.hooks().Mark(down)
		return "", local.NoTime, most // it may have been written all the same
	case err != nil:
		if problem.Is(err, problem.Unavailable) {
			t.hooks().Mark(down)
		}
		_ = t.hooks().Settle(counted, now, most, 0) // else it counts as spent
		return "", codeOf(err), 0
	}
	spent = max(most-summary.MaxAnswerTokens+memory.Tokens(answer.Text), answer.Tokens)
	_ = t.hooks().Settle(counted, now, most, spent) // else what was reserved counts
	if answer.Text == "" {
		return "", local.SummaryEmpty, spent
	}
	return answer.Text, local.SummaryAdded, spent
}

// codeOf is the code of a problem, for a log.
func codeOf(err error) string {
	if p, ok := problem.As(err); ok {
		return string(p.Code)
	}
	return "fault"
}

// unsummarize takes what a model said out of a request that was refused, and tells whether there was anything: an outcome is stored
// without it rather than not.
func (t *telling) unsummarize(err error, r *hook.Request) bool {
	if r.Progress == nil || r.Progress.Summary == "" || !problem.Is(err, problem.Invalid) && !problem.Is(err, problem.TooLarge) {
		return false
	}
	r.Progress.Summary, r.Progress.SummaryBy, t.entry.Summary = "", "", local.SummaryRefused
	return true
}

// summaries says whether a model is asked for summaries, and what is left of the tokens of the day. The model is not asked: that costs.
func (x *examination) summaries(context.Context) doctor.Finding {
	model, err := newSummary(x.config)
	switch {
	case err != nil:
		return doctor.Failed(err)
	case model == nil:
		return doctor.Unasked("no model is asked for summaries")
	}
	spent, daily := x.hooks().Spent(x.now()), x.config.SummaryDailyTokens
	about := model.Model() + " at " + model.Host()
	if left := daily - spent; left < summary.MaxAnswerTokens {
		return doctor.Doubtful("raise STELE_SUMMARY_DAILY_TOKENS, or wait for tomorrow", "%s: %d of %d tokens of today are spent", about, spent, daily)
	}
	if came := x.lastSummary(); came != "" && came != local.SummaryAdded {
		return doctor.Doubtful("stele hook log", "%s: the last summary came to nothing: %s; %d of %d tokens of today are spent", about, came, spent, daily)
	}
	return doctor.Good("%s: %d of %d tokens of today are spent", about, spent, daily)
}

// lastSummary is what came of the last time that a model was asked; "" when it never was.
func (x *examination) lastSummary() (came string) {
	entries, err := x.hooks().Entries(time.Time{})
	if err != nil {
		return "" // another check says so
	}
	for _, e := range entries {
		if e.Summary != "" {
			came = e.Summary
		}
	}
	return came
}
