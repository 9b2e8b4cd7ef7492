-- Why: the tables of the main job: tenants, the architecture model, memories with their history, search and audit.
--
-- Three decisions run through all of it.
--   * A "space" is what one search may see as a unit: a project, an organization, or one author's personal memories.
--     Spaces and memories in them have small integer surrogates (space_id, seq), which halve the postings table.
--   * memories is narrow: no ciphertext. The sealed text is in memory_versions, so that ranking many rows reads little.
--   * Words reach the database only as keyed hashes (postings, term_frequencies, title_hash, target_hash).
-- Times and ids always come from the caller as parameters.

-- +goose Up

-- Tenants. The two keysets are wrapped by the master key, which never enters the database.
CREATE TABLE organizations (
    org_id         uuid PRIMARY KEY,
    name           text NOT NULL,
    created_at     timestamptz NOT NULL,
    master_key_id  text NOT NULL,
    data_keyset    bytea NOT NULL,
    index_keyset   bytea NOT NULL,
    next_space_id  integer NOT NULL DEFAULT 1
);

-- Name → organization, the one question asked before a tenant is known. stele_app cannot read the table, only ask the
-- function, so that nothing can be listed without an organization.
CREATE TABLE organization_names (
    name   text PRIMARY KEY,
    org_id uuid NOT NULL
);

-- +goose StatementBegin
CREATE FUNCTION organization_named(wanted text) RETURNS uuid
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public
    AS $$ SELECT org_id FROM public.organization_names WHERE name = wanted $$;
-- +goose StatementEnd

