// Package migrations holds the database schema as numbered SQL files, applied in order by stele_owner.
//
// Rules every file keeps (they make the schema safe behind several replicas and on Citus, see docs/architecture.md):
// org_id comes first in every primary, unique and foreign key; every table with org_id has row-level security forced;
// a released file never changes; a change is additive until no running binary needs the old form.
package migrations

import "embed"

// FS holds the files NNNNN_name.sql in goose format.
//
//go:embed *.sql
var FS embed.FS
