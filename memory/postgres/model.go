package postgres

import (
	"context"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/internal/postgres"
	"github.com/stele-dev/stele/memory"
)

const elementColumns = `e.element_id, e.project_id, e.parent_id, e.key, e.name, e.level, e.description, e.technology, e.url, e.group_path,
	e.tags, e.properties, e.in_scope, e.external, e.ordinal, e.source_file, e.source_line, e.removed_at, coalesce(p.key, '')`

func (v *view) elements(ctx context.Context, sql string, args ...any) ([]memory.Element, error) {
	rows, err := v.tx.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (memory.Element, error) { return scanElement(row) })
}

// scanElement reads elementColumns, and what was selected after them.
func scanElement(row pgx.CollectableRow, more ...any) (memory.Element, error) {
	var e memory.Element
	var parent *uuid.UUID
	columns := []any{&e.ID, &e.ProjectID, &parent, &e.Key, &e.Name, &e.Level, &e.Description, &e.Technology, &e.URL, &e.Group,
		&e.Tags, &e.Properties, &e.InScope, &e.External, &e.Ordinal, &e.Source.File, &e.Source.Line, &e.RemovedAt, &e.Parent}
	err := row.Scan(append(columns, more...)...)
	if parent != nil {
		e.ParentID = *parent
	}
	return e, err
}

// Elements gives the project's elements in order of declaration.
func (v *view) Elements(ctx context.Context, project uuid.UUID, removed bool) ([]memory.Element, error) {
	all, ok := v.models[project]
	if !ok {
		var err error
		if all, err = v.elements(ctx, `SELECT `+elementColumns+`
			FROM elements e LEFT JOIN elements p ON p.org_id = e.org_id AND p.element_id = e.parent_id
			WHERE e.org_id = $1 AND e.project_id = $2
			ORDER BY e.removed_at IS NOT NULL, e.ordinal, e.element_id`, v.org, project); err != nil {
			return nil, err
		}
		if v.models == nil {
			v.models = map[uuid.UUID][]memory.Element{}
		}
		v.models[project] = all
	}
	if !removed {
		live := slices.IndexFunc(all, func(e memory.Element) bool { return e.RemovedAt != nil })
		if live >= 0 {
			all = all[:live]
		}
	}
	return slices.Clone(all), nil
}

// findElements gives, for each of the names $3 (keys, folded) and $4 (names, folded), what the best kind of match finds: the
// key, else a former key, else all of that name. ordinal counts the names from 1.
const findElements = `
	WITH wanted AS (
		SELECT key, name, ordinal FROM unnest($3::text[], $4::text[]) WITH ORDINALITY AS w (key, name, ordinal)
	), found AS (
		SELECT w.ordinal, e.element_id, 0 AS rank FROM wanted w
		JOIN elements e ON e.org_id = $1 AND e.project_id = $2 AND e.folded_key = w.key AND e.removed_at IS NULL
		UNION ALL
		SELECT w.ordinal, e.element_id, 1 FROM wanted w
		JOIN element_aliases a ON a.org_id = $1 AND a.project_id = $2 AND a.key = w.key
		JOIN elements e ON e.org_id = $1 AND e.element_id = a.element_id AND e.removed_at IS NULL
		UNION ALL
		SELECT w.ordinal, e.element_id, 2 FROM wanted w
		JOIN elements e ON e.org_id = $1 AND e.project_id = $2 AND e.folded_name = w.name AND e.removed_at IS NULL
	), best AS (
		SELECT DISTINCT f.ordinal, f.element_id FROM found f
		WHERE f.rank = (SELECT min(o.rank) FROM found o WHERE o.ordinal = f.ordinal)
	)
	SELECT ` + elementColumns + `, b.ordinal
	FROM best b JOIN elements e ON e.org_id = $1 AND e.element_id = b.element_id
	LEFT JOIN elements p ON p.org_id = e.org_id AND p.element_id = e.parent_id
	ORDER BY b.ordinal, e.ordinal`

// FindElements gives what the best kind of match finds.
func (v *view) FindElements(ctx context.Context, project uuid.UUID, name string) ([]memory.Element, error) {
	rows, err := v.tx.Query(ctx, findElements, v.org, project, []string{c4model.FoldKey(name)}, []string{c4model.FoldName(name)})
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (memory.Element, error) {
		var ordinal int
		return scanElement(row, &ordinal)
	})
}

