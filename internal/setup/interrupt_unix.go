//go:build unix

package setup

import (
	"os/exec"
	"syscall"
)

// interruptible makes the end of the command's context reach everything it runs: a shell acts on a signal only when the
// program it waits for has ended. A command that may ask at the terminal (sudo for the password, brew) stays in the
// terminal's process group, where Ctrl-C reaches it anyway; any other gets a group of its own.
func interruptible(cmd *exec.Cmd, asks bool) {
	if asks {
		cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
		return
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
}
