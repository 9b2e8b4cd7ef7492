//go:build unix

package main

import "golang.org/x/sys/unix"

// freeBytes is how much a user who is not root can still write where a folder is.
func freeBytes(dir string) (int64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, err
	}
	return int64(s.Bavail) * int64(s.Bsize), nil //nolint:gosec,unconvert // the types differ from system to system; no disk has 8 EiB
}
