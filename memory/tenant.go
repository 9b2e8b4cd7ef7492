package memory

import (
	"context"
	"fmt"
	"regexp"
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
	// Organizations lists every tenant by name: for the operator, never for a caller.
	Organizations(ctx context.Context) ([]OrganizationInfo, error)
	// OrganizationInfo gives a tenant by id.
	OrganizationInfo(ctx context.Context, org uuid.UUID) (OrganizationInfo, error)
	// CreateOrganization makes a tenant with its own keys, or gives the one that took the name meanwhile.
	CreateOrganization(ctx context.Context, name string, now time.Time) (uuid.UUID, error)
	// Projects lists an organization's projects by name.
	Projects(ctx context.Context, org uuid.UUID) ([]ProjectInfo, error)
	// Project finds the project of that id, else of that name without case, else of that identity; false when there is none.
	Project(ctx context.Context, org uuid.UUID, ref string) (ProjectInfo, bool, error)
	// CreateProject makes a project with its identities, or gives the one that already has the id or an identity.
	CreateProject(ctx context.Context, by Caller, p ProjectInfo) (ProjectInfo, error)
	// AddIdentities makes a project known by further identities; those of another project are left there.
	AddIdentities(ctx context.Context, by Caller, project uuid.UUID, identities []string, now time.Time) error
}

// OrganizationInfo is a tenant as doors show it.
type OrganizationInfo struct {
	ID        uuid.UUID `json:"id"`
	Name      string    `json:"name"`
	CreatedAt time.Time `json:"created_at"`
}

