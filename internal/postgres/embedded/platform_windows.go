package embedded

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"syscall"

	"github.com/stele-dev/stele/internal/problem"
)

// There is no embedded cluster on Windows; New says so, and nothing below is ever reached.

func supportedSystem() error {
	return problem.New(problem.Unavailable, "STELE_DATABASE_URL", "the embedded database does not run on Windows",
		"name a PostgreSQL server in STELE_DATABASE_URL", "or run Stele in WSL")
}

const (
	fastShutdown      = syscall.SIGINT
	immediateShutdown = syscall.SIGQUIT
	noShutdown        = syscall.SIGKILL
	stopSupervisor    = syscall.SIGTERM
)

var errWindows = errors.New("not on Windows")

func serverAccount() (account, error)           { return account{}, supportedSystem() }
func passable(fs.FileInfo, account) bool        { return false }
func ownerOf(fs.FileInfo) int                   { return -1 }
func runAs(*exec.Cmd, account)                  {}
func detach(*exec.Cmd)                          {}
func dieWithParent(*exec.Cmd)                   {}
func reap(int) bool                             { return true }
func alive(int) bool                            { return false }
func signalProcess(int, syscall.Signal) error   { return errWindows }
func tryFlock(*os.File, lockMode) (bool, error) { return false, errWindows }
func serverProcesses(string) []int              { return nil }