-- Takes a name for an organization; gives the organization that holds it afterwards (another's when it was taken).
-- +goose StatementBegin
CREATE FUNCTION claim_organization_name(wanted text, claimant uuid) RETURNS uuid
    LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, public
    AS $$
        INSERT INTO public.organization_names (name, org_id) VALUES (wanted, claimant) ON CONFLICT (name) DO NOTHING;
        SELECT org_id FROM public.organization_names WHERE name = wanted
    $$;
-- +goose StatementEnd
REVOKE ALL ON FUNCTION organization_named(text), claim_organization_name(text, uuid) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION organization_named(text), claim_organization_name(text, uuid) TO stele_app;

CREATE TABLE projects (
    org_id     uuid NOT NULL REFERENCES organizations (org_id),
    project_id uuid NOT NULL,
    space_id   integer NOT NULL,
    name       text NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (org_id, project_id)
);
CREATE UNIQUE INDEX projects_name ON projects (org_id, lower(name));

-- What a project is known by besides its id: "remote:host/owner/repo", "gitdir:/abs/path". Clones and worktrees of one
-- repository meet here; two folders of one name never do.
CREATE TABLE project_identities (
    org_id     uuid NOT NULL,
    identity   text NOT NULL,
    project_id uuid NOT NULL,
    PRIMARY KEY (org_id, identity),
    FOREIGN KEY (org_id, project_id) REFERENCES projects (org_id, project_id)
);

-- The unit of search and of serialised writing. live counts memories in recall: N of the idf formula.
CREATE TABLE spaces (
    org_id     uuid NOT NULL REFERENCES organizations (org_id),
    space_id   integer NOT NULL,
    scope      text NOT NULL CHECK (scope IN ('personal', 'project', 'organization')),
    owner      text NOT NULL, -- project id, "" for the organization, user name for personal
    next_seq   integer NOT NULL DEFAULT 1,
    live       integer NOT NULL DEFAULT 0,
    PRIMARY KEY (org_id, space_id)
);
CREATE UNIQUE INDEX spaces_owner ON spaces (org_id, scope, owner);

-- The architecture model, plain. An element that left the model stays as a tombstone (removed_at), its memories orphaned.
CREATE TABLE elements (
    org_id      uuid NOT NULL,
    project_id  uuid NOT NULL,
    element_id  uuid NOT NULL,
    parent_id   uuid,
    key         text NOT NULL,
    folded_key  text NOT NULL, -- as looked up: without case
    name        text NOT NULL,
    folded_name text NOT NULL,
    level       text NOT NULL CHECK (level IN ('person', 'system', 'container', 'component', 'code')),
    description text NOT NULL DEFAULT '',
    technology  text NOT NULL DEFAULT '',
    url         text NOT NULL DEFAULT '',
    group_path  text NOT NULL DEFAULT '',
    tags        text[] NOT NULL DEFAULT '{}',
    properties  jsonb NOT NULL DEFAULT '{}',
    in_scope    boolean NOT NULL,
    external    boolean NOT NULL DEFAULT false,
    ordinal     integer NOT NULL, -- order of declaration
    source_file text NOT NULL DEFAULT '',
    source_line integer NOT NULL DEFAULT 0,
    created_at  timestamptz NOT NULL,
    removed_at  timestamptz,
    PRIMARY KEY (org_id, element_id),
    FOREIGN KEY (org_id, project_id) REFERENCES projects (org_id, project_id)
);
CREATE UNIQUE INDEX elements_key ON elements (org_id, project_id, folded_key) WHERE removed_at IS NULL;
CREATE INDEX elements_name ON elements (org_id, project_id, folded_name) WHERE removed_at IS NULL;

-- Keys an element had before, folded; they still find it.
CREATE TABLE element_aliases (
    org_id     uuid NOT NULL,
    project_id uuid NOT NULL,
    key        text NOT NULL,
    element_id uuid NOT NULL,
    PRIMARY KEY (org_id, project_id, key),
    FOREIGN KEY (org_id, element_id) REFERENCES elements (org_id, element_id)
);

CREATE TABLE relationships (
    org_id         uuid NOT NULL,
    project_id     uuid NOT NULL,
    ordinal        integer NOT NULL,
    source_id      uuid NOT NULL,
    destination_id uuid NOT NULL,
    description    text NOT NULL DEFAULT '',
    technology     text NOT NULL DEFAULT '',
    tags           text[] NOT NULL DEFAULT '{}',
    PRIMARY KEY (org_id, project_id, ordinal),
    FOREIGN KEY (org_id, source_id) REFERENCES elements (org_id, element_id),
    FOREIGN KEY (org_id, destination_id) REFERENCES elements (org_id, element_id)
);

CREATE TABLE bindings (
    org_id     uuid NOT NULL,
    project_id uuid NOT NULL,
    element_id uuid NOT NULL,
    repository text NOT NULL DEFAULT '',
    pattern    text NOT NULL,
    source     text NOT NULL,
    PRIMARY KEY (org_id, project_id, element_id, repository, pattern),
    FOREIGN KEY (org_id, element_id) REFERENCES elements (org_id, element_id)
);

CREATE TABLE decisions (
    org_id     uuid NOT NULL,
    project_id uuid NOT NULL,
    number     text NOT NULL, -- "17"; links say ADR-17
    title      text NOT NULL,
    status     text NOT NULL DEFAULT '',
    date       text NOT NULL DEFAULT '',
    summary    text NOT NULL DEFAULT '',
    file       text NOT NULL DEFAULT '',
    element_id uuid,
    source     text NOT NULL DEFAULT '', -- the folder or model it came from; a re-import replaces its own
    PRIMARY KEY (org_id, project_id, number),
    FOREIGN KEY (org_id, project_id) REFERENCES projects (org_id, project_id)
);

CREATE TABLE model_imports (
    org_id      uuid NOT NULL,
    project_id  uuid NOT NULL,
    import_id   uuid NOT NULL,
    imported_at timestamptz NOT NULL,
    actor       text NOT NULL,
    source      text NOT NULL,
    digest      bytea NOT NULL,
    counts      jsonb NOT NULL,
    PRIMARY KEY (org_id, project_id, import_id),
    FOREIGN KEY (org_id, project_id) REFERENCES projects (org_id, project_id)
);

-- One row per memory, everything ranking needs and no word of its text.
CREATE TABLE memories (
    org_id        uuid NOT NULL,
    memory_id     uuid NOT NULL,
    space_id      integer NOT NULL,
    seq           integer NOT NULL,
    project_id    uuid,            -- where it was written; null when written outside any project
    handle        text NOT NULL,
    kind          text NOT NULL CHECK (kind IN ('pitfall', 'convention', 'note', 'session_outcome')),
    status        text NOT NULL CHECK (status IN ('live', 'superseded', 'retired', 'erased')),
    agent         text NOT NULL DEFAULT '',
    user_name     text NOT NULL,
    origin        text NOT NULL CHECK (origin IN ('mcp', 'api', 'web', 'cli', 'hook', 'import', 'session')),
    source_key    bytea,           -- keyed hash of (source, native id) of an import
    batch_id      uuid,
    unreviewed    boolean NOT NULL DEFAULT false,
    created_at    timestamptz NOT NULL,
    confirmed_at  timestamptz NOT NULL,
    confirmations integer NOT NULL DEFAULT 0,
    revision      integer NOT NULL DEFAULT 1,
    superseded_by uuid,
    expires_at    timestamptz,
    title_hash    bytea,           -- keyed hash of the folded title
    text_hash     bytea NOT NULL,  -- keyed hash of the normalised content: restatements without vectors
    term_count    integer NOT NULL,
    verify        boolean NOT NULL DEFAULT false, -- an open doubt other than a dispute
    disputed      boolean NOT NULL DEFAULT false,
    citations     integer NOT NULL DEFAULT 0,     -- distinct sessions in citations
    ignored_by    integer NOT NULL DEFAULT 0,     -- reporting sessions it was served to in full without citing it
    seen_commit   text NOT NULL DEFAULT '',
    seen_branch   text NOT NULL DEFAULT '',
    seen_tree     text NOT NULL DEFAULT '',
    seen_assumed  boolean NOT NULL DEFAULT false,
    PRIMARY KEY (org_id, memory_id),
    FOREIGN KEY (org_id, space_id) REFERENCES spaces (org_id, space_id)
);
CREATE UNIQUE INDEX memories_handle ON memories (org_id, handle);
CREATE UNIQUE INDEX memories_seq ON memories (org_id, space_id, seq);
CREATE UNIQUE INDEX memories_title ON memories (org_id, space_id, title_hash) WHERE status = 'live' AND title_hash IS NOT NULL;
CREATE INDEX memories_text ON memories (org_id, space_id, text_hash) WHERE status = 'live';
CREATE UNIQUE INDEX memories_source ON memories (org_id, space_id, source_key) WHERE source_key IS NOT NULL;
CREATE INDEX memories_created ON memories (org_id, space_id, created_at);
CREATE INDEX memories_confirmed ON memories (org_id, space_id, confirmed_at) WHERE status = 'live';
CREATE INDEX memories_expires ON memories (org_id, space_id, expires_at) WHERE status = 'live' AND expires_at IS NOT NULL;
CREATE INDEX memories_superseded_by ON memories (org_id, superseded_by) WHERE superseded_by IS NOT NULL;

-- The sealed text of every revision: JSON of title, content, why and tags. body is null once erased.
CREATE TABLE memory_versions (
    org_id      uuid NOT NULL,
    memory_id   uuid NOT NULL,
    revision    integer NOT NULL,
    body        bytea,
    recorded_at timestamptz NOT NULL,
    agent       text NOT NULL DEFAULT '',
    user_name   text NOT NULL,
    PRIMARY KEY (org_id, memory_id, revision),
    FOREIGN KEY (org_id, memory_id) REFERENCES memories (org_id, memory_id)
);

-- memory ↔ element, with its past: an attachment taken away stays as a row with detached_at.
CREATE TABLE attachments (
    org_id      uuid NOT NULL,
    memory_id   uuid NOT NULL,
    element_id  uuid NOT NULL,
    attached_at timestamptz NOT NULL,
    detached_at timestamptz,
    reason      text NOT NULL, -- writer, path, inherited, restated, reattached
    path        text NOT NULL DEFAULT '', -- the memory's path by which it came, for reason path
    PRIMARY KEY (org_id, memory_id, element_id, attached_at),
    FOREIGN KEY (org_id, memory_id) REFERENCES memories (org_id, memory_id),
    FOREIGN KEY (org_id, element_id) REFERENCES elements (org_id, element_id)
);
CREATE UNIQUE INDEX attachments_current ON attachments (org_id, memory_id, element_id) WHERE detached_at IS NULL;
CREATE INDEX attachments_element ON attachments (org_id, element_id, memory_id) WHERE detached_at IS NULL;

-- Paths and globs a memory names. prefix is the part before the first wildcard, for lookup by an indexed equality on
-- every ancestor of a path.
CREATE TABLE memory_paths (
    org_id     uuid NOT NULL,
    memory_id  uuid NOT NULL,
    ordinal    integer NOT NULL,
    pattern    text NOT NULL,
    prefix     text NOT NULL,
    project_id uuid, -- the project whose repository it is about
    PRIMARY KEY (org_id, memory_id, pattern),
    FOREIGN KEY (org_id, memory_id) REFERENCES memories (org_id, memory_id)
);
CREATE INDEX memory_paths_prefix ON memory_paths (org_id, project_id, prefix);

-- One row per live memory and distinct term; term is a keyed 64-bit hash. Equality on uuid and integers is leakproof,
-- so policy and index work together (an array operator under row-level security would not).
CREATE TABLE postings (
    org_id   uuid NOT NULL,
    space_id integer NOT NULL,
    term     bigint NOT NULL,
    seq      integer NOT NULL,
    PRIMARY KEY (org_id, space_id, term, seq)
);

-- The terms a memory has in postings, so that it leaves the index exactly as it entered, whatever the tokeniser does then.
CREATE TABLE memory_terms (
    org_id   uuid NOT NULL,
    space_id integer NOT NULL,
    seq      integer NOT NULL,
    terms    bigint[] NOT NULL, -- counted in term_frequencies
    tags     bigint[] NOT NULL, -- postings only, for the tag filter
    PRIMARY KEY (org_id, space_id, seq)
);

-- df of the idf formula: number of postings of a term, kept by the write that changes them.
CREATE TABLE term_frequencies (
    org_id   uuid NOT NULL,
    space_id integer NOT NULL,
    term     bigint NOT NULL,
    df       integer NOT NULL,
    PRIMARY KEY (org_id, space_id, term)
) WITH (fillfactor = 70);

-- Vectors of live memories. No fixed dimension: every row says its model, and models are never compared.
CREATE TABLE vectors (
    org_id    uuid NOT NULL,
    model     text NOT NULL,
    space_id  integer NOT NULL,
    seq       integer NOT NULL,
    embedding halfvec NOT NULL,
    PRIMARY KEY (org_id, model, space_id, seq)
);

-- [[links]] of a memory's current text, by keyed hash of the folded target; resolved when read.
CREATE TABLE links (
    org_id      uuid NOT NULL,
    memory_id   uuid NOT NULL,
    ordinal     integer NOT NULL,
    target_hash bytea NOT NULL,
    target      bytea NOT NULL, -- sealed
    PRIMARY KEY (org_id, memory_id, ordinal),
    FOREIGN KEY (org_id, memory_id) REFERENCES memories (org_id, memory_id)
);
CREATE INDEX links_target ON links (org_id, target_hash);

-- Doubts and disputes, open while cleared_at is null.
CREATE TABLE doubts (
    org_id     uuid NOT NULL,
    doubt_id   uuid NOT NULL,
    memory_id  uuid NOT NULL,
    cause      text NOT NULL CHECK (cause IN ('drifted', 'evidence_gone', 'rewritten', 'disputed')),
    element_id uuid,
    since      timestamptz NOT NULL,
    reason     bytea NOT NULL, -- sealed: words
    cleared_at timestamptz,
    PRIMARY KEY (org_id, doubt_id),
    FOREIGN KEY (org_id, memory_id) REFERENCES memories (org_id, memory_id)
);
CREATE INDEX doubts_memory ON doubts (org_id, memory_id, since);

-- What somebody said when they confirmed, retired or restored a memory. The trail holds no words, so they are here, sealed.
CREATE TABLE remarks (
    org_id    uuid NOT NULL,
    remark_id uuid NOT NULL,
    memory_id uuid NOT NULL,
    at        timestamptz NOT NULL, -- of the entry in the trail
    body      bytea NOT NULL,
    PRIMARY KEY (org_id, remark_id),
    FOREIGN KEY (org_id, memory_id) REFERENCES memories (org_id, memory_id)
);
CREATE INDEX remarks_memory ON remarks (org_id, memory_id, at);

-- Moments at which drift was seen on an element.
CREATE TABLE stamps (
    org_id      uuid NOT NULL,
    project_id  uuid NOT NULL,
    stamp_id    uuid NOT NULL,
    element_id  uuid NOT NULL,
    stamped_at  timestamptz NOT NULL,
    fingerprint text NOT NULL,
    commit      text NOT NULL DEFAULT '',
    tree        text NOT NULL DEFAULT '',
    PRIMARY KEY (org_id, stamp_id),
    FOREIGN KEY (org_id, element_id) REFERENCES elements (org_id, element_id)
);
CREATE INDEX stamps_element ON stamps (org_id, element_id, stamped_at);

-- "This memory was served to that session through that door": circumstantial. revision and doubted_at (the newest open
-- doubt) say what the session was last shown.
CREATE TABLE impressions (
    org_id     uuid NOT NULL,
    memory_id  uuid NOT NULL,
    session_id text NOT NULL,
    door       text NOT NULL CHECK (door IN ('recall', 'prompt', 'file', 'briefing', 'index', 'link')),
    first_at   timestamptz NOT NULL,
    last_at    timestamptz NOT NULL,
    times      integer NOT NULL DEFAULT 1,
    revision   integer NOT NULL,
    doubted_at timestamptz,
    PRIMARY KEY (org_id, memory_id, session_id, door),
    FOREIGN KEY (org_id, memory_id) REFERENCES memories (org_id, memory_id)
);
CREATE INDEX impressions_session ON impressions (org_id, session_id);

-- "That session relied on it": testimony. memories.citations counts these rows.
CREATE TABLE citations (
    org_id     uuid NOT NULL,
    memory_id  uuid NOT NULL,
    session_id text NOT NULL,
    cited_at   timestamptz NOT NULL,
    observed   boolean NOT NULL DEFAULT false, -- seen in what the session wrote, rather than reported
    PRIMARY KEY (org_id, memory_id, session_id),
    FOREIGN KEY (org_id, memory_id) REFERENCES memories (org_id, memory_id)
);

-- The append-only trail of every write: ids and verbs, never content. It is also the log that history and asOf read:
-- status, confirmations and attachments of any moment follow from it and from the dated rows above.
CREATE TABLE audit (
    org_id     uuid NOT NULL,
    audit_id   uuid NOT NULL, -- UUIDv7
    at         timestamptz NOT NULL,
    verb       text NOT NULL,
    subject_id uuid,          -- memory, element, project
    project_id uuid,
    revision   integer NOT NULL DEFAULT 0,
    agent      text NOT NULL DEFAULT '',
    user_name  text NOT NULL DEFAULT '',
    door       text NOT NULL DEFAULT '',
    session_id text NOT NULL DEFAULT '',
    detail     jsonb NOT NULL DEFAULT '{}', -- ids, commits and counts only
    PRIMARY KEY (org_id, audit_id)
);
CREATE INDEX audit_subject ON audit (org_id, subject_id, at);
CREATE INDEX audit_project ON audit (org_id, project_id, at);

-- Row-level security, forced, on every table of a tenant; and what stele_app may do.
-- +goose StatementBegin
DO $$
DECLARE t text;
BEGIN
    FOREACH t IN ARRAY ARRAY['organizations', 'projects', 'project_identities', 'spaces', 'elements', 'element_aliases',
        'relationships', 'bindings', 'decisions', 'model_imports', 'memories', 'memory_versions', 'attachments',
        'memory_paths', 'postings', 'memory_terms', 'term_frequencies', 'vectors', 'links', 'doubts', 'remarks', 'stamps',
        'impressions', 'citations', 'audit']
    LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', t);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', t);
        EXECUTE format($p$CREATE POLICY tenant ON %I USING (org_id = nullif(current_setting('app.org_id', true), '')::uuid)$p$, t);
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO stele_app', t);
    END LOOP;
END $$;
-- +goose StatementEnd
-- The trail only grows; a tenant and a memory's row are never deleted by the service.
REVOKE UPDATE, DELETE ON audit FROM stele_app;
REVOKE DELETE ON organizations, projects, memories, memory_versions FROM stele_app;

-- +goose Down
-- +goose StatementBegin
DO $$ BEGIN RAISE EXCEPTION 'the first migration cannot be taken back: restore a backup instead'; END $$;
-- +goose StatementEnd
