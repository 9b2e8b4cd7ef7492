package embedded

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// dieWithParent makes the kernel ask the server for a fast shutdown when the thread that started it ends, which covers
// a supervisor that was killed.
func dieWithParent(cmd *exec.Cmd) { attributes(cmd).Pdeathsig = fastShutdown }

// serverProcesses lists the processes of a server on this data folder, found by their working directory: the postmaster
// and, when it was killed, those it left behind.
func serverProcesses(dataDir string) []int {
	resolved, err := filepath.EvalSymlinks(dataDir)
	if err != nil {
		return nil
	}
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil
	}
	var pids []int
	for _, dir := range dirs {
		cwd, err := os.Readlink(filepath.Join(dir, "cwd"))
		if err != nil || strings.TrimSuffix(cwd, " (deleted)") != resolved {
			continue
		}
		comm, err := os.ReadFile(filepath.Join(dir, "comm"))
		if err != nil || !bytes.HasPrefix(comm, []byte("postgres")) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(dir)); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}
