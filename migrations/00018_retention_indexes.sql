-- Why: what is past its time is found by its age, and what is kept whatever its age by its place among its like. The tables are large where
-- this is applied late, so the indexes are built beside their writers.

-- +goose NO TRANSACTION
-- +goose Up
DROP INDEX CONCURRENTLY IF EXISTS work_sessions_age;
CREATE INDEX CONCURRENTLY work_sessions_age ON work_sessions (org_id, ended_at, session_id) WHERE state <> 'active';
DROP INDEX CONCURRENTLY IF EXISTS work_sessions_outcomes;
CREATE INDEX CONCURRENTLY work_sessions_outcomes ON work_sessions (org_id, project_id, user_name, session_id) WHERE outcome_id IS NOT NULL;
DROP INDEX CONCURRENTLY IF EXISTS follow_ups_age;
CREATE INDEX CONCURRENTLY follow_ups_age ON follow_ups (org_id, closed_at) WHERE closed_at IS NOT NULL;
DROP INDEX CONCURRENTLY IF EXISTS drift_runs_effective;
CREATE INDEX CONCURRENTLY drift_runs_effective ON drift_runs (org_id, project_id, repository, branch, status, arrived_at, run_id) WHERE tracked AND NOT late;
DROP INDEX CONCURRENTLY IF EXISTS drift_runs_age;
CREATE INDEX CONCURRENTLY drift_runs_age ON drift_runs (org_id, arrived_at) WHERE NOT (tracked AND NOT late);
DROP INDEX CONCURRENTLY IF EXISTS held_models_age;
CREATE INDEX CONCURRENTLY held_models_age ON held_models (org_id, decided_at) WHERE decided_at IS NOT NULL;
DROP INDEX CONCURRENTLY IF EXISTS model_imports_age;
CREATE INDEX CONCURRENTLY model_imports_age ON model_imports (org_id, project_id, imported_at);

-- +goose Down
-- +goose StatementBegin
DO $$ BEGIN RAISE EXCEPTION 'this migration cannot be taken back: restore a backup instead'; END $$;
-- +goose StatementEnd
