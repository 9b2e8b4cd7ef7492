// Package migrations holds the database schema as numbered SQL files, applied in order by stele_owner.
//
// Rules every file keeps (they make the schema safe behind several replicas and on Citus, see docs/architecture.md):
// org_id comes first in every primary, unique and foreign key; every table with org_id has row-level security forced;
// a released file never changes; a migration expands (adds what an older program need not know) and a later release
// contracts (takes away what no supported program needs any more). A file that takes away or narrows anything says in its
// own transaction which is the oldest migration a program must carry from then on: CREATE OR REPLACE FUNCTION
// schema_floor(). An index on a table that is in use is built CONCURRENTLY, in a file of its own with NO TRANSACTION.
package migrations

import "embed"

// FS holds the files NNNNN_name.sql in goose format.
//
//go:embed *.sql
var FS embed.FS
