package measure

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/embedding"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/internal/retrieval"
	"github.com/stele-dev/stele/memory"
)

// TaskResult is what the tasks of a model came to.
type TaskResult struct {
	retrieval.TaskReport
	Elements int                 `json:"elements"` // in scope
	Memories int                 `json:"memories"`
	Latency  Latency             `json:"latency_ms"`
	Runs     []retrieval.TaskRun `json:"-"`
}

// tasksShown is how many elements a task may bring: as many as an agent is shown.
const tasksShown = memory.DefaultContextLimit

// Context imports a model, remembers what is known of its elements, and puts each task as agents do.
func Context(ctx context.Context, im memory.ModelImport, tasks *retrieval.Tasks, o Options) (*TaskResult, error) {
	if o.Embedder == nil {
		o.Embedder = embedding.None{}
	}
	names, err := namesInScope(im.Model, tasks)
	if err != nil {
		return nil, err
	}
	service := memory.New(o.Store, memory.Options{Embedder: o.Embedder, Ranking: o.Ranking})
	org, err := service.EnsureOrganization(ctx, "tasks")
	if err != nil {
		return nil, err
	}
	c := memory.Caller{Org: org, User: "author", Role: memory.RoleAdmin, Door: memory.FromCLI}
	p, err := service.CreateProject(ctx, c, "tasks", nil)
	if err != nil {
		return nil, err
	}
	c.Project = p.ID
	if _, err := service.ImportModel(ctx, c, im); err != nil {
		return nil, err
	}
	for _, m := range tasks.Memories {
		if _, err := service.Remember(ctx, c, memory.RememberRequest{Kind: memory.Kind(m.Kind), Title: m.Title, Content: m.Content, Elements: m.Elements, Separate: true}); err != nil {
			return nil, fmt.Errorf("memory %q: %w", memory.Line(m.Content), err)
		}
	}
	// Under load a vector may have missed its budget.
	if _, err := service.Backfill(ctx, org, time.Time{}, nil); err != nil {
		return nil, err
	}
	if _, err := service.BackfillElements(ctx, org); err != nil {
		return nil, err
	}
	out := &TaskResult{Memories: len(tasks.Memories)}
	out.Elements = len(names)
	took := make([]time.Duration, 0, len(tasks.Tasks))
	for n, task := range tasks.Tasks {
		began := time.Now()
		found, err := service.Context(ctx, c, memory.ContextRequest{Task: task.Text, Limit: tasksShown})
		if err != nil {
			return nil, fmt.Errorf("task %s: %w", task.ID, err)
		}
		took = append(took, time.Since(began))
		run := retrieval.TaskRun{Task: task, Got: []string{}}
		for _, e := range found.Elements {
			run.Got = append(run.Got, e.Key)
		}
		var right []string
		for _, key := range task.Elements {
			right = append(right, key[strings.LastIndexByte(key, '.')+1:], names[key])
		}
		run.Unshared = retrieval.Unshared(task.Text, right...)
		out.Runs = append(out.Runs, run)
		if o.Progress != nil {
			o.Progress(n+1, len(tasks.Tasks))
		}
	}
	out.TaskReport = retrieval.ScoreTasks(out.Runs)
	slices.Sort(took)
	out.Latency = Latency{P50: ms(took[len(took)/2]), P95: ms(took[len(took)*95/100])}
	return out, nil
}

// namesInScope gives the names of the elements that may be chosen, by key. A task about others alone could not be right.
func namesInScope(m *c4model.Model, tasks *retrieval.Tasks) (map[string]string, error) {
	names := map[string]string{}
	for _, e := range m.Elements {
		if e.InScope() {
			names[e.Key] = e.Name
		}
	}
	for _, t := range tasks.Tasks {
		if !slices.ContainsFunc(t.Elements, func(key string) bool { return names[key] != "" }) {
			return nil, problem.Invalidf("tasks", "task %s is about no element in scope", t.ID).Fix("name the keys as `stele model show` prints them")
		}
	}
	return names, nil
}
