package postgres

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/stele-dev/stele/internal/postgres"
	"github.com/stele-dev/stele/memory"
)

// SetProjectSettings changes the settings of a project.
func (t *tx) SetProjectSettings(ctx context.Context, project uuid.UUID, change memory.ProjectSettingsChange) (memory.ProjectInfo, bool, error) {
	rows, err := t.tx.Query(ctx, `UPDATE projects p SET without_organization = coalesce($3, p.without_organization)
		WHERE p.org_id = $1 AND p.project_id = $2 RETURNING `+projectColumns, t.org, project, change.WithoutOrganization)
	if err != nil {
		return memory.ProjectInfo{}, false, err
	}
	p, err := pgx.CollectExactlyOneRow(rows, scanProject)
	if postgres.IsNoRows(err) {
		return memory.ProjectInfo{}, false, nil
	}
	return p, err == nil, err
}
