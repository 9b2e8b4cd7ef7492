package memory

import (
	"context"
	"crypto/subtle"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/internal/problem"
)

// Branches tells whether a branch has a commit, where a server can see for itself.
type Branches interface {
	// Contains tells whether a branch of a repository ("host/owner/name") has a commit. An error means that nobody knows.
	Contains(ctx context.Context, repository, branch, commit string) (bool, error)
	// DefaultBranch is the branch that a repository names as its default. An error means that nobody knows.
	DefaultBranch(ctx context.Context, repository string) (string, error)
}

// DriftProject is a project whose repository the server reads itself.
type DriftProject struct {
	Project  uuid.UUID
	Settings DriftSettings
}

// driftProjects lists projects for the server's own work.
type driftProjects interface {
	// DriftProjects gives the projects of the organization that have an address to read from.
	DriftProjects(ctx context.Context) ([]DriftProject, error)
}

// DriftProjects gives the projects of an organization whose repositories the server reads itself. It is for the server's own
// work, not for callers.
func (s *Service) DriftProjects(ctx context.Context, org uuid.UUID) ([]DriftProject, error) {
	var out []DriftProject
	err := s.store.View(ctx, org, func(v View) (err error) {
		out, err = v.DriftProjects(ctx)
		return err
	})
	return out, wrap("projects that are read", err)
}

// MayRunDrift tells whether the caller may have the server compare the project now.
func (s *Service) MayRunDrift(ctx context.Context, c Caller) error {
	if !c.mayReview() {
		return problem.New(problem.Forbidden, "", "a run by the server needs the reviewer role", "use a token of role reviewer, or push a run: stele drift run --push")
	}
	settings, err := s.DriftSettings(ctx, c)
	if err == nil && settings.CloneURL == "" {
		err = problem.New(problem.Conflict, "clone_url", "the server does not know where the repository is",
			"stele drift settings --clone-url https://example.org/owner/name.git", "or push a run: stele drift run --push")
	}
	return err
}

// Badge gives the score of a project to whoever has the secret address of its badges. Everything else does not exist.
func (s *Service) Badge(ctx context.Context, org, project uuid.UUID, secret string) (DriftScore, error) {
	none := problem.New(problem.NotFound, "", "there is no such badge", "see stele drift settings")
	var out DriftScore
	err := s.store.View(ctx, org, func(v View) error {
		settings, err := v.DriftSettings(ctx, project)
		if err != nil {
			return err
		}
		if settings.Badge == "" || subtle.ConstantTimeCompare([]byte(settings.Badge), []byte(secret)) != 1 {
			return none
		}
		runs, err := v.LatestTracked(ctx, project)
		out = sumRuns(runs)
		return err
	})
	return out, err
}

// vouched tells whether the server sees for itself that a run is of the tracked branch: the repository is one of the project's,
// the branch is the one that the settings name or else the repository's own default, and it has the commit. What the run says
// of the default branch is not believed: any branch would do. Where nobody knows, the answer is no.
func (s *Service) vouched(ctx context.Context, c Caller, p RunPush) bool {
	if s.branches == nil || !p.Tracked || c.Role != RoleCI || c.Tracked || p.Branch == "" {
		return false
	}
	projects, err := s.store.Projects(ctx, c.Org)
	if err != nil {
		return false
	}
	known := slices.ContainsFunc(projects, func(i ProjectInfo) bool {
		return i.ID == c.Project && slices.Contains(i.Identities, "remote:"+p.Repository)
	})
	if !known {
		return false
	}
	const patience = 10 * time.Second
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	settings, err := s.driftSettings(ctx, c)
	if err != nil {
		return false
	}
	tracked := settings.TrackedBranch
	if tracked == "" {
		if tracked, err = s.branches.DefaultBranch(ctx, p.Repository); err != nil {
			return false
		}
	}
	if tracked != p.Branch {
		return false
	}
	seen, err := s.branches.Contains(ctx, p.Repository, p.Branch, p.Report.Commit)
	return err == nil && seen
}

// driftSettings reads the settings for the server's own decisions.
func (s *Service) driftSettings(ctx context.Context, c Caller) (out DriftSettings, err error) {
	err = s.viewRuns(ctx, c, func(v View) error {
		out, err = v.DriftSettings(ctx, c.Project)
		return err
	})
	return out, err
}
