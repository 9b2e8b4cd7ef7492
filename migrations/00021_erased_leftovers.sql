-- Why: erasing a memory left the paths in which claims of its text were found, and what it was found to be similar to. From now on both go with
-- it; this is for the memories that were erased before.

-- +goose Up
-- The owner is bound by forced row-level security, too, and this is for every tenant. Nobody else sees the tables until it is committed.
ALTER TABLE memories NO FORCE ROW LEVEL SECURITY;
ALTER TABLE evidence NO FORCE ROW LEVEL SECURITY;
ALTER TABLE conflicts NO FORCE ROW LEVEL SECURITY;
DELETE FROM evidence e USING memories m WHERE m.org_id = e.org_id AND m.memory_id = e.memory_id AND m.status = 'erased';
DELETE FROM conflicts c USING memories m WHERE m.org_id = c.org_id AND m.memory_id IN (c.memory_id, c.other_id) AND m.status = 'erased';
ALTER TABLE memories FORCE ROW LEVEL SECURITY;
ALTER TABLE evidence FORCE ROW LEVEL SECURITY;
ALTER TABLE conflicts FORCE ROW LEVEL SECURITY;

-- Programs read both tables as before.
CREATE OR REPLACE FUNCTION schema_floor() RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT 20::bigint';

-- +goose Down
-- +goose StatementBegin
DO $$ BEGIN RAISE EXCEPTION 'this migration cannot be taken back: restore a backup instead'; END $$;
-- +goose StatementEnd
