package memory

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/internal/problem"
)

// DefaultOrganization is the tenant of the embedded default.
const DefaultOrganization = "default"

// MaxNameBytes bounds names of organizations and projects.
const MaxNameBytes = 200

// tenants keeps organizations and projects.
type tenants interface {
	// Organization finds a tenant by name; uuid.Nil when there is none.
	Organization(ctx context.Context, name string) (uuid.UUID, error)
	// CreateOrganization makes a tenant with its own keys, or gives the one that took the name meanwhile.
	CreateOrganization(ctx context.Context, name string, now time.Time) (uuid.UUID, error)
	// Projects lists an organization's projects by name.
	Projects(ctx context.Context, org uuid.UUID) ([]ProjectInfo, error)
	// CreateProject makes a project with its identities, or gives the one that already has the name or an identity.
	CreateProject(ctx context.Context, org uuid.UUID, p ProjectInfo) (ProjectInfo, error)
	// AddIdentities makes a project known by further identities; those of another project are left there.
	AddIdentities(ctx context.Context, org, project uuid.UUID, identities []string) error
}

// ProjectInfo is a project as doors show it. Identities are what else it is known by: "remote:…", "gitdir:…".
type ProjectInfo struct {
	ID         uuid.UUID `json:"id"`
	Name       string    `json:"name"`
	Identities []string  `json:"identities"`
	CreatedAt  time.Time `json:"created_at"`
}

// EnsureOrganization finds the tenant of that name or makes it. Several processes may do so at once.
func (s *Service) EnsureOrganization(ctx context.Context, name string) (uuid.UUID, error) {
	if err := checkName("organization", name); err != nil {
		return uuid.Nil, err
	}
	id, err := s.store.Organization(ctx, name)
	if err == nil && id == uuid.Nil {
		id, err = s.store.CreateOrganization(ctx, name, s.now())
	}
	if err != nil {
		return uuid.Nil, fmt.Errorf("organization %s: %w", name, err)
	}
	return id, nil
}

// Projects lists the projects of an organization by name.
func (s *Service) Projects(ctx context.Context, org uuid.UUID) ([]ProjectInfo, error) {
	ps, err := s.store.Projects(ctx, org)
	if err != nil {
		return nil, fmt.Errorf("projects: %w", err)
	}
	return ps, nil
}

// FindProject finds a project by id, name (without case) or identity. problem.NotFound lists what there is.
func (s *Service) FindProject(ctx context.Context, org uuid.UUID, ref string) (ProjectInfo, error) {
	ps, err := s.Projects(ctx, org)
	if err != nil {
		return ProjectInfo{}, err
	}
	ref = strings.TrimSpace(ref)
	for _, p := range ps {
		if strings.EqualFold(p.Name, ref) || strings.EqualFold(p.ID.String(), ref) || slices.Contains(p.Identities, ref) {
			return p, nil
		}
	}
	e := problem.New(problem.NotFound, "project", fmt.Sprintf("there is no project %q", clip(ref, 80)))
	for _, p := range ps[:min(len(ps), candidates)] {
		e.Fixes = append(e.Fixes, fmt.Sprintf("use %s (%s)", p.Name, p.ID))
	}
	if len(ps) == 0 {
		e.Fixes = append(e.Fixes, "create it with `stele init` in the repository, or `stele project create NAME`")
	}
	return ProjectInfo{}, e
}

// CreateProject makes a project. A name that is taken is a conflict, unless the project that has it is also known by one
// of the identities.
func (s *Service) CreateProject(ctx context.Context, org uuid.UUID, name string, identities []string) (ProjectInfo, error) {
	name = strings.TrimSpace(name)
	if err := checkName("project", name); err != nil {
		return ProjectInfo{}, err
	}
	p, err := s.store.CreateProject(ctx, org, ProjectInfo{ID: newID(), Name: name, Identities: identities, CreatedAt: s.now()})
	if err != nil {
		return ProjectInfo{}, fmt.Errorf("create project %s: %w", name, err)
	}
	return p, nil
}

// AddIdentities makes a project known by further identities, such as a remote that its repository got later. Identities
// that another project has stay there: two repositories do not become one because an address moved.
func (s *Service) AddIdentities(ctx context.Context, org, project uuid.UUID, identities []string) error {
	if len(identities) == 0 {
		return nil
	}
	if err := s.store.AddIdentities(ctx, org, project, identities); err != nil {
		return fmt.Errorf("identities of project %s: %w", project, err)
	}
	return nil
}

func checkName(field, name string) error {
	switch {
	case name == "":
		return problem.Invalidf(field, "the name is empty").Fix("give it a name")
	case len(name) > MaxNameBytes:
		return problem.Invalidf(field, "the name has %d bytes, more than %d", len(name), MaxNameBytes).Fix("shorten it")
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl):
		return problem.Invalidf(field, "the name has characters a name cannot have").Fix("use printable characters")
	}
	return nil
}
