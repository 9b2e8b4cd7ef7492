-- Why: a hook takes sentences of a conversation for things to remember. They are memories of a status of their own until somebody confirms
-- them: in no index of words, in no count of what is known, gone after two weeks. Rows are checked in the next file, beside their writers.

-- +goose Up
ALTER TABLE memories DROP CONSTRAINT memories_status_check;
ALTER TABLE memories ADD CONSTRAINT memories_status_check CHECK (status IN ('live', 'superseded', 'retired', 'erased', 'candidate')) NOT VALID;

-- +goose Down
-- +goose StatementBegin
DO $$ BEGIN RAISE EXCEPTION 'this migration cannot be taken back: restore a backup instead'; END $$;
-- +goose StatementEnd
