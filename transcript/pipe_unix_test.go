//go:build unix

package transcript_test

import (
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// pipe makes a named pipe that nobody writes into.
func pipe(t *testing.T, dir string) string {
	t.Helper()
	path := filepath.Join(dir, "pipe.jsonl")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