// Targets gives what bears each of the names: four questions in one round trip.
func (v *view) Targets(ctx context.Context, q memory.TargetQuery) ([]memory.Target, error) {
	out := make([]memory.Target, len(q.Texts))
	titles, keys, names := make([][]byte, len(q.Texts)), make([]string, len(q.Texts)), make([]string, len(q.Texts))
	for i, text := range q.Texts {
		titles[i], keys[i], names[i] = v.titleHash(q.Titles[i]), c4model.FoldKey(text), c4model.FoldName(text)
	}
	memories := func(rows pgx.Rows) error {
		return each(rows, func() error {
			var ordinal int
			var id uuid.UUID
			err := rows.Scan(&ordinal, &id)
			out[ordinal-1].Memory = id
			return err
		})
	}
	b := &pgx.Batch{}
	b.Queue(`
		SELECT DISTINCT ON (t.ordinal) t.ordinal, m.memory_id
		FROM unnest($2::bytea[]) WITH ORDINALITY AS t (hash, ordinal)
		CROSS JOIN unnest($3::int[]) WITH ORDINALITY AS s (space_id, rank)
		JOIN memories m ON m.org_id = $1 AND m.space_id = s.space_id AND m.title_hash = t.hash AND m.status = 'live'
		ORDER BY t.ordinal, s.rank`, v.org, titles, q.Spaces).Query(memories)
	b.Queue(`SELECT h.ordinal, m.memory_id FROM unnest($2::text[]) WITH ORDINALITY AS h (handle, ordinal)
		JOIN memories m ON m.org_id = $1 AND m.handle = h.handle WHERE h.handle <> ''`, v.org, q.Handles).Query(memories)
	if q.Project != uuid.Nil {
		b.Queue(findElements, v.org, q.Project, keys, names).Query(func(rows pgx.Rows) error {
			return each(rows, func() error {
				var ordinal int
				e, err := scanElement(rows, &ordinal)
				if err == nil {
					out[ordinal-1].Elements = append(out[ordinal-1].Elements, e)
				}
				return err
			})
		})
		b.Queue(`SELECT n.ordinal, d.number, d.title FROM unnest($3::text[]) WITH ORDINALITY AS n (number, ordinal)
			JOIN decisions d ON d.org_id = $1 AND d.project_id = $2 AND d.number = n.number`, v.org, q.Project, q.Decisions).Query(func(rows pgx.Rows) error {
			return each(rows, func() error {
				var ordinal int
				var d c4model.Decision
				err := rows.Scan(&ordinal, &d.ID, &d.Title)
				out[ordinal-1].Decision = &d
				return err
			})
		})
	}
	return out, v.tx.SendBatch(ctx, b).Close()
}

// Aliases gives the keys elements of the project had before.
func (v *view) Aliases(ctx context.Context, project uuid.UUID) (map[string]uuid.UUID, error) {
	rows, err := v.tx.Query(ctx, `SELECT key, element_id FROM element_aliases WHERE org_id = $1 AND project_id = $2`, v.org, project)
	if err != nil {
		return nil, err
	}
	out := map[string]uuid.UUID{}
	return out, each(rows, func() error {
		var key string
		var id uuid.UUID
		err := rows.Scan(&key, &id)
		out[key] = id
		return err
	})
}

// Bindings gives the project's bindings.
func (v *view) Bindings(ctx context.Context, project uuid.UUID) ([]memory.ElementBinding, error) {
	rows, err := v.tx.Query(ctx, `
		SELECT b.element_id, e.key, b.pattern, b.repository, b.source
		FROM bindings b JOIN elements e ON e.org_id = b.org_id AND e.element_id = b.element_id
		WHERE b.org_id = $1 AND b.project_id = $2 AND e.removed_at IS NULL ORDER BY e.ordinal, b.pattern`, v.org, project)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (memory.ElementBinding, error) {
		var b memory.ElementBinding
		return b, row.Scan(&b.ElementID, &b.Element, &b.Pattern, &b.Repository, &b.Source)
	})
}

// Decisions gives the project's decisions; numbers in their order.
func (v *view) Decisions(ctx context.Context, project uuid.UUID) ([]c4model.Decision, error) {
	rows, err := v.tx.Query(ctx, `
		SELECT d.number, d.title, d.status, d.date, d.summary, d.file, coalesce(e.key, '')
		FROM decisions d LEFT JOIN elements e ON e.org_id = d.org_id AND e.element_id = d.element_id
		WHERE d.org_id = $1 AND d.project_id = $2 ORDER BY length(d.number), d.number`, v.org, project)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (c4model.Decision, error) {
		var d c4model.Decision
		return d, row.Scan(&d.ID, &d.Title, &d.Status, &d.Date, &d.Summary, &d.File, &d.Element)
	})
}

