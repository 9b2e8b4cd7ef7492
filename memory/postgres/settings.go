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
	b := &pgx.Batch{}
	b.Queue(`UPDATE projects SET without_organization = coalesce($3, without_organization) WHERE org_id = $1 AND project_id = $2`,
		t.org, project, change.WithoutOrganization)
	b.Queue(`SELECT `+projectColumns+` FROM projects p WHERE p.org_id = $1 AND p.project_id = $2`, t.org, project)
	results := t.tx.SendBatch(ctx, b)
	if _, err := results.Exec(); err != nil {
		_ = results.Close() // it has the same error
		return memory.ProjectInfo{}, false, err
	}
	rows, err := postgres.RowsOf(results)
	if err != nil {
		return memory.ProjectInfo{}, false, err
	}
	p, err := pgx.CollectExactlyOneRow(rows, scanProject)
	if postgres.IsNoRows(err) {
		return memory.ProjectInfo{}, false, nil
	}
	return p, err == nil, err
}
