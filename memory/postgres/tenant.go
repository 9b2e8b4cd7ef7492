package postgres

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/stele-dev/stele/internal/postgres"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

// Organization finds a tenant by name; uuid.Nil when there is none.
func (s *Store) Organization(ctx context.Context, name string) (uuid.UUID, error) {
	var id *uuid.UUID
	err := s.db.WithoutOrg(ctx, postgres.TxOptions{ReadOnly: true}, func(t pgx.Tx) error {
		return t.QueryRow(ctx, `SELECT organization_named($1)`, name).Scan(&id)
	})
	if err != nil || id == nil {
		return uuid.Nil, err
	}
	return *id, nil
}

// OrganizationInfo gives a tenant by id.
func (s *Store) OrganizationInfo(ctx context.Context, org uuid.UUID) (memory.OrganizationInfo, error) {
	info := memory.OrganizationInfo{ID: org}
	err := s.db.InOrg(ctx, org, postgres.TxOptions{ReadOnly: true}, func(t pgx.Tx) error {
		return t.QueryRow(ctx, `SELECT name, created_at FROM organizations WHERE org_id = $1`, org).Scan(&info.Name, &info.CreatedAt)
	})
	if postgres.IsNoRows(err) {
		return info, errOrganization()
	}
	info.CreatedAt = info.CreatedAt.UTC()
	return info, err
}

// Organizations lists every tenant by name.
func (s *Store) Organizations(ctx context.Context) ([]memory.OrganizationInfo, error) {
	ids, err := s.OrganizationIDs(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]memory.OrganizationInfo, 0, len(ids))
	for _, id := range ids {
		info, err := s.OrganizationInfo(ctx, id)
		if problem.Is(err, problem.NotFound) {
			continue // its name is claimed and the rest not committed yet
		}
		if err != nil {
			return nil, err
		}
		out = append(out, info)
	}
	slices.SortFunc(out, func(a, b memory.OrganizationInfo) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// CreateOrganization makes a tenant with fresh keys. When another took the name meanwhile, that one is the answer and
// nothing of this attempt stays.
func (s *Store) CreateOrganization(ctx context.Context, name string, now time.Time) (uuid.UUID, error) {
	org := uuid.Must(uuid.NewV7())
	_, w, err := s.master.NewKeys(org)
	if err != nil {
		return uuid.Nil, err
	}
	holder := org
	err = s.db.InOrg(ctx, org, postgres.TxOptions{}, func(t pgx.Tx) error {
		if err := t.QueryRow(ctx, `SELECT claim_organization_name($1, $2)`, name, org).Scan(&holder); err != nil || holder != org {
			return err
		}
		_, err := t.Exec(ctx, `INSERT INTO organizations (org_id, name, created_at, master_key_id, data_keyset, index_keyset)
			VALUES ($1, $2, $3, $4, $5, $6)`, org, name, now, w.MasterKeyID, w.Data, w.Index)
		return err
	})
	return holder, err
}

func errOrganization() error {
	return problem.New(problem.NotFound, "organization", "there is no such organization", "check the token or the name")
}

// Projects lists an organization's projects by name.
func (s *Store) Projects(ctx context.Context, org uuid.UUID) ([]memory.ProjectInfo, error) {
	var out []memory.ProjectInfo
	err := s.db.InOrg(ctx, org, postgres.TxOptions{ReadOnly: true}, func(t pgx.Tx) error {
		var err error
		out, err = projects(ctx, t, org)
		return err
	})
	return out, err
}

// projectColumns are read by scanProject.
const projectColumns = `p.project_id, p.name, p.created_at, p.without_organization,
	ARRAY(SELECT i.identity FROM project_identities i WHERE i.org_id = $1 AND i.project_id = p.project_id ORDER BY 1)`

func scanProject(row pgx.CollectableRow) (memory.ProjectInfo, error) {
	var p memory.ProjectInfo
	err := row.Scan(&p.ID, &p.Name, &p.CreatedAt, &p.WithoutOrganization, &p.Identities)
	p.CreatedAt = p.CreatedAt.UTC()
	return p, err
}

func projects(ctx context.Context, t pgx.Tx, org uuid.UUID) ([]memory.ProjectInfo, error) {
	rows, err := t.Query(ctx, `SELECT `+projectColumns+` FROM projects p WHERE p.org_id = $1 ORDER BY lower(p.name)`, org)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, scanProject)
}

