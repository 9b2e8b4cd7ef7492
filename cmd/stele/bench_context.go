package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stele-dev/stele/c4model/formats"
	"github.com/stele-dev/stele/internal/postgres"
	"github.com/stele-dev/stele/internal/retrieval"
	"github.com/stele-dev/stele/internal/retrieval/measure"
	"github.com/stele-dev/stele/memory"
)

// contextBench is what scripts get.
type contextBench struct {
	Provider string `json:"provider"` // model of the vectors; "" for words alone
	*measure.TaskResult
}

func (a *app) benchContextCommand() *cobra.Command {
	var model, tasks, provider string
	var misses bool
	c := &cobra.Command{
		Use: "context", Short: "Measure which elements of a model are found for tasks", Args: cobra.NoArgs,
		Long: "Import a model into a scratch database, put tasks, and say how often an element\n" +
			"that a task is about is among the first. Nothing of yours is touched. Tasks are\n" +
			"a file of JSON lines that names elements by key.",
		Example: "  stele bench context --model workspace.dsl --tasks tasks.jsonl",
		RunE: func(cmd *cobra.Command, _ []string) error {
			set, err := retrieval.LoadTasks(os.DirFS(filepath.Dir(tasks)), filepath.Base(tasks))
			if err != nil {
				return err
			}
			im, err := readModel(cmd.Context(), model)
			if err != nil {
				return err
			}
			return a.benchContext(cmd.Context(), im, set, provider, misses)
		},
	}
	f := c.Flags()
	f.StringVar(&model, "model", "", "file or folder of the model")
	f.StringVar(&tasks, "tasks", "", "file of the tasks")
	f.StringVar(&provider, "provider", "", "encoder: builtin, openai, ollama or none (default: as configured)")
	f.BoolVar(&misses, "misses", false, "list the tasks none of whose elements was found")
	_, _ = c.MarkFlagRequired("model"), c.MarkFlagRequired("tasks") // the flags are there
	return c
}

// readModel reads a model alone: which files its elements have takes no part.
func readModel(ctx context.Context, name string) (memory.ModelImport, error) {
	source, err := formats.Find(ctx, name)
	if err != nil {
		return memory.ModelImport{}, err
	}
	m, err := formats.Read(ctx, filepath.Join(source.Root, filepath.FromSlash(source.File)))
	return memory.ModelImport{Model: m, Source: source.File}, err
}

func (a *app) benchContext(ctx context.Context, im memory.ModelImport, tasks *retrieval.Tasks, provider string, misses bool) error {
	var out contextBench
	err := a.inScratch(ctx, provider, "task", func(ctx context.Context, _ *postgres.DB, o measure.Options) (err error) {
		out.Provider = o.Embedder.Model()
		out.TaskResult, err = measure.Context(ctx, im, tasks, o)
		return err
	})
	if err != nil {
		return err
	}
	return a.answer(out, func(p *printer) { p.contextBench(out, misses) })
}

// contextBench prints what a run came to.
func (p *printer) contextBench(r contextBench, misses bool) {
	provider := r.Provider
	if provider == "" {
		provider = "words alone"
	}
	p.line("%s, %s, %s", count(r.Elements, "element"), count(r.Memories, "memory"), provider)
	_ = r.WriteText(p.w) // the writer keeps its error, and the end of the command tells it
	p.line("context: p50 %.1f ms, p95 %.1f ms", r.Latency.P50, r.Latency.P95)
	if !misses {
		return
	}
	for _, run := range r.Runs {
		if !slices.ContainsFunc(run.Got, func(key string) bool { return slices.Contains(run.Task.Elements, key) }) {
			p.line("%s %s: wanted %s, got %s", run.Task.ID, memory.Line(run.Task.Text), strings.Join(run.Task.Elements, " "), strings.Join(run.Got, " "))
		}
	}
}
