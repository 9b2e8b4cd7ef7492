-- Why: what has expired is read again when it has other terms than before. The row named the transaction that wrote it (xmin) for that, which
-- a cluster of Citus does not tell; the revision of a text does not change when an element of the memory gets another name.

-- +goose Up
-- The default is kept in the catalog: no row is written.
ALTER TABLE memories ADD COLUMN reindexed int NOT NULL DEFAULT 0; -- how often its words were put into the index anew, or taken out

-- Older programs do not count; what they index anew while both run may weigh words by a memory too many until its text changes.
CREATE OR REPLACE FUNCTION schema_floor() RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT 20::bigint';

-- +goose Down
-- +goose StatementBegin
DO $$ BEGIN RAISE EXCEPTION 'this migration cannot be taken back: restore a backup instead'; END $$;
-- +goose StatementEnd
