package rest

import (
	"context"
	"net/http"

	"github.com/stele-dev/stele/memory"
	"github.com/stele-dev/stele/review"
)

// reviewService is what the review queue is asked of; *review.Service is one.
type reviewService interface {
	ReviewQueue(ctx context.Context, c memory.Caller, r review.QueueRequest) (review.Queue, error)
	ReviewGroup(ctx context.Context, c memory.Caller, r review.GroupRequest) (review.GroupPage, error)
	DecideReview(ctx context.Context, c memory.Caller, r review.DecideRequest) (review.Decision, error)
	UndoReview(ctx context.Context, c memory.Caller, decision string) (review.Decision, error)
	ReviewHistory(ctx context.Context, c memory.Caller, r review.HistoryRequest) (review.History, error)
	ReviewDigest(ctx context.Context, c memory.Caller, r review.DigestRequest) (review.Digest, error)
}

// undoReview asks to take a decision back. There is nothing to say about it.
type undoReview struct{}

const pathReview = pathProject + "/review"

// review adds what a person should look at, and what is decided about it.
func (a *API) review() {
	type queueQuery struct {
		ProjectPath

		All      string   `query:"all" enum:"true,false" doc:"true: also what the caller neither wrote nor owns."`
		Reason   []string `query:"reason,explode" doc:"Items of this reason; may be given several times." example:"drifted"`
		Limit    Integer  `query:"limit" doc:"Groups of a page: 1 to 200; 50 when left out."`
		PerGroup Integer  `query:"per_group" doc:"Items shown of each group: 1 to 200; 3 when left out."`
		Cursor   string   `query:"cursor" doc:"next_cursor of the page before."`
	}
	add(a, endpoint{id: "review-queue", method: http.MethodGet, path: pathReview, tag: tagReview,
		summary: "The review queue", description: "Gives what a person should look at, grouped by cause, most urgent first: with `all`, everything the caller may see, " +
			"else what they wrote or own by CODEOWNERS.",
		answers: "A page of groups, with the first items of each."},
		func(ctx context.Context, x *exchange, in *queueQuery) (*answer[review.Queue], error) {
			r := review.QueueRequest{All: in.All == "true", Cursor: in.Cursor}
			for _, reason := range in.Reason {
				r.Reasons = append(r.Reasons, review.Reason(reason))
			}
			var err error
			if r.Limit, err = in.Limit.value("limit"); err != nil {
				return nil, err
			}
			if r.PerGroup, err = in.PerGroup.value("per_group"); err != nil {
				return nil, err
			}
			out, err := a.service.ReviewQueue(ctx, x.caller, r)
			out.Items, out.Groups = some(out.Items), groups(out.Groups)
			if out.Counts == nil {
				out.Counts = map[review.Reason]int{}
			}
			return &answer[review.Queue]{out}, err
		})
	type groupQuery struct {
		ProjectPath

		Group  string  `path:"group" doc:"The group: its id."`
		Limit  Integer `query:"limit" doc:"Items of a page: 1 to 200; 50 when left out."`
		Cursor string  `query:"cursor" doc:"next_cursor of the page before."`
	}
	add(a, endpoint{id: "review-group", method: http.MethodGet, path: pathReview + "/groups/{group}", tag: tagReview,
		summary: "Open a group", description: "Gives the items of a group, weightiest first, in pages.", answers: "The group and a page of its items."},
		func(ctx context.Context, x *exchange, in *groupQuery) (*answer[review.GroupPage], error) {
			r := review.GroupRequest{Group: in.Group, Cursor: in.Cursor}
			var err error
			if r.Limit, err = in.Limit.value("limit"); err != nil {
				return nil, err
			}
			out, err := a.service.ReviewGroup(ctx, x.caller, r)
			out.Items, out.Group.Actions = some(out.Items), some(out.Group.Actions)
			return &answer[review.GroupPage]{out}, err
		})
	type deciding struct {
		ProjectPath
		JSON[review.DecideRequest]
	}
	add(a, endpoint{id: "decide-review", method: http.MethodPost, path: pathReview + "/decisions", tag: tagReview, writes: true, status: http.StatusCreated,
		summary: "Decide", description: "Decides about a group, about items, or about memories: exactly one of the three. What cannot be done to a memory is told under " +
			"`kept`, and the rest is done. More than 10 memories want a `reason`. Agents may confirm and dispute, authors settle what is theirs alone, " +
			"everything else needs the reviewer role.",
		answers: "The decision.",
		example: map[string]any{"action": "confirm", "group": "g-2f1c5e9a7b3d", "expected": 3, "reason": "Read against the code after the move."}},
		func(ctx context.Context, x *exchange, in *deciding) (*answer[review.Decision], error) {
			out, err := a.service.DecideReview(ctx, x.caller, in.Sent)
			return decided(out), err
		})
	type undoing struct {
		ProjectPath
		JSON[undoReview]

		Decision string `path:"decision" doc:"The decision: its id."`
	}
	add(a, endpoint{id: "undo-review", method: http.MethodPost, path: pathReview + "/decisions/{decision}/undo", tag: tagReview, writes: true,
		summary: "Take a decision back", description: "Undoes a decision: its memories are as they were, and its items open again. When somebody decided about one of " +
			"them since, nothing happens, and the conflict says who. Needs the reviewer role, as deciding does.",
		answers: "The decision, undone.", example: map[string]any{}},
		func(ctx context.Context, x *exchange, in *undoing) (*answer[review.Decision], error) {
			out, err := a.service.UndoReview(ctx, x.caller, in.Decision)
			return decided(out), err
		})
	type historyQuery struct {
		ProjectPath

		Author string  `query:"author" doc:"Decisions of this user, or of agent/user." example:"alex"`
		Memory string  `query:"memory" doc:"Decisions about this memory: handle, id or title." example:"m-7k3f9qa"`
		Limit  Integer `query:"limit" doc:"Decisions of a page: 1 to 200; 50 when left out."`
		Cursor string  `query:"cursor" doc:"next_cursor of the page before."`
	}
	add(a, endpoint{id: "review-history", method: http.MethodGet, path: pathReview + "/decisions", tag: tagReview,
		summary: "What was decided", description: "Lists decisions, newest first: who decided what, when and why.", answers: "A page of decisions."},
		func(ctx context.Context, x *exchange, in *historyQuery) (*answer[review.History], error) {
			r := review.HistoryRequest{Author: in.Author, Memory: in.Memory, Cursor: in.Cursor}
			var err error
			if r.Limit, err = in.Limit.value("limit"); err != nil {
				return nil, err
			}
			out, err := a.service.ReviewHistory(ctx, x.caller, r)
			out.Decisions = some(out.Decisions)
			for n := range out.Decisions {
				out.Decisions[n] = decided(out.Decisions[n]).Body
			}
			return &answer[review.History]{out}, err
		})
	type digestQuery struct {
		ProjectPath

		Since  Moment `query:"since" doc:"Since when: RFC 3339, or a date; a week ago when left out."`
		Titles string `query:"titles" enum:"true,false" doc:"true: also the titles of memories."`
	}
	add(a, endpoint{id: "review-digest", method: http.MethodGet, path: pathReview + "/digest", tag: tagReview,
		summary: "The digest", description: "Says in a few lines how the knowledge of the project stands: how much is documented, three causes to look at first, and the hole that " +
			"is worth filling. It holds no content of memories.",
		answers: "The digest, also as Markdown."},
		func(ctx context.Context, x *exchange, in *digestQuery) (*answer[review.Digest], error) {
			since, err := in.Since.value("since")
			if err != nil {
				return nil, err
			}
			r := review.DigestRequest{Titles: in.Titles == "true"}
			if since != nil {
				r.Since = *since
			}
			out, err := a.service.ReviewDigest(ctx, x.caller, r)
			out.Causes = some(out.Causes)
			if out.Open == nil {
				out.Open = map[review.Reason]int{}
			}
			for n := range out.Causes {
				out.Causes[n].Elements, out.Causes[n].Memories = some(out.Causes[n].Elements), some(out.Causes[n].Memories)
			}
			return &answer[review.Digest]{out}, err
		})
}

// groups and decided give lists that are empty, and never null.

func groups(list []review.Group) []review.Group {
	for n := range list {
		list[n].Actions = some(list[n].Actions)
	}
	return some(list)
}

func decided(d review.Decision) *answer[review.Decision] {
	d.Memories, d.Kept = some(d.Memories), some(d.Kept)
	return &answer[review.Decision]{d}
}
