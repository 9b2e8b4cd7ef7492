package local_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stele-dev/stele/hook"
	"github.com/stele-dev/stele/hook/local"
	"github.com/stele-dev/stele/internal/filelock"
)

// What is noted at once by many is taken once by one, and comes back when it could not be told.
func TestEdited(t *testing.T) {
	t.Parallel()
	f := local.Folder(t.TempDir())
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			if err := f.Edited("c", []string{fmt.Sprintf("a/%d.go", i%10), "b.go"}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	paths, done := f.Take("c")
	if len(paths) != 11 {
		t.Errorf("%v", paths)
	}
	if again, _ := f.Take("c"); len(again) > 0 {
		t.Errorf("taken twice: %v", again)
	}
	done(false)
	again, done := f.Take("c")
	if !slices.Equal(again, paths) {
		t.Errorf("after a failure: %v", again)
	}
	done(true)
	if left, _ := f.Take("c"); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	for range 300 {
		if err := f.Edited("c", []string{strings.Repeat("x", 1000)}); err != nil {
			t.Fatal(err)
		}
	}
	if size := sizeOf(t, string(f)); size > 100<<10 {
		t.Errorf("%d bytes are kept", size)
	}
}

func sizeOf(t *testing.T, dir string) (size int64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(_ string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err == nil {
			size += info.Size()
			if info.Mode().Perm()&0o077 != 0 {
				t.Errorf("%s is for others to read", e.Name())
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return size
}

func TestState(t *testing.T) {
	t.Parallel()
	f := local.Folder(t.TempDir())
	s := f.State("c")
	s.Read["/x.jsonl"] = 7
	s.Missed = &local.Missed{Source: "compact"}
	if err := f.Keep("c", s); err != nil {
		t.Fatal(err)
	}
	if got := f.State("c"); got.Read["/x.jsonl"] != 7 || got.Missed == nil || got.Missed.Source != "compact" {
		t.Errorf("%+v", got)
	}
	f.Forget("c")
	if got := f.State("c"); len(got.Read) > 0 || got.Missed != nil {
		t.Errorf("%+v", got)
	}
	if err := f.KeepStanding("/srv", hook.Standing{Documented: 1, Elements: 2, Doubted: 3}); err != nil {
		t.Fatal(err)
	}
	if got, ok := f.Standing("/srv"); !ok || got != (hook.Standing{Documented: 1, Elements: 2, Doubted: 3}) {
		t.Errorf("%+v", got)
	}
	if f.Lately("down", time.Hour) {
		t.Error("marked before anything was")
	}
	f.Mark("down")
	if !f.Lately("down", time.Hour) || f.Lately("down", 0) {
		t.Error("the mark")
	}
	var none local.Folder
	none.Mark("x")
	if _, ok := none.Standing("/srv"); ok || none.Lately("x", time.Hour) || none.Keep("c", s) != nil || none.Edited("c", []string{"a"}) != nil || none.Log(local.Entry{}) != nil {
		t.Error("without a folder something is kept")
	}
}

// The log keeps the newest, and is never more than twice its bound.
func TestLog(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := local.Folder(dir)
	start := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	const lines = 12_000
	for i := range lines {
		if err := f.Log(local.Entry{At: start.Add(time.Duration(i) * time.Second), Client: "claude-code", Event: "PreToolUse", Outcome: local.Told, Handles: []string{"m-2222222", "m-3333333", "m-4444444"}}); err != nil {
			t.Fatal(err)
		}
	}
	if size := sizeOf(t, dir); size > 2<<20+1000 {
		t.Errorf("%d bytes", size)
	}
	got, err := f.Entries(start.Add((lines - 10) * time.Second))
	if err != nil || len(got) != 10 || !got[9].At.Equal(start.Add((lines-1)*time.Second)) {
		t.Errorf("%d entries, %v", len(got), err)
	}
}

// What nobody needs any more goes.
func TestTidy(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := local.Folder(dir)
	for _, c := range []string{"old", "new"} {
		if err := f.Edited(c, []string{c}); err != nil {
			t.Fatal(err)
		}
	}
	long := time.Now().Add(-15 * 24 * time.Hour)
	entries, err := os.ReadDir(filepath.Join(dir, "edited"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		name := filepath.Join(dir, "edited", e.Name())
		if text, err := os.ReadFile(name); err != nil || string(text) == "old\n" {
			if err := os.Chtimes(name, long, long); err != nil {
				t.Fatal(err)
			}
		}
	}
	f.Tidy()
	gone, _ := f.Take("old")
	kept, _ := f.Take("new")
	if len(gone) != 0 || len(kept) != 1 {
		t.Errorf("%v %v", gone, kept)
	}
}

// Of hooks that end at once each counts, and none spends what is not left; a new day begins anew.
func TestBudget(t *testing.T) {
	t.Parallel()
	f := local.Folder(t.TempDir())
	day := time.Date(2030, 1, 1, 23, 0, 0, 0, time.Local)
	var all sync.WaitGroup
	var granted atomic.Int32
	for range 20 {
		all.Go(func() {
			ok, err := f.Reserve(t.Context(), day, 100, 1050)
			if err != nil {
				t.Error(err)
			}
			if ok {
				granted.Add(1)
			}
		})
	}
	all.Wait()
	if n := granted.Load(); n != 10 || f.Spent(day) != 1000 {
		t.Errorf("%d were granted, %d spent", n, f.Spent(day))
	}
	for _, step := range []struct{ reserved, spent, left int }{{100, 40, 940}, {100, 150, 990}, {100, -7, 890}, {5000, 0, 0}, {0, 1 << 40, 1 << 20}} {
		if err := f.Settle(t.Context(), day, step.reserved, step.spent); err != nil || f.Spent(day) != step.left {
			t.Errorf("%+v: %d spent, %v", step, f.Spent(day), err)
		}
	}
	next := day.Add(2 * time.Hour)
	if f.Spent(next) != 0 {
		t.Errorf("the next day begins with %d", f.Spent(next))
	}
	if ok, err := f.Reserve(t.Context(), next, 1050, 1050); !ok || err != nil || f.Spent(next) != 1050 {
		t.Errorf("the next day: %t, %v, %d", ok, err, f.Spent(next))
	}
	if ok, err := local.Folder("").Reserve(t.Context(), day, 1, 10); ok || err != nil {
		t.Errorf("where nothing can be counted: %t, %v", ok, err)
	}
	over, cancel := context.WithCancel(t.Context())
	held, err := filelock.Try(filepath.Join(string(f), "summary-budget.json.lock"))
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if ok, err := f.Reserve(over, next, 0, 2000); ok || !errors.Is(err, context.Canceled) {
		t.Errorf("while another one counts: %t, %v", ok, err)
	}
	if err := held.Release(); err != nil {
		t.Error(err)
	}
}