// Project finds a project by id, else by name, else by identity; see memory.MatchProject, whose rule this is in SQL.
func (s *Store) Project(ctx context.Context, org uuid.UUID, ref string) (memory.ProjectInfo, bool, error) {
	var found []memory.ProjectInfo
	err := s.db.InOrg(ctx, org, postgres.TxOptions{ReadOnly: true}, func(t pgx.Tx) (err error) {
		found, err = projectBy(ctx, t, org, ref, []string{ref})
		return err
	})
	if err != nil || len(found) == 0 {
		return memory.ProjectInfo{}, false, err
	}
	return found[0], true, nil
}

// projectBy gives at most one project: that of an id or name, else the one known by any of the identities.
func projectBy(ctx context.Context, t pgx.Tx, org uuid.UUID, ref string, identities []string) ([]memory.ProjectInfo, error) {
	var id *uuid.UUID
	if parsed, err := uuid.Parse(ref); err == nil {
		id = &parsed
	}
	rows, err := t.Query(ctx, `
		SELECT `+projectColumns+` FROM (
			SELECT 1 AS rank, project_id FROM projects WHERE org_id = $1 AND project_id = $2
			UNION ALL SELECT 2, project_id FROM projects WHERE org_id = $1 AND lower(name) = lower($3)
			UNION ALL SELECT 3, project_id FROM project_identities WHERE org_id = $1 AND identity = ANY ($4)
		) AS f JOIN projects p ON p.org_id = $1 AND p.project_id = f.project_id
		ORDER BY f.rank LIMIT 1`, org, id, ref, identities)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, scanProject)
}

// CreateProject makes a project with its space, or gives the one that has the id or that an identity already leads to.
func (s *Store) CreateProject(ctx context.Context, by memory.Caller, p memory.ProjectInfo) (memory.ProjectInfo, error) {
	org := by.Org
	if p.Identities == nil {
		p.Identities = []string{}
	}
	var out memory.ProjectInfo
	err := s.db.InOrg(ctx, org, postgres.TxOptions{}, func(t pgx.Tx) error {
		v := &view{tx: t, org: org}
		// The organization's row is locked by createSpace; taking it here makes two creators of one project meet.
		if _, err := t.Exec(ctx, `SELECT 1 FROM organizations WHERE org_id = $1 FOR NO KEY UPDATE`, org); err != nil {
			return err
		}
		known, err := projectBy(ctx, t, org, p.ID.String(), p.Identities)
		if err != nil {
			return err
		}
		if len(known) > 0 {
			out = known[0]
			return nil
		}
		key := memory.SpaceKey{Scope: memory.Project, Owner: p.ID.String()}
		if err := v.createSpace(ctx, key); err != nil {
			return err
		}
		tag, err := t.Exec(ctx, `
			INSERT INTO projects (org_id, project_id, space_id, name, created_at)
			SELECT org_id, $2, space_id, $3, $4 FROM spaces WHERE org_id = $1 AND scope = $5 AND owner = $6
			ON CONFLICT (org_id, lower(name)) DO NOTHING`, org, p.ID, p.Name, p.CreatedAt, key.Scope, key.Owner)
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			return problem.New(problem.Conflict, "project", fmt.Sprintf("there is a project %q already", p.Name),
				"choose another name, or use that project with --project "+p.Name)
		}
		if _, err := addIdentities(ctx, t, org, p.ID, p.Identities); err != nil {
			return err
		}
		out = p
		return trail(ctx, t, by, memory.VerbCreateProject, p.ID, p.ID, p.CreatedAt)
	})
	return out, err
}

// AddIdentities makes a project known by further identities; those of another project are left there.
func (s *Store) AddIdentities(ctx context.Context, by memory.Caller, project uuid.UUID, identities []string, now time.Time) error {
	return s.db.InOrg(ctx, by.Org, postgres.TxOptions{}, func(t pgx.Tx) error {
		if added, err := addIdentities(ctx, t, by.Org, project, identities); err != nil || added == 0 {
			return err // said again, it is no news
		}
		return trail(ctx, t, by, memory.VerbAddIdentity, project, project, now)
	})
}

func addIdentities(ctx context.Context, t pgx.Tx, org, project uuid.UUID, identities []string) (added int64, err error) {
	tag, err := t.Exec(ctx, `INSERT INTO project_identities (org_id, identity, project_id)
		SELECT o.org_id, i, $2 FROM organizations o CROSS JOIN unnest($3::text[]) AS i WHERE o.org_id = $1 ON CONFLICT (org_id, identity) DO NOTHING`, org, project, identities)
	return tag.RowsAffected(), err
}
