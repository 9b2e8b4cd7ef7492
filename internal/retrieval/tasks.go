package retrieval

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory/terms"
)

// Task is a sentence as a developer would say it, with the elements of a model that it is about.
type Task struct {
	ID       string   `json:"id"`
	Text     string   `json:"text"`
	Elements []string `json:"elements"`           // keys; any of them is right
	HeldOut  bool     `json:"held_out,omitempty"` // kept apart while anything was tuned
}

// TaskMemory is a memory that the elements of a model have before the tasks are put.
type TaskMemory struct {
	Kind     string   `json:"kind"`
	Title    string   `json:"title,omitempty"`
	Content  string   `json:"content"`
	Elements []string `json:"elements"`
}

// Tasks are the tasks and memories of one model. They name its elements by key and hold nothing else of it: the model is read
// from where it is.
type Tasks struct {
	Tasks    []Task
	Memories []TaskMemory
}

// LoadTasks reads tasks: one record a line, {"task":{…}} or {"memory":{…}}.
func LoadTasks(tree fs.FS, name string) (*Tasks, error) {
	f, err := tree.Open(name)
	if err != nil {
		return nil, problem.Invalidf("tasks", "%s cannot be read", name).Fix("name a .jsonl file of tasks").Because(err)
	}
	defer f.Close()
	out := &Tasks{}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, maxLine)
	for number := 1; lines.Scan(); number++ {
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 {
			continue
		}
		if err := out.add(line); err != nil {
			return nil, problem.Invalidf("tasks", "%s:%d: %v", name, number, err).Fix(`a line is {"task":{…}} or {"memory":{…}}`).Because(err)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, problem.Invalidf("tasks", "%s: %v", name, err).Because(err)
	}
	if len(out.Tasks) == 0 {
		return nil, problem.Invalidf("tasks", "%s has no task", name).Fix(`write lines such as {"task":{"id":"t1","text":"…","elements":["shop.api"]}}`)
	}
	return out, nil
}

func (t *Tasks) add(line []byte) error {
	var r struct {
		Task   *Task       `json:"task"`
		Memory *TaskMemory `json:"memory"`
	}
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&r); err != nil {
		return err
	}
	switch {
	case decoder.More():
		return errors.New("more than one record on a line")
	case (r.Task == nil) == (r.Memory == nil):
		return errors.New("not exactly one record on a line")
	case r.Memory != nil:
		t.Memories = append(t.Memories, *r.Memory)
		return nil
	case r.Task.ID == "" || strings.TrimSpace(r.Task.Text) == "" || len(r.Task.Elements) == 0:
		return errors.New("a task has an id, a text and elements")
	case slices.ContainsFunc(t.Tasks, func(o Task) bool { return o.ID == r.Task.ID }):
		return fmt.Errorf("a second task %q", r.Task.ID)
	}
	t.Tasks = append(t.Tasks, *r.Task)
	return nil
}

// TaskRun is a task with the elements that came back for it, best first.
type TaskRun struct {
	Task     Task
	Got      []string // keys
	Unshared bool     // it shares no word with the name or key of any right element
}

// Unshared tells whether a text shares no word, after folding and stemming, with any of the names.
func Unshared(text string, names ...string) bool {
	of := terms.Of(strings.Join(names, "\n"))
	return !slices.ContainsFunc(terms.Of(text), func(t string) bool { return slices.Contains(of, t) })
}

// TaskScore is what a group of tasks came to: shares, 0 to 1.
type TaskScore struct {
	Tasks  int     `json:"tasks"`
	HitAt1 float64 `json:"hit_at_1"`
	HitAt3 float64 `json:"hit_at_3"` // a right element is among the first three
	HitAt5 float64 `json:"hit_at_5"`
	MRR    float64 `json:"mrr"`
}

// TaskReport scores tasks, and apart those that share no word with the name of a right element.
type TaskReport struct {
	Open            TaskScore `json:"open"` // not held out
	OpenUnshared    TaskScore `json:"open_unshared"`
	HeldOut         TaskScore `json:"held_out"`
	HeldOutUnshared TaskScore `json:"held_out_unshared"`
}

// ScoreTasks scores runs.
func ScoreTasks(runs []TaskRun) TaskReport {
	part := func(held, unshared bool) TaskScore {
		var s TaskScore
		for _, r := range runs {
			if r.Task.HeldOut == held && (r.Unshared || !unshared) {
				s.count(r)
			}
		}
		n := float64(max(1, s.Tasks))
		s.HitAt1, s.HitAt3, s.HitAt5, s.MRR = s.HitAt1/n, s.HitAt3/n, s.HitAt5/n, s.MRR/n
		return s
	}
	return TaskReport{Open: part(false, false), OpenUnshared: part(false, true), HeldOut: part(true, false), HeldOutUnshared: part(true, true)}
}

func (s *TaskScore) count(r TaskRun) {
	s.Tasks++
	rank := slices.IndexFunc(r.Got, func(key string) bool { return slices.Contains(r.Task.Elements, key) })
	if rank < 0 {
		return
	}
	s.MRR += 1 / float64(rank+1)
	for _, k := range []struct {
		within int
		hits   *float64
	}{{1, &s.HitAt1}, {3, &s.HitAt3}, {5, &s.HitAt5}} {
		if rank < k.within {
			*k.hits++
		}
	}
}

// WriteText writes the scores as a table.
func (r TaskReport) WriteText(w io.Writer) error {
	var err error
	line := func(format string, args ...any) {
		if err == nil {
			_, err = fmt.Fprintf(w, format+"\n", args...)
		}
	}
	line("%-28s %6s %6s %6s %6s %6s", "", "tasks", "hit@1", "hit@3", "hit@5", "MRR")
	for _, group := range []struct {
		name string
		TaskScore
	}{{"tasks", r.Open}, {"  no word of the name", r.OpenUnshared}, {"held out", r.HeldOut}, {"  no word of the name", r.HeldOutUnshared}} {
		if group.Tasks > 0 {
			line("%-28s %6d %6.3f %6.3f %6.3f %6.3f", group.name, group.Tasks, group.HitAt1, group.HitAt3, group.HitAt5, group.MRR)
		}
	}
	return err
}
