package memory_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/drift"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

// keepRuns is how long the tests keep runs.
const keepRuns = 180 * 24 * time.Hour

// drop removes runs that are past their time, keeping so many of the newest.
func (w *world) drop(newest int) memory.DroppedRuns {
	w.t.Helper()
	out, err := w.h.store.DropRuns(context.Background(), w.c.Org, w.now.Add(-keepRuns), newest)
	w.must(err)
	return out
}

// runsLeft gives the commits of the runs there are, by number, newest first.
func (w *world) runsLeft() string {
	w.t.Helper()
	runs, err := w.DriftHistory(context.Background(), w.c, memory.RunQuery{Limit: 200})
	w.must(err)
	var out []string
	for _, r := range runs {
		out = append(out, strings.TrimLeft(r.Commit, "0"))
	}
	return strings.Join(out, " ")
}

// Of runs that are past their time those stay that something is still told from.
func TestDropRuns(t *testing.T) {
	t.Parallel()
	branch := func(p *memory.RunPush) { p.Branch, p.Tracked = "feature", false }
	for name, c := range map[string]struct {
		happen func(w *world) // in a day
		newest int
		left   string // after it is past its time
	}{
		"the newest of the tracked branch": {func(w *world) {
			for n := 1; n <= 4; n++ {
				w.pushed(n)
			}
		}, 2, "4 3"},
		"of each repository": {func(w *world) {
			for n, repository := range []string{"example.org/a", "example.org/a", "example.org/b"} {
				w.now = w.now.Add(time.Minute)
				_, err := w.push(n+1, func(p *memory.RunPush) { p.Repository = repository })
				w.must(err)
			}
		}, 1, "3 2"},
		"that compared anything": {func(w *world) {
			w.pushed(1)
			for n := 2; n <= 3; n++ {
				w.now = w.now.Add(time.Minute)
				_, err := w.push(n, func(p *memory.RunPush) {
					p.Report = drift.Report{Status: drift.NotChecked, Reason: "no model", Commit: commit(n), CommittedAt: w.now, InputHash: fmt.Sprint(n)}
				})
				w.must(err)
			}
		}, 1, "3 1"},
		"no other branch's": {func(w *world) {
			w.pushed(1)
			w.now = w.now.Add(time.Minute)
			_, err := w.push(2, branch)
			w.must(err)
			w.pushed(3)
		}, 5, "3 1"},
		"but the newest of a project": {func(w *world) {
			for n := 1; n <= 2; n++ {
				w.now = w.now.Add(time.Minute)
				_, err := w.push(n, branch)
				w.must(err)
			}
		}, 5, "2"},
		"none that was late": {func(w *world) {
			w.pushed(3)
			if a := w.pushed(2); !a.Late {
				w.t.Error("it was not late")
			}
			w.pushed(4)
		}, 5, "4 3"},
		"what made an open doubt": {func(w *world) {
			w.remember(memory.RememberRequest{Content: "the gateway strips long headers", Elements: []string{"shop.api"}})
			w.pushed(1)
			if a := w.pushed(2, gone(w, "shop.api", 2)); len(a.Doubted) != 1 {
				w.t.Errorf("doubted %+v", a.Doubted)
			}
			w.pushed(3, gone(w, "shop.api", 2))
			w.pushed(4, gone(w, "shop.api", 2))
		}, 1, "4 2"},
		"not what made one that is cleared": {func(w *world) {
			m := w.remember(memory.RememberRequest{Content: "the gateway strips long headers", Elements: []string{"shop.api"}}).Memory
			w.pushed(1)
			w.pushed(2, gone(w, "shop.api", 2))
			w.now = w.now.Add(time.Minute)
			_, err := w.Confirm(context.Background(), w.c, memory.ConfirmRequest{Memory: m.Handle, Holds: true})
			w.must(err)
			w.pushed(3, gone(w, "shop.api", 2))
		}, 1, "3"},
		"what made a model that waits": {func(w *world) {
			w.pushed(1)
			w.now = w.now.Add(time.Minute)
			a, err := w.push(2, func(p *memory.RunPush) {
				p.Model, p.Source = &c4model.Model{Elements: []c4model.Element{{Key: "yard", Name: "Yard", Level: c4model.System}}}, "w.dsl"
			})
			w.must(err)
			if a.Held == nil {
				w.t.Error("the model does not wait")
			}
			w.pushed(3)
		}, 1, "3 2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, nil)
			c.happen(w)
			all := w.runsLeft()
			w.now = w.now.Add(keepRuns - time.Hour)
			if w.drop(c.newest); w.runsLeft() != all {
				t.Errorf("before their time: %q of %q are left", w.runsLeft(), all)
			}
			w.now = w.now.Add(2 * time.Hour)
			if n, err := w.DropRuns(context.Background(), w.c.Org, 0); err != nil || n != (memory.DroppedRuns{}) || w.runsLeft() != all {
				t.Errorf("kept for good: %+v, %v", n, err)
			}
			if w.drop(c.newest); w.runsLeft() != c.left {
				t.Errorf("%q are left of %q, want %q", w.runsLeft(), all, c.left)
			}
			health, err := w.Health(context.Background(), w.c)
			w.must(err)
			if health.Runs != int64(len(strings.Fields(c.left))) {
				t.Errorf("health counts %d runs", health.Runs)
			}
			if health.Projects[0].RanAt == nil || health.Projects[0].ImportedAt == nil {
				t.Errorf("the project looks as if it had never been compared or modelled: %+v", health.Projects[0])
			}
		})
	}
}

