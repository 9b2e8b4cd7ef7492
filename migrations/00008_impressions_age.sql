-- Why: impressions are folded by their age. The table is large where this is applied late, so the index is built beside its writers.

-- +goose NO TRANSACTION
-- +goose Up
DROP INDEX CONCURRENTLY IF EXISTS impressions_age;
CREATE INDEX CONCURRENTLY impressions_age ON impressions (org_id, last_at);

-- +goose Down
-- +goose StatementBegin
DO $$ BEGIN RAISE EXCEPTION 'this migration cannot be taken back: restore a backup instead'; END $$;
-- +goose StatementEnd
