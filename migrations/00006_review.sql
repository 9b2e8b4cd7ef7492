-- Why: the review queue. Its items follow from what is stored elsewhere, each time they are read; what is stored here is what
-- was decided about them, and what a decision changed, so that it can be taken back. Why somebody decided is sealed, and no
-- other word of anybody is in these tables.

-- +goose Up

-- What happened, the same for everything that it put in doubt: "a/b→c/d in 1a2b3c4" of a folder that was renamed, a commit and
-- a file of evidence that is gone. Plain: paths and commits.
ALTER TABLE stamps ADD COLUMN origin text NOT NULL DEFAULT '';
ALTER TABLE doubts ADD COLUMN origin text NOT NULL DEFAULT '';

-- Memories that were found similar when the newer one came, or got its vector. Who decides about one of the two, or says that
-- both hold, resolves it.
CREATE TABLE conflicts (
    org_id     uuid NOT NULL,
    memory_id  uuid NOT NULL, -- the newer
    other_id   uuid NOT NULL,
    since      timestamptz NOT NULL,
    source     text NOT NULL CHECK (source IN ('remember', 'vector')),
    similarity real NOT NULL, -- cosine, or Jaccard of the terms when there were no vectors
    PRIMARY KEY (org_id, memory_id, other_id),
    FOREIGN KEY (org_id, memory_id) REFERENCES memories (org_id, memory_id),
    FOREIGN KEY (org_id, other_id) REFERENCES memories (org_id, memory_id)
);
CREATE INDEX conflicts_other ON conflicts (org_id, other_id);

-- Who owns which files, as the repository says: CODEOWNERS of the newest tracked run.
CREATE TABLE code_owners (
    org_id     uuid NOT NULL,
    project_id uuid NOT NULL,
    repository text NOT NULL,
    rules      jsonb NOT NULL, -- [{"pattern", "owners"}], the last match wins
    PRIMARY KEY (org_id, project_id, repository),
    FOREIGN KEY (org_id, project_id) REFERENCES projects (org_id, project_id)
);

CREATE TABLE review_decisions (
    org_id      uuid NOT NULL,
    decision_id uuid NOT NULL, -- UUIDv7
    project_id  uuid NOT NULL,
    group_id    text NOT NULL DEFAULT '',
    action      text NOT NULL,
    decided_at  timestamptz NOT NULL,
    agent       text NOT NULL DEFAULT '',
    user_name   text NOT NULL,
    door        text NOT NULL DEFAULT '',
    personal    boolean NOT NULL DEFAULT false, -- about personal memories of the author, and nobody else's to see
    note        bytea,         -- sealed: why
    detail      jsonb NOT NULL DEFAULT '{}', -- ids, times, patterns of bindings
    undone_at   timestamptz,
    undone_agent text NOT NULL DEFAULT '',
    undone_by   text NOT NULL DEFAULT '',
    PRIMARY KEY (org_id, decision_id),
    FOREIGN KEY (org_id, project_id) REFERENCES projects (org_id, project_id)
);
CREATE INDEX review_decisions_newest ON review_decisions (org_id, project_id, decision_id DESC);
CREATE INDEX review_decisions_group ON review_decisions (org_id, project_id, group_id, decision_id DESC) WHERE group_id <> '';

-- What was settled. evidence tells one occurrence of a reason from the next.
CREATE TABLE review_items (
    org_id       uuid NOT NULL,
    decision_id  uuid NOT NULL,
    memory_id    uuid NOT NULL,
    reason       text NOT NULL,
    evidence     text NOT NULL,
    hidden_until timestamptz, -- of a snooze; null = for good
    undone       boolean NOT NULL DEFAULT false,
    PRIMARY KEY (org_id, decision_id, memory_id, reason, evidence),
    FOREIGN KEY (org_id, decision_id) REFERENCES review_decisions (org_id, decision_id),
    FOREIGN KEY (org_id, memory_id) REFERENCES memories (org_id, memory_id)
);
CREATE INDEX review_items_settled ON review_items (org_id, memory_id, reason, evidence) WHERE NOT undone;

-- What a decision did to a memory: how it stood before and after, in ids, times and counts.
CREATE TABLE review_changes (
    org_id      uuid NOT NULL,
    decision_id uuid NOT NULL,
    memory_id   uuid NOT NULL,
    before      jsonb NOT NULL,
    after       jsonb NOT NULL,
    PRIMARY KEY (org_id, decision_id, memory_id),
    FOREIGN KEY (org_id, decision_id) REFERENCES review_decisions (org_id, decision_id),
    FOREIGN KEY (org_id, memory_id) REFERENCES memories (org_id, memory_id)
);
CREATE INDEX review_changes_memory ON review_changes (org_id, memory_id, decision_id DESC);

-- +goose StatementBegin
DO $$
DECLARE t text;
BEGIN
    FOREACH t IN ARRAY ARRAY['conflicts', 'code_owners', 'review_decisions', 'review_items', 'review_changes']
    LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', t);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', t);
        EXECUTE format($p$CREATE POLICY tenant ON %I USING (org_id = nullif(current_setting('app.org_id', true), '')::uuid)$p$, t);
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO stele_app', t);
    END LOOP;
END $$;
-- +goose StatementEnd
REVOKE DELETE ON review_decisions, review_items, review_changes FROM stele_app;

-- +goose Down
-- +goose StatementBegin
DO $$ BEGIN RAISE EXCEPTION 'this migration cannot be taken back: restore a backup instead'; END $$;
-- +goose StatementEnd