// ProjectInfo is a project as doors show it. Identities are what else it is known by: "remote:…", "gitdir:…".
type ProjectInfo struct {
	ID         uuid.UUID `json:"id"`
	Name       string    `json:"name"`
	Identities []string  `json:"identities"`
	CreatedAt  time.Time `json:"created_at"`
	ProjectSettings
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

// CreateOrganization makes a tenant. It is the operator's act, not one of a caller. A name that is taken is a conflict.
func (s *Service) CreateOrganization(ctx context.Context, name string) (OrganizationInfo, error) {
	name = strings.TrimSpace(name)
	if err := checkName("organization", name); err != nil {
		return OrganizationInfo{}, err
	}
	before, err := s.store.Organization(ctx, name)
	if err == nil && before != uuid.Nil {
		err = problem.New(problem.Conflict, "organization", fmt.Sprintf("there is an organization %q already", name), "choose another name")
	}
	if err != nil {
		return OrganizationInfo{}, fmt.Errorf("create organization: %w", err)
	}
	id, err := s.EnsureOrganization(ctx, name)
	if err != nil {
		return OrganizationInfo{}, err
	}
	info, err := s.store.OrganizationInfo(ctx, id)
	return info, wrap("create organization", err)
}

// FindOrganization finds a tenant by name.
func (s *Service) FindOrganization(ctx context.Context, name string) (uuid.UUID, error) {
	id, err := s.store.Organization(ctx, name)
	if err == nil && id == uuid.Nil {
		err = problem.New(problem.NotFound, "organization", fmt.Sprintf("there is no organization %q", clip(name, 80)),
			"check STELE_ORGANIZATION, or make it with `stele org create`")
	}
	return id, wrap("organization", err)
}

// Organizations lists the tenants by name, for the operator.
func (s *Service) Organizations(ctx context.Context) ([]OrganizationInfo, error) {
	list, err := s.store.Organizations(ctx)
	return list, wrap("organizations", err)
}

// Organization tells a caller about the organization it belongs to.
func (s *Service) Organization(ctx context.Context, c Caller) (OrganizationInfo, error) {
	info, err := s.store.OrganizationInfo(ctx, c.Org)
	return info, wrap("organization", err)
}

// Projects lists the projects that the caller may know of, by name.
func (s *Service) Projects(ctx context.Context, c Caller) ([]ProjectInfo, error) {
	ps, err := s.store.Projects(ctx, c.Org)
	if err != nil {
		return nil, fmt.Errorf("projects: %w", err)
	}
	if c.Bound != uuid.Nil {
		ps = slices.DeleteFunc(ps, func(p ProjectInfo) bool { return p.ID != c.Bound })
	}
	return ps, nil
}

// MatchProject finds the project that a reference means: that of the id, else of the name (without case), else of the
// identity. Names cannot look like ids or identities (checkProjectName), so no project can take another's place.
func MatchProject(ps []ProjectInfo, ref string) (ProjectInfo, bool) {
	for _, matches := range []func(ProjectInfo) bool{
		func(p ProjectInfo) bool { return strings.EqualFold(p.ID.String(), ref) },
		func(p ProjectInfo) bool { return strings.EqualFold(p.Name, ref) },
		func(p ProjectInfo) bool { return slices.Contains(p.Identities, ref) },
	} {
		if n := slices.IndexFunc(ps, matches); n >= 0 {
			return ps[n], true
		}
	}
	return ProjectInfo{}, false
}

// FindProject finds the project that a reference means (MatchProject) among those the caller may know of.
// problem.NotFound lists what there is.
func (s *Service) FindProject(ctx context.Context, c Caller, ref string) (ProjectInfo, error) {
	ref = strings.TrimSpace(ref)
	p, found, err := s.store.Project(ctx, c.Org, ref)
	if err != nil {
		return ProjectInfo{}, fmt.Errorf("project: %w", err)
	}
	if found && (c.Bound == uuid.Nil || c.Bound == p.ID) {
		return p, nil
	}
	ps, err := s.Projects(ctx, c)
	if err != nil {
		return ProjectInfo{}, err
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

// checkProjectName refuses what a reference would take for something else: an id or an identity.
func checkProjectName(name string) error {
	if err := checkName("project", name); err != nil {
		return err
	}
	if _, err := uuid.Parse(name); err == nil || strings.Contains(name, ":") {
		return problem.Invalidf("project", "%q looks like an id or an identity", clip(name, 80)).Fix("choose a name without a colon")
	}
	return nil
}

// mayCreateProjects refuses a caller who may not decide what projects there are.
func (c Caller) mayCreateProjects(what string) error {
	switch {
	case c.Bound != uuid.Nil:
		return problem.New(problem.Forbidden, "project", what+" is not for a token of one project", "use a token for every project")
	case c.mayReview(), c.Role == RoleCI && c.CreateProjects:
		return nil
	}
	return problem.New(problem.Forbidden, "project", what+" needs the reviewer role", "ask a reviewer or an admin to run `stele init` or `stele project create NAME`")
}

// CreateProject makes a project. A name that is taken is a conflict, unless the project that has it is also known by one
// of the identities. Under an idempotency key the same project is given again.
func (s *Service) CreateProject(ctx context.Context, c Caller, name string, identities []string) (ProjectInfo, error) {
	name = strings.TrimSpace(name)
	if err := checkProjectName(name); err != nil {
		return ProjectInfo{}, err
	}
	if err := c.mayCreateProjects("creating a project"); err != nil {
		return ProjectInfo{}, err
	}
	if err := c.checkRetry(); err != nil {
		return ProjectInfo{}, err
	}
	if err := s.checkIdentities(ctx, c, uuid.Nil, identities); err != nil {
		return ProjectInfo{}, err
	}
	p := ProjectInfo{ID: newID(), Name: name, Identities: identities, CreatedAt: s.now()}
	if c.Retry != "" {
		// The id follows from the key, so that a retry meets what the first attempt made.
		key := c.retryKey()
		p.ID = uuid.NewSHA1(c.Org, key[:])
	}
	wanted := p.ID
	p, err := s.store.CreateProject(ctx, c, p)
	if err != nil {
		return ProjectInfo{}, fmt.Errorf("create project %s: %w", name, err)
	}
	if c.Retry != "" && p.ID == wanted && p.Name != name {
		return ProjectInfo{}, problem.New(problem.Conflict, "Idempotency-Key", "this key was used for another request", "use a new key for a new request")
	}
	return p, nil
}

// AddIdentities makes a project known by further identities, such as a remote that its repository got later. Identities
// that another project has stay there: two repositories do not become one because an address moved.
func (s *Service) AddIdentities(ctx context.Context, c Caller, project uuid.UUID, identities []string) error {
	if len(identities) == 0 {
		return nil
	}
	if err := c.mayCreateProjects("saying which repository a project is"); err != nil {
		return err
	}
	if err := s.checkIdentities(ctx, c, project, identities); err != nil {
		return err
	}
	if err := s.store.AddIdentities(ctx, c, project, identities, s.now()); err != nil {
		return fmt.Errorf("identities of project %s: %w", project, err)
	}
	return nil
}

// maxIdentities bounds what one call may make a project known by: remotes and folders of one repository.
const maxIdentities = 32

// maxIdentityBytes bounds one identity: an address or a folder.
const maxIdentityBytes = 1024

// identity is what a project is known by besides id and name: a scheme and what it says.
var identity = regexp.MustCompile(`^[a-z]+:.`)

// checkIdentities refuses identities that are none, and the id of another project of this organization: it means that one.
func (s *Service) checkIdentities(ctx context.Context, c Caller, project uuid.UUID, identities []string) error {
	if len(identities) > maxIdentities {
		return problem.Invalidf("identities", "%d identities are more than the %d of one call", len(identities), maxIdentities).Fix("leave some out")
	}
	for _, i := range identities {
		if !identity.MatchString(i) || len(i) > maxIdentityBytes || !utf8.ValidString(i) || strings.ContainsFunc(i, unicode.IsControl) {
			return problem.Invalidf("identities", "%q is no identity", clip(i, 80)).Fix("give one such as remote:example.org/shop")
		}
		id, ok := strings.CutPrefix(i, "id:")
		if !ok {
			continue
		}
		meant, err := uuid.Parse(id)
		if err != nil {
			return problem.Invalidf("identities", "%q is not an id", clip(i, 80)).Fix("give id: and a project's id, or leave it out")
		}
		_, found, err := s.store.Project(ctx, c.Org, meant.String())
		if err != nil {
			return fmt.Errorf("project: %w", err)
		}
		if found && meant != project {
			return problem.New(problem.Conflict, "identities", fmt.Sprintf("%s is the id of another project", meant), "leave it out")
		}
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
