//go:build unix

package embedded

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/stele-dev/stele/internal/problem"
)

func supportedSystem() error { return nil }

// serverAccount gives the user that runs the server: this one, or postgres when this one is root.
func serverAccount() (account, error) {
	uid := os.Geteuid()
	if uid != 0 {
		name := strconv.Itoa(uid)
		if u, err := user.LookupId(name); err == nil {
			name = u.Username
		}
		return account{name: name, uid: uid, gid: os.Getegid()}, nil
	}
	const name = "postgres"
	u, err := user.Lookup(name)
	if err != nil {
		return account{}, problem.New(problem.Unavailable, "", "PostgreSQL refuses to run as root, and there is no user postgres to run it instead",
			"run: stele setup (the server's package makes the user)", "or run Stele as another user than root").Because(err)
	}
	if uid, err = strconv.Atoi(u.Uid); err != nil {
		return account{}, fmt.Errorf("user %s has uid %q", name, u.Uid)
	}
	gid, err := strconv.Atoi(u.Gid)
	if err != nil {
		return account{}, fmt.Errorf("user %s has gid %q", name, u.Gid)
	}
	return account{switchUser: true, name: name, uid: uid, gid: gid}, nil
}

// passable tells whether the account may enter the folder, by the permission bits alone.
func passable(info fs.FileInfo, a account) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return true
	}
	switch {
	case int(stat.Uid) == a.uid:
		return stat.Mode&0o100 != 0
	case int(stat.Gid) == a.gid:
		return stat.Mode&0o010 != 0
	}
	return stat.Mode&0o001 != 0
}

func ownerOf(info fs.FileInfo) int {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(stat.Uid)
	}
	return -1
}

// runAs makes the command run as the account, when that is another user.
func runAs(cmd *exec.Cmd, a account) {
	if !a.switchUser {
		return
	}
	attributes(cmd).Credential = &syscall.Credential{Uid: uint32(a.uid), Gid: uint32(a.gid)} //nolint:gosec // ids come from the system's own table, where they have 32 bits
}

// detach makes the command survive this process and its terminal.
func detach(cmd *exec.Cmd) { attributes(cmd).Setsid = true }

func attributes(cmd *exec.Cmd) *syscall.SysProcAttr {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	return cmd.SysProcAttr
}

// reap collects a child that has ended and does not wait for one that has not. It tells whether the child is gone.
func reap(pid int) bool {
	got, err := unix.Wait4(pid, nil, unix.WNOHANG, nil)
	return got == pid || errors.Is(err, unix.ECHILD)
}

// alive tells whether a process of that id is there.
func alive(pid int) bool {
	err := unix.Kill(pid, 0)
	return err == nil || errors.Is(err, unix.EPERM)
}

// The server's three ways to stop, as PostgreSQL defines them.
const (
	fastShutdown      = syscall.SIGINT  // ends sessions, writes a checkpoint
	immediateShutdown = syscall.SIGQUIT // ends now, recovers at the next start
	noShutdown        = syscall.SIGKILL

	stopSupervisor = syscall.SIGTERM
)

func signalProcess(pid int, s syscall.Signal) error {
	if err := unix.Kill(pid, s); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("signalling process %d: %w", pid, err)
	}
	return nil
}

func tryFlock(f *os.File, mode lockMode) (bool, error) {
	how := unix.LOCK_EX
	if mode == shared {
		how = unix.LOCK_SH
	}
	for {
		err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EWOULDBLOCK):
			return false, nil
		}
		return false, fmt.Errorf("locking %s: %w", f.Name(), err)
	}
}
