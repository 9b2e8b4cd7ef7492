package faults_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/stele-dev/stele/internal/postgres/pgtest"
)

// disk is where a database is kept that runs out of room.
type disk struct {
	dir  string
	form string // how it is made to be full

	fill    func(s *system) error
	noticed func(s *system) bool
	empty   func(s *system) error // makes room
}

// diskBytes is room for a database with its write-ahead log and not for much more.
const diskBytes = 400 << 20

// newDisk mounts a small filesystem in memory, which takes root. Others limit how long the files of PostgreSQL may grow,
// which fails the same writes with another error.
func newDisk(t *testing.T) *disk {
	t.Helper()
	d := &disk{dir: pgtest.Dir(t)}
	err := unix.Mount("tmpfs", d.dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, fmt.Sprintf("size=%d,mode=0711", diskBytes))
	if err == nil {
		t.Cleanup(func() {
			if err := unix.Unmount(d.dir, unix.MNT_DETACH); err != nil {
				t.Errorf("unmounting %s: %v", d.dir, err)
			}
		})
		ballast := filepath.Join(d.dir, "ballast")
		d.form = fmt.Sprintf("a tmpfs of %d MB, filled by another file", diskBytes>>20)
		d.fill = func(*system) error { return fill(ballast) }
		// The log of PostgreSQL lies on the same disk, so it may say nothing.
		d.noticed = func(s *system) bool { return s.told("the database server's disk is full") }
		d.empty = func(*system) error { return os.Remove(ballast) }
		return d
	}
	d.form = fmt.Sprintf("no filesystem of its own (mounting: %v): the processes of PostgreSQL may not write to files beyond their first byte", err)
	var before int
	d.fill = func(s *system) error {
		before = s.status().Server
		return limit(before, 1)
	}
	// PostgreSQL ends when it cannot write its log ahead, and its supervisor starts another, which is not limited.
	d.noticed = func(s *system) bool {
		now, err := s.cluster.Status(s.t.Context())
		return err == nil && now.Running && now.Server != before
	}
	d.empty = func(s *system) error { return limit(s.status().Server, unix.RLIM_INFINITY) }
	return d
}

// fill writes until nothing more can be written.
func fill(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	for block := make([]byte, 64<<10); err == nil; {
		_, err = f.Write(block)
	}
	if !errors.Is(err, unix.ENOSPC) {
		return errors.Join(err, f.Close())
	}
	return f.Close()
}

// limit sets how long files may be that a server of PostgreSQL and its children write to.
func limit(postmaster int, length uint64) error {
	server := strconv.Itoa(postmaster)
	pids := []string{server}
	all, err := os.ReadDir("/proc")
	if err != nil {
		return err
	}
	for _, e := range all {
		text, err := os.ReadFile(filepath.Join("/proc", e.Name(), "stat"))
		if err != nil {
			continue // no process, or one that has ended meanwhile
		}
		// The fields after the name in parentheses are state and parent.
		if rest := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:])); len(rest) > 1 && rest[1] == server {
			pids = append(pids, e.Name())
		}
	}
	for _, text := range pids {
		pid, err := strconv.Atoi(text)
		if err != nil {
			return err
		}
		var is unix.Rlimit
		if err := unix.Prlimit(pid, unix.RLIMIT_FSIZE, nil, &is); err != nil && !errors.Is(err, unix.ESRCH) {
			return err
		}
		is.Cur = min(length, is.Max)
		if err := unix.Prlimit(pid, unix.RLIMIT_FSIZE, &is, nil); err != nil && !errors.Is(err, unix.ESRCH) {
			return err
		}
	}
	return nil
}
