-- Why: several servers and many people on one database: tokens, answers that a retry gets again, a stream of events that
-- can be resumed, and keys that change while others read.
--
-- Everything here is added; a server of the version before goes on working (docs/operations.md, "Upgrading").

-- +goose Up

-- Counts the changes of an organization's keysets, for people: a restored backup takes it back.
ALTER TABLE organizations ADD COLUMN key_generation integer NOT NULL DEFAULT 1;

-- Who may speak for an organization, or for one project of it. The text of a token is shown once and not kept: hash is
-- SHA-256 of it. used_at is kept to the minute.
CREATE TABLE tokens (
    org_id          uuid NOT NULL REFERENCES organizations (org_id),
    token_id        uuid NOT NULL,
    hash            bytea NOT NULL,
    name            text NOT NULL, -- the user that memories written with it name
    role            text NOT NULL CHECK (role IN ('agent', 'ci', 'reviewer', 'admin')),
    project_id      uuid,          -- null: every project
    create_projects boolean NOT NULL DEFAULT false, -- role ci may create a project
    created_at      timestamptz NOT NULL,
    created_by      text NOT NULL,
    expires_at      timestamptz,
    used_at         timestamptz,
    revoked_at      timestamptz,
    PRIMARY KEY (org_id, token_id),
    FOREIGN KEY (org_id, project_id) REFERENCES projects (org_id, project_id)
);
CREATE UNIQUE INDEX tokens_hash ON tokens (org_id, hash);
CREATE UNIQUE INDEX tokens_name ON tokens (org_id, lower(name)) WHERE revoked_at IS NULL;

-- The identities of a project, as every list and look-up shows them.
CREATE INDEX project_identities_project ON project_identities (org_id, project_id);

-- What a write that named an idempotency key was answered, stored by the transaction of that write: a retry finds either
-- both or neither. body holds the answer and what was asked, sealed. Which answers quote a memory cannot be told without opening all: each
-- carries the erasures that its organization had counted when its write began, and when a memory is erased those with less
-- are given no more, at once, and lose their bodies in pages soon after.
CREATE TABLE answers (
    org_id     uuid NOT NULL REFERENCES organizations (org_id),
    key_hash   bytea NOT NULL, -- SHA-256 of caller and key
    answered_at timestamptz NOT NULL,
    erasures   bigint NOT NULL,
    body       bytea,
    PRIMARY KEY (org_id, key_hash)
);
CREATE INDEX answers_age ON answers (org_id, answered_at);
CREATE INDEX answers_kept ON answers (org_id, erasures) WHERE body IS NOT NULL;
ALTER TABLE organizations ADD COLUMN erasures bigint NOT NULL DEFAULT 0;

-- Numbers of events. Whoever writes to a space holds its row, so numbers are in the order of commits and without gaps: a
-- reader who knows the last one it saw misses nothing.
ALTER TABLE spaces ADD COLUMN next_event bigint NOT NULL DEFAULT 1;
ALTER TABLE audit ADD COLUMN space_id integer;
ALTER TABLE audit ADD COLUMN event bigint;
CREATE UNIQUE INDEX audit_event ON audit (org_id, space_id, event) WHERE event IS NOT NULL;

-- The organizations there are, for work that belongs to none of them in particular: removing old answers, rotating the
-- master key. It tells ids only; names stay behind organization_named.
-- +goose StatementBegin
CREATE FUNCTION organization_ids() RETURNS SETOF uuid
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public
    AS $$ SELECT org_id FROM public.organization_names ORDER BY org_id $$;
-- +goose StatementEnd
REVOKE ALL ON FUNCTION organization_ids() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION organization_ids() TO stele_app;

-- The floor: the oldest migration a program must carry to serve this schema. A program that carries less than the newest
-- serves as long as it carries the floor, so that servers are replaced one by one. A migration that takes away or narrows
-- something raises it with CREATE OR REPLACE, in its own transaction; this one only adds.
CREATE FUNCTION schema_floor() RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT 1::bigint';
REVOKE ALL ON FUNCTION schema_floor() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION schema_floor() TO stele_app;

-- +goose StatementBegin
DO $$
DECLARE t text;
BEGIN
    FOREACH t IN ARRAY ARRAY['tokens', 'answers']
    LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', t);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', t);
        EXECUTE format($p$CREATE POLICY tenant ON %I USING (org_id = nullif(current_setting('app.org_id', true), '')::uuid)$p$, t);
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO stele_app', t);
    END LOOP;
END $$;
-- +goose StatementEnd
REVOKE DELETE ON tokens FROM stele_app;

-- +goose Down
-- +goose StatementBegin
DO $$ BEGIN RAISE EXCEPTION 'this migration cannot be taken back: restore a backup instead'; END $$;
-- +goose StatementEnd
