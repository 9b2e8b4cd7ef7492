-- Why: a hook takes sentences of a conversation for things to remember. They are memories of a status of their own until somebody confirms
-- them: in no index of words, in no count of what is known, gone after two weeks. Older programs serve,
-- count and find what is live, as before: the floor stays. Rows are checked in the next file, beside their writers.

-- +goose Up
ALTER TABLE memories DROP CONSTRAINT memories_status_check;
ALTER TABLE memories ADD CONSTRAINT memories_status_check CHECK (status IN ('live', 'superseded', 'retired', 'erased', 'candidate')) NOT VALID;
CREATE OR REPLACE FUNCTION schema_floor() RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT 1::bigint';

-- +goose Down
-- +goose StatementBegin
DO $$ BEGIN RAISE EXCEPTION 'this migration cannot be taken back: restore a backup instead'; END $$;
-- +goose StatementEnd
