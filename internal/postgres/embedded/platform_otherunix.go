//go:build unix && !linux

package embedded

import (
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// dieWithParent has no counterpart here: a server whose supervisor was killed runs until the next start stops it.
func dieWithParent(*exec.Cmd) {}

// serverProcesses gives the postmaster named by the pid file, when that process is a postgres. Those that a killed
// postmaster left behind end by themselves when they notice, and the server waits for them through its shared memory.
func serverProcesses(dataDir string) []int {
	pid, _, err := readPidFile(dataDir)
	if err != nil {
		return nil
	}
	out, err := exec.Command("ps", "-o", "comm=", "-p", strconv.Itoa(pid)).Output()
	if err != nil || !strings.HasPrefix(filepath.Base(strings.TrimSpace(string(out))), "postgres") {
		return nil
	}
	return []int{pid}
}
