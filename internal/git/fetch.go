package git

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/stele-dev/stele/internal/problem"
)

// FetchQuery says what to bring from a remote. References of this repository change only where a refspec says so.
type FetchQuery struct {
	Remote string   // its name; "" is origin
	Refs   []string // commits or refspecs, at least one
	Depth  int      // commits of each, where the history is to be cut off; 0 does not cut
	Deepen int      // commits more than are here, of a history that was cut off; 0 leaves it
	// Header is sent with the request, such as "Authorization: Basic …". It is handed to git by the environment: other users of
	// the machine read command lines.
	Header string
}

// Fetch brings commits and what they hold from a remote. Nothing but objects is written, and nobody is asked for a password.
// What the remote refuses is a *Error.
func (r *Repository) Fetch(ctx context.Context, q FetchQuery) error {
	args := []string{"fetch", "--quiet", "--no-tags", "--no-auto-maintenance", "--no-write-fetch-head", "--no-recurse-submodules"}
	if q.Depth > 0 {
		args = append(args, "--depth="+strconv.Itoa(q.Depth))
	}
	if q.Deepen > 0 {
		args = append(args, "--deepen="+strconv.Itoa(q.Deepen))
	}
	remote := q.Remote
	if remote == "" {
		remote = "origin"
	}
	if len(q.Refs) == 0 {
		return problem.Invalidf("ref", "nothing to fetch was named").Fix("name a branch or a commit")
	}
	for _, name := range append([]string{remote}, q.Refs...) {
		if name == "" || strings.HasPrefix(name, "-") || strings.ContainsAny(name, "\x00\n") {
			return problem.Invalidf("ref", "%q is nothing that can be fetched", name).Fix("name a branch, a tag or a hash")
		}
	}
	cmd, stderr := r.command(ctx, append(append(args, remote), q.Refs...)...)
	if q.Header != "" {
		cmd.Env = append(cmd.Env, setting("http.extraHeader", q.Header)...)
	}
	if err := cmd.Run(); err != nil {
		return failure(ctx, "fetch", err, stderr)
	}
	return nil
}

// setting is one more configuration value in the environment, behind those that are there.
func setting(key, value string) []string {
	n, err := strconv.Atoi(os.Getenv("GIT_CONFIG_COUNT"))
	if err != nil || n < 0 {
		n = 0
	}
	return []string{fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", n, key), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", n, value), fmt.Sprintf("GIT_CONFIG_COUNT=%d", n+1)}
}