// The service keeps as many runs as a run names commits, and says of one that is gone that it is.
func TestDropRunsOfTheService(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	first := w.pushed(1)
	_, err := w.h.database.ConnectAdmin(t).Exec(context.Background(), `INSERT INTO drift_runs (org_id, project_id, run_id, repository, branch, commit, ancestors, committed_at, arrived_at, actor,
			tracked, status, engine_version, input_hash, report, answer)
		SELECT org_id, project_id, gen_random_uuid(), repository, branch, commit, ancestors, committed_at, arrived_at + n * interval '1 minute', actor,
			tracked, status, engine_version, n::text, report, answer FROM drift_runs, generate_series(1, $1::int) AS n`, memory.KeptRuns)
	w.must(err)
	w.now = w.now.Add(2 * keepRuns)
	if n, err := w.DropRuns(context.Background(), w.c.Org, keepRuns); err != nil || n.Runs != 1 {
		t.Errorf("removed %+v, %v", n, err)
	}
	_, err = w.DriftRun(context.Background(), w.c, first.RunID)
	wants(t, err, problem.NotFound, first.RunID)
}

// Removing old runs changes nothing that runs do: two projects live through the same, one of which keeps everything.
func TestDropRunsChangesNoEffect(t *testing.T) {
	t.Parallel()
	const histories, span = 10, 3 // commits that a run names, and so the runs that must be kept
	h := newHarness(t)
	done, failing, removed := 0, false, int64(0)
	rapid.Check(t, func(rt *rapid.T) {
		if done >= histories && !failing {
			return
		}
		failing = true
		worlds := [2]*world{h.world(t, nil), h.world(t, nil)}
		handles := [2]map[string]int{{}, {}}
		// both does the same in either world, and compares what came of it.
		both := func(what string, do func(w *world, known map[string]int) any) {
			var out [2]string
			for n, w := range worlds {
				out[n] = fmt.Sprintf("%+v", do(w, handles[n]))
			}
			if out[0] != out[1] {
				rt.Fatalf("%s: %s where old runs were removed, and else %s", what, out[0], out[1])
			}
		}
		push := func(n int, change func(*memory.RunPush)) {
			both(fmt.Sprint("push ", n), func(w *world, known map[string]int) any {
				a, err := w.push(n, func(p *memory.RunPush) {
					p.Ancestors = chain(n)[:min(n, span)]
					change(p)
				})
				w.must(err)
				var doubted []string
				for _, d := range a.Doubted {
					doubted = append(doubted, fmt.Sprint(known[d.Handle], d.Element, d.Cause))
				}
				return []any{a.Late, a.Baseline, a.NewFindings, a.Stamped, doubted, a.Withdrawn}
			})
		}
		head := 0
		broken := map[string]int{} // elements that drift, since which commit
		finds := func(w *world) []drift.Finding {
			var out []drift.Finding
			for _, e := range []string{"shop.api", "shop.web"} {
				if broken[e] > 0 {
					out = append(out, gone(w, e, broken[e]))
				}
			}
			return out
		}
		for range rapid.IntRange(10, 25).Draw(rt, "steps") {
			now := worlds[0].now.Add(time.Duration(rapid.IntRange(1, 100).Draw(rt, "days")) * 24 * time.Hour)
			worlds[0].now, worlds[1].now = now, now
			switch what := rapid.SampledFrom([]string{"push", "push", "push", "break", "mend", "propose", "remember", "confirm"}).Draw(rt, "what"); what {
			case "break", "mend":
				e := rapid.SampledFrom([]string{"shop.api", "shop.web"}).Draw(rt, "element")
				if what == "mend" {
					delete(broken, e)
				} else if broken[e] == 0 {
					broken[e] = head + 1
				}
				fallthrough
			case "push":
				head++
				push(head, func(p *memory.RunPush) { p.Report.Findings = finds(worlds[0]) })
			case "propose":
				push(head+1, func(p *memory.RunPush) {
					p.Ancestors[0], p.Report.Commit, p.Branch, p.Tracked = strings.Repeat("f", 40), strings.Repeat("f", 40), "feature", false
					p.Report.InputHash, p.Report.Findings = fmt.Sprint("proposal", head, worlds[0].now), finds(worlds[0])
				})
			case "remember":
				element := rapid.SampledFrom([]string{"shop.api", "shop.web"}).Draw(rt, "element")
				both(what, func(w *world, known map[string]int) any {
					m := w.remember(memory.RememberRequest{Content: fmt.Sprint("known since ", w.now), Elements: []string{element}, Separate: true}).Memory
					known[m.Handle] = len(known)
					return len(known)
				})
			case "confirm":
				which := rapid.IntRange(0, 5).Draw(rt, "which")
				for n, w := range worlds {
					for handle, i := range handles[n] {
						if i == which {
							_, err := w.Confirm(context.Background(), w.c, memory.ConfirmRequest{Memory: handle, Holds: true})
							w.must(err)
						}
					}
				}
			}
			removed += worlds[0].drop(span).Runs
			both("the memories", func(w *world, known map[string]int) any {
				out := make([]string, len(known))
				for handle, i := range known {
					out[i] = fmt.Sprint(flags(w.get(handle)))
				}
				return out
			})
			both("the score", func(w *world, _ map[string]int) any {
				score, err := w.DriftScore(context.Background(), w.c)
				w.must(err)
				for i := range score.Runs {
					score.Runs[i].ID = uuid.Nil.String()
				}
				return []any{score.Status, *orZero(score.Score), score.Findings, len(score.Runs)}
			})
		}
		done, failing = done+1, false
	})
	if removed < histories {
		t.Errorf("only %d runs were removed: nothing was tried", removed)
	}
}

func orZero(n *int) *int {
	if n == nil {
		return new(int)
	}
	return n
}
