package rest

import (
	"context"
	"net/http"

	"github.com/stele-dev/stele/drift"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

// driftService is what runs of drift are asked of.
type driftService interface {
	Watch(ctx context.Context, c memory.Caller, after string) (memory.WatchList, error)
	PushRun(ctx context.Context, c memory.Caller, p memory.RunPush) (memory.RunAnswer, error)
	DriftHistory(ctx context.Context, c memory.Caller, q memory.RunQuery) ([]memory.RunSummary, error)
	DriftRun(ctx context.Context, c memory.Caller, id string) (memory.RunReport, error)
	DriftScore(ctx context.Context, c memory.Caller) (memory.DriftScore, error)
	DriftSettings(ctx context.Context, c memory.Caller) (memory.DriftSettings, error)
	ChangeDriftSettings(ctx context.Context, c memory.Caller, change memory.DriftSettingsChange) (memory.DriftSettings, error)
	MayRunDrift(ctx context.Context, c memory.Caller) error
	HeldModel(ctx context.Context, c memory.Caller) (memory.HeldModel, bool, error)
	DecideModel(ctx context.Context, c memory.Caller, accept bool) (memory.HeldModel, error)
}

type runList struct {
	Runs []memory.RunSummary `json:"runs"`
}

// runNow asks for a run. There is nothing to say about it.
type runNow struct{}

type queuedRun struct {
	Queued bool `json:"queued"`
}

type decideModel struct {
	Accept bool `json:"accept"`
}

type waitingModel struct {
	Held *memory.HeldModel `json:"held"` // null when no model waits
}

// RunPath names a run of a project.
type RunPath struct {
	ProjectPath

	Run string `path:"run" doc:"The run: its id, or latest for the newest one of the tracked branch." example:"latest"`
}

// drift adds comparisons of the model with the code.
func (a *API) drift() {
	type watching struct {
		ProjectPath

		After string `query:"after" doc:"The next of the page before."`
	}
	add(a, endpoint{id: "drift-watch", method: http.MethodGet, path: pathProject + "/drift/watch", tag: tagDrift,
		summary: "What a run is asked about", description: "Lists the memories whose ground a run should look at: opaque ids, keys of elements, what was seen, and what " +
			"they quote as code; never their text. Needs the reviewer role, or a token of role ci.",
		answers: "A page of the watch list."},
		func(ctx context.Context, x *exchange, in *watching) (*answer[memory.WatchList], error) {
			out, err := a.service.Watch(ctx, x.caller, in.After)
			out.Memories = some(out.Memories)
			return &answer[memory.WatchList]{out}, err
		})
	type pushing struct {
		ProjectPath
		JSON[memory.RunPush]
	}
	add(a, endpoint{id: "push-run", method: http.MethodPost, path: pathProject + "/drift/runs", tag: tagDrift, limit: MaxModelBody,
		large:   append([]memory.Role{memory.RoleCI}, importers...),
		summary: "Push a run", description: "Stores a comparison of the model with a commit, as `stele drift run --push` makes it. On the tracked branch, " +
			"from a token that may speak for it, the model becomes the project's, and memories whose ground moved come into doubt. The very same " +
			"run again changes nothing. Needs the reviewer role, or a token of role ci.",
		answers: "What the run did, or would do.",
		example: map[string]any{"repository": "example.org/shop", "branch": "main", "default_branch": "main", "tracked": true,
			"ancestors": []any{"4b825dc642cb6eb9a060e54bf8d69288fbee4904"},
			"report":    map[string]any{"status": "checked", "score": 100, "commit": "4b825dc642cb6eb9a060e54bf8d69288fbee4904", "input_hash": "5f1c", "engine_version": 1}}},
		func(ctx context.Context, x *exchange, in *pushing) (*answer[memory.RunAnswer], error) {
			out, err := a.service.PushRun(ctx, x.caller, in.Sent)
			return &answer[memory.RunAnswer]{out}, err
		})
	type runningNow struct {
		ProjectPath
		JSON[runNow]
	}
	add(a, endpoint{id: "run-drift", method: http.MethodPost, path: pathProject + "/drift/run", tag: tagDrift, status: http.StatusAccepted, writes: true,
		summary: "Run now", description: "Has the server read the repository (`clone_url` of the settings) and compare the tip of the tracked branch, soon. Needs the reviewer role.",
		answers: "The run is waiting for its turn; it appears in the list of runs.", example: map[string]any{}},
		func(ctx context.Context, x *exchange, _ *runningNow) (*answer[queuedRun], error) {
			if err := a.service.MayRunDrift(ctx, x.caller); err != nil {
				return nil, err
			}
			if a.options.RunDrift == nil {
				return nil, problem.New(problem.Unavailable, "", "this server reads no repositories", "push a run: stele drift run --push")
			}
			return &answer[queuedRun]{queuedRun{true}}, a.options.RunDrift(ctx, x.caller.Org, x.caller.Project)
		})
	type runsQuery struct {
		ProjectPath

		Repository string  `query:"repository" doc:"Only runs of this repository."`
		Branch     string  `query:"branch" doc:"Only runs of this branch."`
		Tracked    string  `query:"tracked" enum:"true,false" doc:"true: only runs that could put memories in doubt."`
		Limit      Integer `query:"limit" doc:"At most this many, 1 to 200." example:"20"`
		Before     Moment  `query:"before" doc:"Only runs that arrived before."`
	}
	runs := func(ctx context.Context, x *exchange, in *runsQuery, tracked bool) (*answer[runList], error) {
		q := memory.RunQuery{Repository: in.Repository, Branch: in.Branch, Tracked: tracked}
		var err error
		if q.Limit, err = in.Limit.value("limit"); err != nil {
			return nil, err
		}
		before, err := in.Before.value("before")
		if err != nil {
			return nil, err
		}
		if before != nil {
			q.Before = *before
		}
		list, err := a.service.DriftHistory(ctx, x.caller, q)
		return &answer[runList]{runList{some(list)}}, err
	}
	add(a, endpoint{id: "list-runs", method: http.MethodGet, path: pathProject + "/drift/runs", tag: tagDrift,
		summary: "List runs", description: "Lists the comparisons of the model with the code, newest first.", answers: "The runs."},
		func(ctx context.Context, x *exchange, in *runsQuery) (*answer[runList], error) {
			return runs(ctx, x, in, in.Tracked == "true")
		})
	type historyQuery struct {
		ProjectPath

		Repository string  `query:"repository" doc:"Only runs of this repository."`
		Limit      Integer `query:"limit" doc:"At most this many, 1 to 200." example:"20"`
		Before     Moment  `query:"before" doc:"Only runs that arrived before."`
	}
	add(a, endpoint{id: "drift-history", method: http.MethodGet, path: pathProject + "/drift/history", tag: tagDrift,
		summary: "Score over time", description: "Lists the runs of the tracked branch, newest first, with their scores.", answers: "The runs."},
		func(ctx context.Context, x *exchange, in *historyQuery) (*answer[runList], error) {
			return runs(ctx, x, &runsQuery{ProjectPath: in.ProjectPath, Repository: in.Repository, Limit: in.Limit, Before: in.Before}, true)
		})
	add(a, endpoint{id: "get-run", method: http.MethodGet, path: pathProject + "/drift/runs/{run}", tag: tagDrift,
		summary: "Get a run", description: "Gives a comparison with everything it found: findings with fixes, since when and by whom.", answers: "The run and its report."},
		func(ctx context.Context, x *exchange, in *RunPath) (*answer[memory.RunReport], error) {
			id := in.Run
			if id == "latest" {
				id = ""
			}
			out, err := a.service.DriftRun(ctx, x.caller, id)
			out.Report.Findings = some(out.Report.Findings)
			return &answer[memory.RunReport]{out}, err
		})
	add(a, endpoint{id: "drift-score", method: http.MethodGet, path: pathProject + "/drift/score", tag: tagDrift,
		summary: "Score", description: "Gives how well code and model agree: the latest tracked run of each repository, added up. 100 means the code " +
			"matches the model.", answers: "The score."},
		func(ctx context.Context, x *exchange, _ *ProjectPath) (*answer[memory.DriftScore], error) {
			out, err := a.service.DriftScore(ctx, x.caller)
			if out.Levels == nil {
				out.Levels = map[string]drift.Tally{}
			}
			out.Runs = some(out.Runs)
			return &answer[memory.DriftScore]{out}, err
		})
	add(a, endpoint{id: "get-drift-settings", method: http.MethodGet, path: pathProject + "/drift/settings", tag: tagDrift,
		summary: "Settings of drift", description: "Gives which branch is tracked, and what the server does by itself. Needs the reviewer role.", answers: "The settings."},
		func(ctx context.Context, x *exchange, _ *ProjectPath) (*answer[memory.DriftSettings], error) {
			out, err := a.service.DriftSettings(ctx, x.caller)
			return &answer[memory.DriftSettings]{out}, err
		})
	type setting struct {
		ProjectPath
		JSON[memory.DriftSettingsChange]
	}
	add(a, endpoint{id: "set-drift-settings", method: http.MethodPatch, path: pathProject + "/drift/settings", tag: tagDrift, writes: true,
		summary: "Change settings of drift", description: "Changes which branch is tracked, and what the server does by itself; what is left out stays. Needs the reviewer role.",
		answers: "The settings as they are now.", example: map[string]any{"tracked_branch": "main", "badge": true}},
		func(ctx context.Context, x *exchange, in *setting) (*answer[memory.DriftSettings], error) {
			out, err := a.service.ChangeDriftSettings(ctx, x.caller, in.Sent)
			return &answer[memory.DriftSettings]{out}, err
		})
	add(a, endpoint{id: "get-held-model", method: http.MethodGet, path: pathProject + "/model/held", tag: tagModel,
		summary: "A model that waits", description: "Gives the pushed model that waits for a decision because it would drop many elements. Needs the reviewer role.",
		answers: "What waits; null when nothing does."},
		func(ctx context.Context, x *exchange, _ *ProjectPath) (*answer[waitingModel], error) {
			out, found, err := a.service.HeldModel(ctx, x.caller)
			if !found {
				return &answer[waitingModel]{}, err
			}
			return &answer[waitingModel]{waitingModel{&out}}, err
		})
	type deciding struct {
		ProjectPath
		JSON[decideModel]
	}
	add(a, endpoint{id: "decide-held-model", method: http.MethodPost, path: pathProject + "/model/held", tag: tagModel, writes: true,
		summary: "Decide about a model", description: "Makes the model that waits the project's, or refuses it. Needs the reviewer role.",
		answers: "What was decided about.", example: map[string]any{"accept": true}},
		func(ctx context.Context, x *exchange, in *deciding) (*answer[waitingModel], error) {
			out, err := a.service.DecideModel(ctx, x.caller, in.Sent.Accept)
			return &answer[waitingModel]{waitingModel{&out}}, err
		})
}
