-- Why: what the queue of reviews is derived from is found without reading all memories. The tables are large where this is applied late,
-- so the indexes are built beside their writers.

-- +goose NO TRANSACTION
-- +goose Up
DROP INDEX CONCURRENTLY IF EXISTS doubts_open;
CREATE INDEX CONCURRENTLY doubts_open ON doubts (org_id, memory_id) WHERE cleared_at IS NULL;
DROP INDEX CONCURRENTLY IF EXISTS doubts_stamp;
CREATE INDEX CONCURRENTLY doubts_stamp ON doubts (org_id, stamp_id) WHERE stamp_id IS NOT NULL AND cleared_at IS NULL;
DROP INDEX CONCURRENTLY IF EXISTS memories_doubted;
CREATE INDEX CONCURRENTLY memories_doubted ON memories (org_id, space_id) WHERE status = 'live' AND (verify OR disputed);
DROP INDEX CONCURRENTLY IF EXISTS memories_unreviewed;
CREATE INDEX CONCURRENTLY memories_unreviewed ON memories (org_id, space_id) WHERE status = 'live' AND unreviewed;
DROP INDEX CONCURRENTLY IF EXISTS memories_ignored;
CREATE INDEX CONCURRENTLY memories_ignored ON memories (org_id, space_id, ignored_by) WHERE status = 'live' AND citations = 0 AND ignored_by > 0;

-- +goose Down
-- +goose StatementBegin
DO $$ BEGIN RAISE EXCEPTION 'this migration cannot be taken back: restore a backup instead'; END $$;
-- +goose StatementEnd