// Relationships gives the project's relationships by element key.
func (v *view) Relationships(ctx context.Context, project uuid.UUID) ([]c4model.Relationship, error) {
	rows, err := v.tx.Query(ctx, `
		SELECT s.key, d.key, r.description, r.technology, r.tags
		FROM relationships r
		JOIN elements s ON s.org_id = r.org_id AND s.element_id = r.source_id
		JOIN elements d ON d.org_id = r.org_id AND d.element_id = r.destination_id
		WHERE r.org_id = $1 AND r.project_id = $2 ORDER BY r.ordinal`, v.org, project)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (c4model.Relationship, error) {
		var r c4model.Relationship
		return r, row.Scan(&r.Source, &r.Destination, &r.Description, &r.Technology, &r.Tags)
	})
}

// LastImport gives the newest import of the model.
func (v *view) LastImport(ctx context.Context, project uuid.UUID) (memory.LastImport, error) {
	var l memory.LastImport
	err := v.tx.QueryRow(ctx, `SELECT imported_at, source, digest FROM model_imports WHERE org_id = $1 AND project_id = $2
		ORDER BY imported_at DESC, import_id DESC LIMIT 1`, v.org, project).Scan(&l.At, &l.Source, &l.Digest)
	if postgres.IsNoRows(err) {
		return memory.LastImport{}, nil
	}
	l.At = l.At.UTC()
	return l, err
}

// CountAttached counts the live memories of the spaces that are attached to an element.
func (v *view) CountAttached(ctx context.Context, spaces []int32, element uuid.UUID) (int, error) {
	var n int
	err := v.tx.QueryRow(ctx, `SELECT count(*) FROM attachments a JOIN memories m ON m.org_id = a.org_id AND m.memory_id = a.memory_id
		WHERE a.org_id = $1 AND a.element_id = $2 AND a.detached_at IS NULL AND m.status = 'live' AND m.space_id = ANY ($3)`,
		v.org, element, spaces).Scan(&n)
	return n, err
}

