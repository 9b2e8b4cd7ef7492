-- Why: a null within an array has no place in a list of numbers or texts, and a row with one, of whatever came past the program, failed every
-- comparison or list that met it. Rows that are there already are not looked at, so that none holds an upgrade up; `stele doctor --deep` names those of
-- the index of words, whose postings and counts cannot match them.

-- +goose Up
ALTER TABLE memory_terms ADD CONSTRAINT memory_terms_whole CHECK (array_position(terms, NULL) IS NULL AND array_position(tags, NULL) IS NULL) NOT VALID;
ALTER TABLE elements ADD CONSTRAINT elements_whole CHECK (array_position(tags, NULL) IS NULL) NOT VALID;
ALTER TABLE relationships ADD CONSTRAINT relationships_whole CHECK (array_position(tags, NULL) IS NULL) NOT VALID;
ALTER TABLE drift_runs ADD CONSTRAINT drift_runs_whole CHECK (array_position(ancestors, NULL) IS NULL) NOT VALID;
ALTER TABLE held_models ADD CONSTRAINT held_models_whole CHECK (array_position(removed, NULL) IS NULL) NOT VALID;
ALTER TABLE evidence ADD CONSTRAINT evidence_whole CHECK (array_position(found_in, NULL) IS NULL) NOT VALID;
-- Programs have never written such arrays.
CREATE OR REPLACE FUNCTION schema_floor() RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT 1::bigint';

-- +goose Down
-- +goose StatementBegin
DO $$ BEGIN RAISE EXCEPTION 'this migration cannot be taken back: restore a backup instead'; END $$;
-- +goose StatementEnd
