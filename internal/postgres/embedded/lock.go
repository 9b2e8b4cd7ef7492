package embedded

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/stele-dev/stele/internal/problem"
)

// lockMode of a file lock. The locks are flock(2)'s: they belong to the open file, and the kernel drops them with the
// process.
type lockMode bool

const (
	shared    lockMode = false
	exclusive lockMode = true
)

// lockFile opens and locks a file, waiting for it as long as ctx allows. Closing the file drops the lock.
func lockFile(ctx context.Context, path string, mode lockMode) (*os.File, error) {
	f, err := openLock(path)
	if err != nil {
		return nil, err
	}
	for {
		got, err := tryFlock(f, mode)
		if err == nil && got {
			return f, nil
		}
		// A blocking flock would not end with ctx, so it is asked again and again; the holders are quick.
		if err == nil {
			err = pause(ctx, 2*time.Millisecond)
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("waiting for another process to release %s: %w", path, err), f.Close())
		}
	}
}

func openLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if errors.Is(err, fs.ErrPermission) {
		return nil, problem.New(problem.Unavailable, "STELE_DATA_DIR", fmt.Sprintf("the data folder belongs to somebody else: %v", err),
			"run Stele as the user who made it", "or name another folder in STELE_DATA_DIR").Because(err)
	}
	return f, err
}

// supervised tells whether a supervisor is alive, by the lock it holds.
func (f folder) supervised() (bool, error) {
	file, err := os.Open(f.supervisorFile())
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("looking for the supervisor: %w", err)
	}
	defer file.Close()
	got, err := tryFlock(file, shared)
	return !got, err
}
