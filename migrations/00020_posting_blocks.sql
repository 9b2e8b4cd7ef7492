-- Why: a row for each memory and word, with as long an entry in an index, and another for the count of the word, was three quarters of what an
-- imported memory cost the database. Lists of numbers are kept as arrays now, in blocks, and the last block of a list counts it.

-- +goose Up
CREATE TABLE posting_blocks (
    org_id   uuid NOT NULL,
    space_id integer NOT NULL,
    term     bigint NOT NULL,            -- keyed 64-bit hash of a word or tag
    upto     integer NOT NULL,           -- no number of the block is larger, and those of the next block are; 2147483647 in the last, which every list has
    df       integer NOT NULL DEFAULT 0, -- in the last block: how many memories are in the whole list
    seqs     integer[] NOT NULL CHECK (array_position(seqs, NULL) IS NULL), -- of live memories, each once, in any order; only the last block may be empty
    PRIMARY KEY (org_id, space_id, term, upto)
) WITH (fillfactor = 70, toast_tuple_target = 4096);
-- Where it does not fit into its page, it is not worth compressing for the moment until it is split.
ALTER TABLE posting_blocks ALTER COLUMN seqs SET STORAGE EXTERNAL;

-- The owner is bound by forced row-level security, too, and this is for every tenant. Nobody else sees the tables until it is committed.
ALTER TABLE postings NO FORCE ROW LEVEL SECURITY;
INSERT INTO posting_blocks (org_id, space_id, term, upto, df, seqs)
SELECT org_id, space_id, term,
    CASE WHEN (block + 1) * 128 < df THEN max(seq) ELSE 2147483647 END,
    CASE WHEN (block + 1) * 128 < df THEN 0 ELSE df END,
    array_agg(seq ORDER BY seq DESC)
FROM (
    SELECT org_id, space_id, term, seq,
        (row_number() OVER (PARTITION BY org_id, space_id, term ORDER BY seq) - 1) / 128 AS block,
        count(*) OVER (PARTITION BY org_id, space_id, term) AS df
    FROM postings) p
GROUP BY org_id, space_id, term, block, df
ORDER BY org_id, space_id, term, block;
DROP TABLE postings, term_frequencies;

ALTER TABLE posting_blocks ENABLE ROW LEVEL SECURITY;
ALTER TABLE posting_blocks FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON posting_blocks USING (org_id = nullif(current_setting('app.org_id', true), '')::uuid);
GRANT SELECT, INSERT, UPDATE, DELETE ON posting_blocks TO stele_app;

-- A program that knows postings only would neither find nor index anything.
CREATE OR REPLACE FUNCTION schema_floor() RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT 20::bigint';

-- +goose Down
-- +goose StatementBegin
DO $$ BEGIN RAISE EXCEPTION 'this migration cannot be taken back: restore a backup instead'; END $$;
-- +goose StatementEnd
