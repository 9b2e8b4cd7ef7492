package api

import (
	"context"
	"path"
	"strings"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/api/auth"
	"github.com/stele-dev/stele/api/mcp"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

func newAgents(o Options) (*mcp.Server, error) {
	return mcp.New(mcp.Options{Profile: o.Profile, Version: o.Version, Log: o.Log, Backend: agents{o.Service}})
}

// agents is the domain as agents get it over the network: who calls is known by the token of each request.
type agents struct{ service Service }

// Service is the domain.
func (a agents) Service() mcp.Service { return a.service }

// Caller is the holder of the token, in the project that was named, else in the only one that applies.
func (a agents) Caller(ctx context.Context, project string, _ bool) (memory.Caller, error) {
	c, t, err := auth.CallerFrom(ctx)
	if err != nil {
		return c, err
	}
	// Where the protocol knows no connection, all that comes by one token counts as one session: impressions and echoes
	// need to know who was shown what.
	c.Session = "token-" + t.ID.String()
	if project != "" {
		p, err := a.service.FindProject(ctx, c, project)
		c.Project = p.ID
		return c, err
	}
	if c.Bound != uuid.Nil {
		return c, nil
	}
	projects, err := a.service.Projects(ctx, c)
	if err != nil {
		return c, err
	}
	if len(projects) == 1 {
		c.Project = projects[0].ID
		return c, nil
	}
	p := problem.Invalidf("projectId", "there are %d projects, so it has to be said which is meant", len(projects))
	for _, known := range projects[:min(len(projects), listedProjects)] {
		_ = p.Fix("%s (%s)", known.ID, known.Name)
	}
	if len(projects) == 0 {
		p = problem.New(problem.NotFound, "projectId", "there is no project yet", "ask a reviewer or an admin to run `stele init` in the repository")
	}
	return c, p
}

// listedProjects bounds the projects that an error lists: an agent reads all of it.
const listedProjects = 20

// Seen is nil: the code is where the agent is, not here.
func (agents) Seen(context.Context) *memory.Seen { return nil }

// Worktree is empty for the same reason.
func (agents) Worktree() string { return "" }

// Relative cannot know where the repository of an agent begins; it only makes spellings equal.
func (agents) Relative(name string) string {
	if name == "" {
		return ""
	}
	return strings.TrimPrefix(path.Clean(strings.ReplaceAll(name, `\`, "/")), "./")
}
