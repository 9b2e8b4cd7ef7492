package retrieval_test

import (
	"math"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stele-dev/stele/internal/retrieval"
)

// The tasks of this repository are as many as the documentation says, most of them hard, and a third held out.
func TestTasksOfTheRepository(t *testing.T) {
	t.Parallel()
	total, held := 0, 0
	for _, name := range []string{"wiki.jsonl", "relay.jsonl", "platform.jsonl", "sky.jsonl"} {
		tasks, err := retrieval.LoadTasks(os.DirFS("../../testdata/context"), name)
		if err != nil {
			t.Fatal(err)
		}
		for _, task := range tasks.Tasks {
			total++
			if task.HeldOut {
				held++
			}
		}
	}
	if total < 150 || held < total/4 || held > total/2 {
		t.Errorf("%d tasks, %d held out", total, held)
	}
}

func TestLoadTasksRefuses(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"nothing":       "",
		"no record":     "{}",
		"two records":   `{"task":{"id":"a","text":"x","elements":["k"]},"memory":{"kind":"note","content":"x","elements":[]}}`,
		"a wrong field": `{"task":{"id":"a","text":"x","element":["k"]}}`,
		"no element":    `{"task":{"id":"a","text":"x","elements":[]}}`,
		"one id twice":  `{"task":{"id":"a","text":"x","elements":["k"]}}` + "\n" + `{"task":{"id":"a","text":"y","elements":["k"]}}`,
		"rest":          `{"task":{"id":"a","text":"x","elements":["k"]}} {}`,
	} {
		if _, err := retrieval.LoadTasks(fstest.MapFS{"t.jsonl": {Data: []byte(text)}}, "t.jsonl"); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}

func TestScoreTasks(t *testing.T) {
	t.Parallel()
	run := func(rank int, held, unshared bool) retrieval.TaskRun {
		got := strings.Fields("b c d e f")
		if rank > 0 {
			got[rank-1] = "a"
		}
		return retrieval.TaskRun{Task: retrieval.Task{Elements: []string{"z", "a"}, HeldOut: held}, Got: got, Unshared: unshared}
	}
	r := retrieval.ScoreTasks([]retrieval.TaskRun{run(1, false, false), run(3, false, true), run(5, false, true), run(0, false, true), run(2, true, false)})
	for name, tc := range map[string]struct{ got, want retrieval.TaskScore }{
		"open":          {r.Open, retrieval.TaskScore{Tasks: 4, HitAt1: 0.25, HitAt3: 0.5, HitAt5: 0.75, MRR: (1 + 1.0/3 + 1.0/5) / 4}},
		"open unshared": {r.OpenUnshared, retrieval.TaskScore{Tasks: 3, HitAt3: 1.0 / 3, HitAt5: 2.0 / 3, MRR: (1.0/3 + 1.0/5) / 3}},
		"held out":      {r.HeldOut, retrieval.TaskScore{Tasks: 1, HitAt3: 1, HitAt5: 1, MRR: 0.5}},
		"none":          {r.HeldOutUnshared, retrieval.TaskScore{}},
	} {
		for _, n := range [][2]float64{{float64(tc.got.Tasks), float64(tc.want.Tasks)}, {tc.got.HitAt1, tc.want.HitAt1}, {tc.got.HitAt3, tc.want.HitAt3}, {tc.got.HitAt5, tc.want.HitAt5}, {tc.got.MRR, tc.want.MRR}} {
			if math.Abs(n[0]-n[1]) > 1e-9 {
				t.Errorf("%s: %+v, want %+v", name, tc.got, tc.want)
			}
		}
	}
	if retrieval.Unshared("queue of orders", "OrderQueue") || !retrieval.Unshared("the confirmation mail", "Courier") {
		t.Error("shared words are not told from others")
	}
}
