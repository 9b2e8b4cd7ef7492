-- Why: people sign in to the pages of a server with a token or a link. Neither stands in a browser afterwards, but a sign-in of its
-- own: it ends by itself, with the token, or by signing out. Its text is not kept, like that of a token.

-- +goose Up

CREATE TABLE sign_ins (
    org_id     uuid NOT NULL,
    sign_in_id uuid NOT NULL,
    hash       bytea NOT NULL,
    token_id   uuid NOT NULL,
    link       boolean NOT NULL, -- good for one sign-in and for nothing else
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    ended_at   timestamptz,
    PRIMARY KEY (org_id, sign_in_id),
    FOREIGN KEY (org_id, token_id) REFERENCES tokens (org_id, token_id)
);
CREATE UNIQUE INDEX sign_ins_hash ON sign_ins (org_id, hash);
CREATE INDEX sign_ins_age ON sign_ins (org_id, expires_at);

-- +goose StatementBegin
DO $$
DECLARE t text;
BEGIN
    FOREACH t IN ARRAY ARRAY['sign_ins']
    LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', t);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', t);
        EXECUTE format($p$CREATE POLICY tenant ON %I USING (org_id = nullif(current_setting('app.org_id', true), '')::uuid)$p$, t);
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO stele_app', t);
    END LOOP;
END $$;
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
DO $$ BEGIN RAISE EXCEPTION 'this migration cannot be taken back: restore a backup instead'; END $$;
-- +goose StatementEnd
