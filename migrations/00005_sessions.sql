-- Why: work sessions: who works on which elements, what they were shown, what they relied on, and what they left open. A session
-- is known by its name (ws-…), which impressions, citations and the trail hold as their session_id. Free text is sealed.

-- +goose Up

CREATE TABLE work_sessions (
    org_id      uuid NOT NULL,
    session_id  uuid NOT NULL,
    project_id  uuid NOT NULL,
    name        text NOT NULL,            -- ws- and seven base32 characters
    state       text NOT NULL CHECK (state IN ('active', 'finished', 'expired', 'cancelled')),
    agent       text NOT NULL DEFAULT '', -- client program
    label       text NOT NULL DEFAULT '', -- what the agent calls itself, when that is something else
    user_name   text NOT NULL,
    door        text NOT NULL,            -- that opened it
    worktree    text NOT NULL DEFAULT '', -- opaque; the same for the same folder of the same machine
    seen_commit text NOT NULL DEFAULT '',
    seen_branch text NOT NULL DEFAULT '',
    started_at  timestamptz NOT NULL,
    beat_at     timestamptz NOT NULL,     -- of its last sign of life
    ended_at    timestamptz,
    reporting   boolean NOT NULL DEFAULT false, -- its finish said which memories it used, even none
    partial     boolean NOT NULL DEFAULT false, -- its outcome is what the last checkpoint said
    outcome_id  uuid,
    body        bytea,                    -- sealed JSON: task, checkpoint, names that matched nothing; null once its outcome is erased
    PRIMARY KEY (org_id, session_id),
    FOREIGN KEY (org_id, project_id) REFERENCES projects (org_id, project_id),
    FOREIGN KEY (org_id, outcome_id) REFERENCES memories (org_id, memory_id)
);
CREATE UNIQUE INDEX work_sessions_name ON work_sessions (org_id, name);
CREATE INDEX work_sessions_active ON work_sessions (org_id, project_id, beat_at) WHERE state = 'active';
CREATE INDEX work_sessions_newest ON work_sessions (org_id, project_id, started_at DESC, session_id);

-- Ids that clients know a session by. They are words of one user: nobody reaches another's session by them.
CREATE TABLE session_aliases (
    org_id     uuid NOT NULL,
    user_name  text NOT NULL,
    alias      text NOT NULL,
    session_id uuid NOT NULL,
    PRIMARY KEY (org_id, user_name, alias),
    FOREIGN KEY (org_id, session_id) REFERENCES work_sessions (org_id, session_id)
);
CREATE INDEX session_aliases_session ON session_aliases (org_id, session_id);

-- What a session works on. It is held while released_at is null and the session shows life.
CREATE TABLE leases (
    org_id      uuid NOT NULL,
    project_id  uuid NOT NULL,
    element_id  uuid NOT NULL,
    session_id  uuid NOT NULL,
    taken_at    timestamptz NOT NULL,
    released_at timestamptz,
    soft        boolean NOT NULL, -- observed by a hook, not declared
    exclusive   boolean NOT NULL,
    PRIMARY KEY (org_id, session_id, element_id),
    FOREIGN KEY (org_id, session_id) REFERENCES work_sessions (org_id, session_id),
    FOREIGN KEY (org_id, element_id) REFERENCES elements (org_id, element_id)
);
CREATE INDEX leases_held ON leases (org_id, project_id) WHERE released_at IS NULL;
CREATE INDEX leases_element ON leases (org_id, element_id, taken_at);

-- Files a session edited.
CREATE TABLE session_edits (
    org_id     uuid NOT NULL,
    session_id uuid NOT NULL,
    path       text NOT NULL,
    edited_at  timestamptz NOT NULL, -- last
    PRIMARY KEY (org_id, session_id, path),
    FOREIGN KEY (org_id, session_id) REFERENCES work_sessions (org_id, session_id)
);

-- What finished sessions left open.
CREATE TABLE follow_ups (
    org_id       uuid NOT NULL,
    follow_up_id uuid NOT NULL,
    project_id   uuid NOT NULL,
    session_id   uuid NOT NULL,
    body         bytea, -- sealed; null once the outcome is erased
    opened_at    timestamptz NOT NULL,
    closed_at    timestamptz,
    closed_by    uuid, -- session
    PRIMARY KEY (org_id, follow_up_id),
    FOREIGN KEY (org_id, session_id) REFERENCES work_sessions (org_id, session_id)
);
CREATE INDEX follow_ups_open ON follow_ups (org_id, project_id, opened_at) WHERE closed_at IS NULL;
CREATE INDEX follow_ups_session ON follow_ups (org_id, session_id);

-- Whether an impression counts in memories.ignored_by: its session reported what it used, and this was not among it.
ALTER TABLE impressions ADD COLUMN ignored boolean NOT NULL DEFAULT false;

-- How often it was served, as far as the impressions that tell when and to whom have been folded.
ALTER TABLE memories ADD COLUMN served integer NOT NULL DEFAULT 0;

-- +goose StatementBegin
DO $$
DECLARE t text;
BEGIN
    FOREACH t IN ARRAY ARRAY['work_sessions', 'session_aliases', 'leases', 'session_edits', 'follow_ups']
    LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', t);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', t);
        EXECUTE format($p$CREATE POLICY tenant ON %I USING (org_id = nullif(current_setting('app.org_id', true), '')::uuid)$p$, t);
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO stele_app', t);
    END LOOP;
END $$;
-- +goose StatementEnd
REVOKE DELETE ON work_sessions, leases, follow_ups FROM stele_app;

-- +goose Down
-- +goose StatementBegin
DO $$ BEGIN RAISE EXCEPTION 'this migration cannot be taken back: restore a backup instead'; END $$;
-- +goose StatementEnd
