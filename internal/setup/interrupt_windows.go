package setup

import "os/exec"

// interruptible has nothing to do: there is no plan for Windows.
func interruptible(*exec.Cmd, bool) {}
