-- Why: candidates are few among many memories, and are looked for with every queue and every sentence that may be one. The table is
-- large where this is applied late, so the indexes are built beside its writers.

-- +goose NO TRANSACTION
-- +goose Up
DROP INDEX CONCURRENTLY IF EXISTS memories_candidates;
CREATE INDEX CONCURRENTLY memories_candidates ON memories (org_id, space_id, created_at) WHERE status = 'candidate';
DROP INDEX CONCURRENTLY IF EXISTS memories_proposed;
CREATE INDEX CONCURRENTLY memories_proposed ON memories (org_id, space_id, text_hash) WHERE origin = 'hook' AND status IN ('candidate', 'retired');

-- +goose Down
-- +goose StatementBegin
DO $$ BEGIN RAISE EXCEPTION 'this migration cannot be taken back: restore a backup instead'; END $$;
-- +goose StatementEnd
