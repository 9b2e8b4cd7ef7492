//go:build unix

package c4model

import (
	"testing"

	"golang.org/x/sys/unix"
)

func makePipe(t *testing.T, name string) {
	t.Helper()
	if err := unix.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
}
