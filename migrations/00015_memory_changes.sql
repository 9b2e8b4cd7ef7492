-- Why: servers keep what recall needs of the spaces in use in their own memory, and have to learn, with one look at an index,
-- which memories have changed since they looked last, whoever changed them.
--
-- A memory's row names the newest transaction that wrote its row in memories or one of its vectors; what else recall reads of a
-- memory (its words and tags) never changes without its row in memories. A reader remembers the snapshot it has read
-- (pg_current_snapshot) and asks for the transactions that were not over in it. Rows are replaced, so that the table
-- is never longer than memories, and nothing has to be cleaned up.

-- +goose Up
CREATE TABLE memory_changes (
    org_id   uuid NOT NULL,
    space_id integer NOT NULL,
    seq      integer NOT NULL,
    xid      bigint NOT NULL, -- pg_current_xact_id of the newest change; bigint, since the comparison of xid8 is not leakproof
    PRIMARY KEY (org_id, space_id, seq)
) WITH (fillfactor = 80);
CREATE INDEX memory_changes_xid ON memory_changes (org_id, space_id, xid);

ALTER TABLE memory_changes ENABLE ROW LEVEL SECURITY;
ALTER TABLE memory_changes FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON memory_changes USING (org_id = nullif(current_setting('app.org_id', true), '')::uuid);
GRANT SELECT, INSERT, UPDATE, DELETE ON memory_changes TO stele_app;

-- In order, so that two transactions that change the same memories do not wait for each other in a circle.
-- +goose StatementBegin
CREATE FUNCTION note_memory_changes() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, public
    AS $$
BEGIN
    INSERT INTO public.memory_changes AS c (org_id, space_id, seq, xid)
    SELECT DISTINCT t.org_id, t.space_id, t.seq, pg_current_xact_id()::text::bigint FROM touched t ORDER BY 1, 2, 3
    ON CONFLICT (org_id, space_id, seq) DO UPDATE SET xid = excluded.xid WHERE c.xid <> excluded.xid;
    RETURN NULL;
END
$$;
-- +goose StatementEnd

CREATE TRIGGER memories_inserted AFTER INSERT ON memories REFERENCING NEW TABLE AS touched
    FOR EACH STATEMENT EXECUTE FUNCTION note_memory_changes();
CREATE TRIGGER memories_updated AFTER UPDATE ON memories REFERENCING NEW TABLE AS touched
    FOR EACH STATEMENT EXECUTE FUNCTION note_memory_changes();
CREATE TRIGGER memories_deleted AFTER DELETE ON memories REFERENCING OLD TABLE AS touched
    FOR EACH STATEMENT EXECUTE FUNCTION note_memory_changes();
CREATE TRIGGER vectors_inserted AFTER INSERT ON vectors REFERENCING NEW TABLE AS touched
    FOR EACH STATEMENT EXECUTE FUNCTION note_memory_changes();
CREATE TRIGGER vectors_updated AFTER UPDATE ON vectors REFERENCING NEW TABLE AS touched
    FOR EACH STATEMENT EXECUTE FUNCTION note_memory_changes();
CREATE TRIGGER vectors_deleted AFTER DELETE ON vectors REFERENCING OLD TABLE AS touched
    FOR EACH STATEMENT EXECUTE FUNCTION note_memory_changes();

-- A program that knows nothing of the triggers writes as before.
CREATE OR REPLACE FUNCTION schema_floor() RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT 1::bigint';

-- +goose Down
-- +goose StatementBegin
DO $$ BEGIN RAISE EXCEPTION 'this migration cannot be taken back: restore a backup instead'; END $$;
-- +goose StatementEnd
