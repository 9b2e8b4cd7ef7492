package filelock_test

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stele-dev/stele/internal/filelock"
)

func TestOneAtATime(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "made", "for", "it")
	held, err := filelock.Try(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := filelock.Try(path); !errors.Is(err, filelock.ErrHeld) {
		t.Errorf("a second one: %v", err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := filelock.Wait(over, path); !errors.Is(err, context.Canceled) {
		t.Errorf("one that gives up: %v", err)
	}
	if err := held.Release(); err != nil {
		t.Fatal(err)
	}
	var inside, total atomic.Int32 // the race detector knows nothing of locks on files
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			l, err := filelock.Wait(t.Context(), path)
			if err != nil {
				t.Error(err)
				return
			}
			if n := inside.Add(1); n != 1 {
				t.Errorf("%d at once", n)
			}
			total.Add(1)
			inside.Add(-1)
			if err := l.Release(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := total.Load(); n != 8 {
		t.Errorf("%d had their turn", n)
	}
}

func TestNowhere(t *testing.T) {
	t.Parallel()
	if _, err := filelock.Try(t.TempDir()); err == nil || errors.Is(err, filelock.ErrHeld) {
		t.Errorf("a folder as a lock: %v", err)
	}
}
