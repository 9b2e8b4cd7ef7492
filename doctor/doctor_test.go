package doctor_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/stele-dev/stele/doctor"
	"github.com/stele-dev/stele/internal/problem"
)

func probe(id string, f doctor.Finding, needs ...string) doctor.Probe {
	return doctor.Probe{ID: id, Name: "the " + id, Needs: needs, Run: func(context.Context) doctor.Finding { return f }}
}

func TestRun(t *testing.T) {
	t.Parallel()
	good := doctor.Good("there")
	for name, tc := range map[string]struct {
		probes []doctor.Probe
		ok     bool
		want   []string
	}{
		"all is well": {
			probes: []doctor.Probe{probe("a", good), probe("b", good, "a")}, ok: true,
			want: []string{"a ok there; ", "b ok there; "},
		},
		"a warning stops nothing": {
			probes: []doctor.Probe{probe("a", doctor.Doubtful("do it", "old")), probe("b", good, "a")}, ok: true,
			want: []string{"a warn old; do it", "b ok there; "},
		},
		"what rests on a failure is left out, and says on which": {
			probes: []doctor.Probe{probe("a", doctor.Bad("mend it", "gone")), probe("b", good, "a"), probe("c", good, "b"), probe("d", good)}, ok: false,
			want: []string{"a fail gone; mend it", "b skip not judged, because of: the a; ", "c skip not judged, because of: the a; ", "d ok there; "},
		},
		"what was not judged is nothing to build on, and no failure": {
			probes: []doctor.Probe{probe("a", doctor.Unasked("there is none")), probe("b", good, "a")}, ok: true,
			want: []string{"a skip there is none; ", "b skip not judged, because of: the a; "},
		},
		"a need that nobody asked": {
			probes: []doctor.Probe{probe("a", good, "b"), probe("b", good)}, ok: false,
			want: []string{`a fail it needs "b", which is not asked before it; report this as a fault of stele`, "b ok there; "},
		},
		"a probe without an answer": {
			probes: []doctor.Probe{probe("a", doctor.Finding{})}, ok: false,
			want: []string{"a fail the check came to nothing; report this as a fault of stele"},
		},
		"a panic is that of one probe": {
			probes: []doctor.Probe{{ID: "a", Name: "a", Run: func(context.Context) doctor.Finding { panic("the text of a memory") }}, probe("b", good)}, ok: false,
			want: []string{"a fail the check itself failed: it panicked with a string; report this as a fault of stele", "b ok there; "},
		},
		"texts are one line": {
			probes: []doctor.Probe{probe("a", doctor.Bad("one\ntwo", "three\r\n four"))}, ok: false, want: []string{"a fail three four; one two"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := doctor.Run(t.Context(), tc.probes)
			var got []string
			for _, c := range r.Checks {
				got = append(got, fmt.Sprintf("%s %s %s; %s", c.ID, c.State, c.Detail, c.Fix))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" || r.OK != tc.ok {
				t.Errorf("ok %t\n%s", r.OK, diff)
			}
		})
	}
}

// A probe that never answers costs its limit, and what needs it is not run beside it.
func TestLimit(t *testing.T) {
	t.Parallel()
	let := make(chan struct{})
	defer close(let)
	ran := false
	r := doctor.Run(t.Context(), []doctor.Probe{
		{ID: "deaf", Name: "deaf", Limit: time.Millisecond, Run: func(context.Context) doctor.Finding { <-let; return doctor.Good("late") }},
		{ID: "next", Name: "next", Needs: []string{"deaf"}, Run: func(context.Context) doctor.Finding { ran = true; return doctor.Good("") }},
		{ID: "polite", Name: "polite", Limit: time.Millisecond, Run: func(ctx context.Context) doctor.Finding { <-ctx.Done(); return doctor.Failed(ctx.Err()) }},
	})
	if c := r.Checks[0]; c.State != doctor.Fail || !strings.Contains(c.Detail, "no answer within 1ms") {
		t.Errorf("%+v", c)
	}
	if r.Checks[1].State != doctor.Skip || ran {
		t.Errorf("%+v, ran %t", r.Checks[1], ran)
	}
	if c := r.Checks[2]; c.State != doctor.Fail || c.Fix == "" {
		t.Errorf("%+v", c)
	}
}

func TestInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	r := doctor.Run(ctx, []doctor.Probe{
		{ID: "a", Name: "a", Run: func(ctx context.Context) doctor.Finding { cancel(); <-ctx.Done(); return doctor.Unasked("interrupted") }},
		probe("b", doctor.Good("")),
	})
	if r.Checks[0].State != doctor.Skip || r.Checks[1].State != doctor.Skip {
		t.Errorf("%+v", r)
	}
}

func TestFailed(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		err  error
		want doctor.Finding
	}{
		"a problem":          {fmt.Errorf("open: %w", problem.New(problem.Unavailable, "STELE_TOKEN", "it is old", "make one", "or not")), doctor.Finding{State: doctor.Fail, Detail: "STELE_TOKEN: it is old", Fix: "make one"}},
		"without a field":    {problem.New(problem.Unavailable, "", "it is old"), doctor.Finding{State: doctor.Fail, Detail: "it is old"}},
		"out of time":        {fmt.Errorf("x: %w", context.DeadlineExceeded), doctor.Finding{State: doctor.Fail, Detail: "it did not answer in time", Fix: "try again"}},
		"any other, in line": {errors.New("a\nb"), doctor.Finding{State: doctor.Fail, Detail: "a b", Fix: "stele doctor --json"}},
	} {
		if diff := cmp.Diff(tc.want, doctor.Failed(tc.err)); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

// Scripts rely on the shape.
func TestShape(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(doctor.Run(t.Context(), []doctor.Probe{probe("a", doctor.Doubtful("do it", "old"))}))
	if err != nil {
		t.Fatal(err)
	}
	var got any
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"ok": true, "checks": []any{map[string]any{"id": "a", "name": "the a", "state": "warn", "detail": "old", "fix": "do it", "took_ms": float64(0)}}}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreMapEntries(func(key string, _ any) bool { return key == "took_ms" })); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(string(text), `"took_ms":`) {
		t.Errorf("%s", text)
	}
}
