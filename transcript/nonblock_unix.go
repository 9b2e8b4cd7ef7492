//go:build unix

package transcript

import "syscall"

// nonblock keeps the opening of a pipe from waiting.
const nonblock = syscall.O_NONBLOCK
