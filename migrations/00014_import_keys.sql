-- Why: a record that was imported before is left alone by every later import, also where it restated a memory and made none of its
-- own, and also when its memory was erased since. memories.source_key holds the keys of records that became memories.

-- +goose Up
CREATE TABLE import_keys (
    org_id     uuid NOT NULL,
    space_id   integer NOT NULL,
    source_key bytea NOT NULL, -- keyed hash of (source, native id), as memories.source_key
    memory_id  uuid NOT NULL,
    PRIMARY KEY (org_id, space_id, source_key),
    FOREIGN KEY (org_id, memory_id) REFERENCES memories (org_id, memory_id)
);

ALTER TABLE import_keys ENABLE ROW LEVEL SECURITY;
ALTER TABLE import_keys FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON import_keys USING (org_id = nullif(current_setting('app.org_id', true), '')::uuid);
GRANT SELECT, INSERT, UPDATE, DELETE ON import_keys TO stele_app;

-- +goose Down
-- +goose StatementBegin
DO $$ BEGIN RAISE EXCEPTION 'this migration cannot be taken back: restore a backup instead'; END $$;
-- +goose StatementEnd
