-- Why: the widened rule of the file before was taken without looking at the rows there were. Checking them needs no lock that stops anyone.

-- +goose Up
ALTER TABLE memories VALIDATE CONSTRAINT memories_status_check;

-- +goose Down
-- +goose StatementBegin
DO $$ BEGIN RAISE EXCEPTION 'this migration cannot be taken back: restore a backup instead'; END $$;
-- +goose StatementEnd
