//go:build !unix

package c4model

import (
	"os"
	"testing"
)

// makePipe makes a folder where there are no pipes: neither is a regular file.
func makePipe(t *testing.T, name string) {
	t.Helper()
	if err := os.Mkdir(name, 0o700); err != nil {
		t.Fatal(err)
	}
}
