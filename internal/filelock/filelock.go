// Package filelock keeps processes of one machine apart by locks on files. A lock ends with the process that holds it, however that ends.
package filelock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// ErrHeld says that somebody else holds the lock.
var ErrHeld = errors.New("somebody else holds the lock")

// Lock is one that is held, until Release or the end of the process.
type Lock struct{ file *os.File }

// Try takes the lock on a file, which is made where it is missing, with its folder, and stays. It gives ErrHeld at once where somebody
// else, in this process or another one, holds it.
func Try(path string) (*Lock, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("locking: %w", err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("locking: %w", err)
	}
	if err := lock(f); err != nil {
		_ = f.Close() // nothing was written
		if errors.Is(err, ErrHeld) {
			return nil, err
		}
		return nil, fmt.Errorf("locking %s: %w", path, err)
	}
	return &Lock{f}, nil
}

// again is how long to wait until a lock is tried again. A lock that is waited for by the kernel could not be given up.
const again = 5 * time.Millisecond

// Wait takes the lock as soon as nobody else holds it, or gives the error of a context that ended before.
func Wait(ctx context.Context, path string) (*Lock, error) {
	tick := time.NewTicker(again)
	defer tick.Stop()
	for {
		l, err := Try(path)
		if !errors.Is(err, ErrHeld) {
			return l, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for the lock %s: %w", path, ctx.Err())
		case <-tick.C:
		}
	}
}

// Release lets go of the lock.
func (l *Lock) Release() error { return l.file.Close() }
