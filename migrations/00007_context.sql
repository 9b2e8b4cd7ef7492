-- Why: elements of a model are found by meaning as well as by words, and a project may leave the organization's memories out
-- of its recalls.

-- +goose Up

ALTER TABLE projects ADD COLUMN without_organization boolean NOT NULL DEFAULT false;

-- The vector of what the model says of an element: one, of the text and the encoder that last made it. Who finds it to be of
-- another text or another encoder does without and replaces it. null: that encoder cannot embed the text. A model is plain,
-- and so is what is made of it.
CREATE TABLE element_vectors (
    org_id     uuid NOT NULL,
    element_id uuid NOT NULL,
    model      text NOT NULL,
    text_hash  bytea NOT NULL,
    embedding  halfvec,
    PRIMARY KEY (org_id, element_id),
    FOREIGN KEY (org_id, element_id) REFERENCES elements (org_id, element_id)
);

ALTER TABLE element_vectors ENABLE ROW LEVEL SECURITY;
ALTER TABLE element_vectors FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON element_vectors USING (org_id = nullif(current_setting('app.org_id', true), '')::uuid);
GRANT SELECT, INSERT, UPDATE, DELETE ON element_vectors TO stele_app;

-- +goose Down
-- +goose StatementBegin
DO $$ BEGIN RAISE EXCEPTION 'this migration cannot be taken back: restore a backup instead'; END $$;
-- +goose StatementEnd
