package memory

import (
	"context"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/internal/problem"
)

// ProjectSettings are what a project decides for itself.
type ProjectSettings struct {
	// WithoutOrganization leaves the memories of the organization out of what the project is told: recall, context, plans,
	// impact, briefings, what is known about a file, the map and the counts. Whoever has the handle of one opens it all the
	// same, lists show it, and links lead to it. Personal memories stay.
	WithoutOrganization bool `json:"without_organization"`
}

// ProjectSettingsChange says what is to change; nil leaves it.
type ProjectSettingsChange struct {
	WithoutOrganization *bool `json:"without_organization"`
}

// projectTx changes a project.
type projectTx interface {
	// SetProjectSettings changes the settings of a project and gives the project as it is then; false when there is none.
	SetProjectSettings(ctx context.Context, project uuid.UUID, change ProjectSettingsChange) (ProjectInfo, bool, error)
}

// VerbSetProject says that the settings of a project were changed.
const VerbSetProject Verb = "set_project"

// ChangeProjectSettings changes what the caller's project decides for itself, and gives the project as it is then. It needs
// the reviewer role; errors are *problem.Error.
func (s *Service) ChangeProjectSettings(ctx context.Context, c Caller, change ProjectSettingsChange) (ProjectInfo, error) {
	switch {
	case c.Project == uuid.Nil:
		return ProjectInfo{}, problem.Invalidf("project", "no project is chosen").Fix("name one, or run `stele init` in the repository")
	case !c.mayReview():
		return ProjectInfo{}, problem.New(problem.Forbidden, "", "the settings of a project need the reviewer role", "use a token of role reviewer")
	}
	var out ProjectInfo
	err := s.write(ctx, c, []SpaceKey{{Project, c.Project.String()}}, func(tx Tx) error {
		return once(ctx, tx, c, s.now(), VerbSetProject, change, &out, func() error {
			p, found, err := tx.SetProjectSettings(ctx, c.Project, change)
			if err != nil {
				return err
			}
			if !found {
				return problem.New(problem.NotFound, "project", "there is no such project", "see `stele project list`")
			}
			out = p
			detail := map[string]string{}
			if change.WithoutOrganization != nil {
				detail["organization"] = "in"
				if *change.WithoutOrganization {
					detail["organization"] = "out"
				}
			}
			return tx.Audit(ctx, c, AuditEntry{At: s.now(), Verb: VerbSetProject, Subject: c.Project, Detail: detail})
		})
	})
	return out, wrap("project settings", err)
}
