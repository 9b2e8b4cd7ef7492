-- Why: impressions are folded by their age, and a session is asked for what it cited. The tables are large where this is applied
-- late, so the indexes are built beside their writers.

-- +goose NO TRANSACTION
-- +goose Up
DROP INDEX CONCURRENTLY IF EXISTS impressions_age;
CREATE INDEX CONCURRENTLY impressions_age ON impressions (org_id, last_at);
DROP INDEX CONCURRENTLY IF EXISTS citations_session;
CREATE INDEX CONCURRENTLY citations_session ON citations (org_id, session_id);

-- +goose Down
-- +goose StatementBegin
DO $$ BEGIN RAISE EXCEPTION 'this migration cannot be taken back: restore a backup instead'; END $$;
-- +goose StatementEnd
