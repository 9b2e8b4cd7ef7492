//go:build unix

package pgtest

import (
	"errors"

	"golang.org/x/sys/unix"
)

func processAlive(pid int) bool { return !errors.Is(unix.Kill(pid, 0), unix.ESRCH) }
