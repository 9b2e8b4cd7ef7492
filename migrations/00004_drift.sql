-- Why: comparisons of the model with the code that CI sends, and what they do to memories: moments at which drift began on an
-- element, which memories were written knowing it, which of their claims the code supported. Reports are about models, paths
-- and commits, which are plain; no text of a memory is in these tables.

-- +goose Up

-- One comparison of a model with a commit. ancestors are its first parents, newest first, itself first.
CREATE TABLE drift_runs (
    org_id         uuid NOT NULL,
    project_id     uuid NOT NULL,
    run_id         uuid NOT NULL,
    repository     text NOT NULL,
    branch         text NOT NULL,
    commit         text NOT NULL,
    ancestors      text[] NOT NULL,
    committed_at   timestamptz NOT NULL,
    arrived_at     timestamptz NOT NULL,
    actor          text NOT NULL,
    tracked        boolean NOT NULL, -- it may put memories in doubt
    late           boolean NOT NULL DEFAULT false, -- a newer commit of the branch had been compared already
    status         text NOT NULL CHECK (status IN ('checked', 'not_checked')),
    score          smallint,
    coverage       smallint,
    engine_version integer NOT NULL,
    input_hash     text NOT NULL,
    new_findings   integer NOT NULL DEFAULT 0,
    doubted        integer NOT NULL DEFAULT 0,
    report         jsonb NOT NULL,
    answer         jsonb NOT NULL,
    PRIMARY KEY (org_id, run_id),
    FOREIGN KEY (org_id, project_id) REFERENCES projects (org_id, project_id)
);
CREATE UNIQUE INDEX drift_runs_once ON drift_runs (org_id, project_id, repository, branch, commit, input_hash, tracked);
CREATE INDEX drift_runs_newest ON drift_runs (org_id, project_id, arrived_at DESC);

-- What drift is told about a project. badge is part of an address that needs no token; '' switches badges off.
CREATE TABLE drift_settings (
    org_id         uuid NOT NULL,
    project_id     uuid NOT NULL,
    tracked_branch text NOT NULL DEFAULT '', -- '' = the default branch that runs name
    clone_url      text NOT NULL DEFAULT '', -- where the server reads the repository itself; '' = it does not
    schedule       text NOT NULL DEFAULT '', -- cron expression; '' = never
    badge          text NOT NULL DEFAULT '',
    PRIMARY KEY (org_id, project_id),
    FOREIGN KEY (org_id, project_id) REFERENCES projects (org_id, project_id)
);

-- A pushed model that would drop many elements waits here for a person.
CREATE TABLE held_models (
    org_id     uuid NOT NULL,
    project_id uuid NOT NULL,
    held_id    uuid NOT NULL,
    run_id     uuid NOT NULL,
    held_at    timestamptz NOT NULL,
    actor      text NOT NULL,
    model      jsonb NOT NULL, -- with bindings and source, as an import takes them
    removed    text[] NOT NULL, -- keys that would leave
    elements   integer NOT NULL, -- that the project has
    decided_at timestamptz,
    decided_by text,
    accepted   boolean,
    PRIMARY KEY (org_id, held_id),
    FOREIGN KEY (org_id, project_id) REFERENCES projects (org_id, project_id)
);
CREATE UNIQUE INDEX held_models_open ON held_models (org_id, project_id) WHERE decided_at IS NULL;

-- What began on an element, in words; moved says that its files are elsewhere.
ALTER TABLE stamps ADD COLUMN run_id uuid, ADD COLUMN reason text NOT NULL DEFAULT '', ADD COLUMN moved boolean NOT NULL DEFAULT false;

-- Memories that were written knowing what a stamp stands for.
CREATE TABLE stamp_excuses (
    org_id    uuid NOT NULL,
    stamp_id  uuid NOT NULL,
    memory_id uuid NOT NULL,
    PRIMARY KEY (org_id, stamp_id, memory_id),
    FOREIGN KEY (org_id, stamp_id) REFERENCES stamps (org_id, stamp_id),
    FOREIGN KEY (org_id, memory_id) REFERENCES memories (org_id, memory_id)
);

-- The stamp behind a doubt; null for other causes. withdrawn: the reason went away, nobody confirmed anything.
ALTER TABLE doubts ADD COLUMN stamp_id uuid, ADD COLUMN withdrawn boolean NOT NULL DEFAULT false;

-- Which claims of a memory's text the code supports. A claim is known by its place in the list that revision gives, so that
-- no word of it is here.
CREATE TABLE evidence (
    org_id    uuid NOT NULL,
    memory_id uuid NOT NULL,
    revision  integer NOT NULL,
    version   integer NOT NULL, -- of the rules that find claims in a text
    ordinal   smallint NOT NULL,
    state     text NOT NULL CHECK (state IN ('held', 'gone', 'forgotten')),
    found_in  text[] NOT NULL DEFAULT '{}', -- paths, where it was last found
    PRIMARY KEY (org_id, memory_id, revision, version, ordinal),
    FOREIGN KEY (org_id, memory_id) REFERENCES memories (org_id, memory_id)
);

-- How many of the lines it was written about are gone, in percent, as the newest tracked run counted them.
ALTER TABLE memories ADD COLUMN changed smallint NOT NULL DEFAULT 0;

-- Role ci: whether its runs may speak for the tracked branch.
ALTER TABLE tokens ADD COLUMN tracked boolean NOT NULL DEFAULT false;

-- +goose StatementBegin
DO $$
DECLARE t text;
BEGIN
    FOREACH t IN ARRAY ARRAY['drift_runs', 'drift_settings', 'held_models', 'stamp_excuses', 'evidence']
    LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', t);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', t);
        EXECUTE format($p$CREATE POLICY tenant ON %I USING (org_id = nullif(current_setting('app.org_id', true), '')::uuid)$p$, t);
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO stele_app', t);
    END LOOP;
END $$;
-- +goose StatementEnd
REVOKE DELETE ON drift_runs, held_models, stamp_excuses FROM stele_app;

-- +goose Down
-- +goose StatementBegin
DO $$ BEGIN RAISE EXCEPTION 'this migration cannot be taken back: restore a backup instead'; END $$;
-- +goose StatementEnd
