-- Why: what nothing reads any more is removed after a while (docs/operations.md, "What is kept, and how long"): work sessions that are long
-- over, runs, models that were decided about. Whatever a memory rests on stays out of reach: its row, its versions and the trail.

-- +goose Up
GRANT DELETE ON work_sessions, leases, follow_ups, drift_runs, held_models TO stele_app;

-- +goose Down
-- +goose StatementBegin
DO $$ BEGIN RAISE EXCEPTION 'this migration cannot be taken back: restore a backup instead'; END $$;
-- +goose StatementEnd
