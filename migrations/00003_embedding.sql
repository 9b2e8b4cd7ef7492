-- Why: texts that a model refuses (its language gate) are told apart from texts that wait for a vector, so that the worker
-- that fills vectors in does not try them for ever and recall does not count them as missing.

-- +goose Up

-- The model that refused the current text; '' when none did.
ALTER TABLE memories ADD COLUMN refused_by text NOT NULL DEFAULT '';

-- +goose Down
-- +goose StatementBegin
DO $$ BEGIN RAISE EXCEPTION 'this migration cannot be taken back: restore a backup instead'; END $$;
-- +goose StatementEnd
