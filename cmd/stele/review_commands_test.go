package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/review"
)

func TestAim(t *testing.T) {
	t.Parallel()
	const item, other = "dangling_link:m-7k3f9qa:0a1b2c3d", "stale:m-abcdefg:00000000"
	for _, tc := range []struct {
		args []string
		want review.DecideRequest
		bad  bool
	}{
		{args: []string{"g-2f1c5e9a7b3d"}, want: review.DecideRequest{Group: "g-2f1c5e9a7b3d"}},
		{args: []string{item, other}, want: review.DecideRequest{Items: []string{item, other}}},
		{args: []string{"m-7k3f9qa", "Ovens: they lie: always"}, want: review.DecideRequest{Memories: []string{"m-7k3f9qa", "Ovens: they lie: always"}}},
		{args: []string{"g-2f1c5e9a7b3d", "m-7k3f9qa"}, bad: true},
		{args: []string{"g-2f1c5e9a7b3d", "g-2f1c5e9a7b3e"}, bad: true},
		{args: []string{item, "m-7k3f9qa"}, bad: true},
	} {
		var got review.DecideRequest
		err := aim(&got, tc.args)
		if tc.bad != problem.Is(err, problem.Invalid) || !tc.bad && err != nil {
			t.Errorf("%q: %v", tc.args, err)
		}
		if diff := cmp.Diff(tc.want, got); !tc.bad && diff != "" {
			t.Errorf("%q: %s", tc.args, diff)
		}
	}
}

func TestFromNow(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for s, want := range map[string]string{
		"12h": "2026-12-01T00:00:00Z", "3d": "2026-12-03T12:00:00Z", "2w": "2026-12-14T12:00:00Z", "2026-12-24": "2026-12-24T00:00:00Z",
		"2027-01-31T08:00:00+01:00": "2027-01-31T07:00:00Z",
		"":                          "", "0d": "", "-3d": "", "today": "", "2026-11-30": "", "2026-11-29T12:00:00Z": "", "soon": "", "d": "", "99999d": "",
	} {
		got, err := fromNow("until", s, now)
		if want == "" {
			if !problem.Is(err, problem.Invalid) || !strings.Contains(err.Error(), "2026-12-14") {
				t.Errorf("%q: %v, %v", s, got, err)
			}
			continue
		}
		if err != nil || got.UTC().Format(time.RFC3339) != want {
			t.Errorf("%q: %v, %v, want %s", s, got, err, want)
		}
	}
}

// A person is asked for a reason, a pipe is not.
func TestPrompt(t *testing.T) {
	t.Parallel()
	for input, want := range map[string]string{"read it\n": "read it", "  read it": "read it", "\n": "", "": ""} {
		a, out := offline(nil)
		a.in, a.interactive = strings.NewReader(input), true
		if got, err := a.prompt("Why? "); err != nil || got != want || out.String() != "Why? " {
			t.Errorf("%q: got %q, %v, printed %q", input, got, err, out)
		}
	}
	a, out := offline(nil)
	a.in = strings.NewReader("read it\n")
	if got, err := a.prompt("Why? "); err != nil || got != "" || out.Len() > 0 {
		t.Errorf("in a pipe: got %q, %v, printed %q", got, err, out)
	}
}