// SaveModel applies a reconciled model. Keys may be swapped between elements, so all that change leave the unique index
// before any enters it again.
func (t *tx) SaveModel(_ context.Context, project uuid.UUID, c memory.ModelChange) error {
	delete(t.models, project)
	b := &pgx.Batch{}
	ids := slices.Clone(c.Removed)
	for _, e := range c.Elements {
		ids = append(ids, e.ID)
	}
	b.Queue(`UPDATE elements SET removed_at = coalesce(removed_at, $3) WHERE org_id = $1 AND element_id = ANY ($2)`, t.org, ids, c.At)
	for _, e := range c.Elements {
		b.Queue(`
			INSERT INTO elements (org_id, project_id, element_id, parent_id, key, folded_key, name, folded_name, level, description,
				technology, url, group_path, tags, properties, in_scope, external, ordinal, source_file, source_line, created_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21)
			ON CONFLICT (org_id, element_id) DO UPDATE SET parent_id = excluded.parent_id, key = excluded.key, folded_key = excluded.folded_key,
				name = excluded.name, folded_name = excluded.folded_name, level = excluded.level, description = excluded.description,
				technology = excluded.technology, url = excluded.url, group_path = excluded.group_path, tags = excluded.tags,
				properties = excluded.properties, in_scope = excluded.in_scope, external = excluded.external, ordinal = excluded.ordinal,
				source_file = excluded.source_file, source_line = excluded.source_line, removed_at = NULL`,
			t.org, project, e.ID, nullID(e.ParentID), e.Key, c4model.FoldKey(e.Key), e.Name, c4model.FoldName(e.Name), e.Level, e.Description,
			e.Technology, e.URL, e.Group, notNil(e.Tags), notNilMap(e.Properties), e.InScope, e.External, e.Ordinal, e.Source.File, e.Source.Line, c.At)
	}
	b.Queue(`DELETE FROM element_aliases WHERE org_id = $1 AND project_id = $2`, t.org, project)
	for key, id := range c.Aliases {
		b.Queue(`INSERT INTO element_aliases (org_id, project_id, key, element_id) VALUES ($1, $2, $3, $4)`, t.org, project, key, id)
	}
	b.Queue(`DELETE FROM relationships WHERE org_id = $1 AND project_id = $2`, t.org, project)
	for i, r := range c.Relationships {
		b.Queue(`INSERT INTO relationships (org_id, project_id, ordinal, source_id, destination_id, description, technology, tags)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`, t.org, project, i, r.SourceID, r.DestinationID, r.Description, r.Technology, notNil(r.Tags))
	}
	b.Queue(`DELETE FROM bindings WHERE org_id = $1 AND project_id = $2 AND source <> $3`, t.org, project, memory.ServerBinding)
	for _, bd := range c.Bindings {
		b.Queue(`INSERT INTO bindings (org_id, project_id, element_id, repository, pattern, source) VALUES ($1, $2, $3, $4, $5, $6)
			ON CONFLICT (org_id, project_id, element_id, repository, pattern) DO UPDATE SET source = excluded.source WHERE bindings.source = $7`,
			t.org, project, bd.ElementID, bd.Repository, bd.Pattern, bd.Source, memory.ServerBinding)
	}
	b.Queue(`INSERT INTO model_imports (org_id, project_id, import_id, imported_at, actor, source, digest, counts) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
		t.org, project, uuid.Must(uuid.NewV7()), c.At, c.Actor, c.Source, c.Digest, c.Counts)
	t.pipeline.later(b)
	return nil
}

// SaveBindings makes an element's bindings of source memory.ServerBinding those of the patterns.
func (t *tx) SaveBindings(_ context.Context, project, element uuid.UUID, patterns []string) error {
	b := &pgx.Batch{}
	b.Queue(`DELETE FROM bindings WHERE org_id = $1 AND project_id = $2 AND element_id = $3 AND source = $4`, t.org, project, element, memory.ServerBinding)
	b.Queue(`INSERT INTO bindings (org_id, project_id, element_id, pattern, source) SELECT o.org_id, $2, $3, p, $4
		FROM organizations o CROSS JOIN unnest($5::text[]) AS p WHERE o.org_id = $1 ON CONFLICT DO NOTHING`, t.org, project, element, memory.ServerBinding, patterns)
	t.pipeline.later(b)
	return nil
}

func notNil(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}

func notNilMap(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return m
}

// SaveDecisions replaces the decisions that came from one source; a number that another source holds passes to this one.
func (t *tx) SaveDecisions(_ context.Context, project uuid.UUID, source string, decisions []c4model.Decision) error {
	b := &pgx.Batch{}
	b.Queue(`DELETE FROM decisions WHERE org_id = $1 AND project_id = $2 AND source = $3`, t.org, project, source)
	for _, d := range decisions {
		b.Queue(`
			INSERT INTO decisions (org_id, project_id, number, title, status, date, summary, file, source, element_id)
			SELECT p.org_id, p.project_id, $3, $4, $5, $6, $7, $8, $9,
				(SELECT element_id FROM elements WHERE org_id = $1 AND project_id = $2 AND folded_key = $10 AND removed_at IS NULL)
			FROM projects p WHERE p.org_id = $1 AND p.project_id = $2
			ON CONFLICT (org_id, project_id, number) DO UPDATE SET title = excluded.title, status = excluded.status, date = excluded.date,
				summary = excluded.summary, file = excluded.file, source = excluded.source, element_id = excluded.element_id`,
			t.org, project, d.ID, d.Title, d.Status, d.Date, d.Summary, d.File, source, c4model.FoldKey(d.Element))
	}
	t.pipeline.later(b)
	return nil
}

// attachedToElements gives the live memories attached to elements, at an instant when one is given: each element is looked up, since
// in the order asked for, with sorting off (bySeqOnly), all attachments of the organization would be read.
const attachedToElements = `
	SELECT DISTINCT a.memory_id FROM unnest($2::uuid[]) AS e (element_id)
	CROSS JOIN LATERAL (SELECT memory_id, attached_at FROM attachments
		WHERE org_id = $1 AND element_id = e.element_id AND detached_at IS NULL OFFSET 0) a
	CROSS JOIN LATERAL (SELECT status FROM memories WHERE org_id = $1 AND memory_id = a.memory_id OFFSET 0) m
	WHERE m.status = 'live' AND ($3::timestamptz IS NULL OR a.attached_at = $3) ORDER BY 1`

// AttachedTo lists the live memories attached to any of the elements.
func (t *tx) AttachedTo(ctx context.Context, elements []uuid.UUID) ([]uuid.UUID, error) {
	if len(elements) == 0 {
		return nil, nil
	}
	rows, err := t.tx.Query(ctx, attachedToElements, t.org, elements, nil)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
}

// PathsOf lists the live memories of the project that name paths.
func (t *tx) PathsOf(ctx context.Context, project uuid.UUID) ([]memory.PathMemory, error) {
	rows, err := t.tx.Query(ctx, `
		SELECT m.memory_id, array_agg(p.pattern ORDER BY p.ordinal),
		       ARRAY(SELECT DISTINCT a.element_id FROM attachments a WHERE a.org_id = $1 AND a.memory_id = m.memory_id)
		FROM memory_paths p JOIN memories m ON m.org_id = p.org_id AND m.memory_id = p.memory_id
		WHERE p.org_id = $1 AND p.project_id = $2 AND m.status = 'live' GROUP BY m.memory_id ORDER BY m.memory_id`, t.org, project)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (memory.PathMemory, error) {
		var m memory.PathMemory
		return m, row.Scan(&m.ID, &m.Paths, &m.Ever)
	})
}
