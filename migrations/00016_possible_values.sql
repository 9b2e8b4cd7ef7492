-- Why: a count below zero has no logarithm, and a moment that is infinite, or of a year with five digits, is no RFC 3339: one such row, of whatever
-- came past the program, made every recall or list fail that met it. Rows that are there already are not looked at, so that none holds an
-- upgrade up.

-- +goose Up
ALTER TABLE memories ADD CONSTRAINT memories_counts CHECK (confirmations >= 0 AND citations >= 0 AND ignored_by >= 0 AND served >= 0 AND term_count >= 0
    AND revision >= 1) NOT VALID;
ALTER TABLE memories ADD CONSTRAINT memories_moments CHECK (created_at >= '0001-01-01Z' AND created_at < '10000-01-01Z'
    AND confirmed_at >= '0001-01-01Z' AND confirmed_at < '10000-01-01Z' AND (expires_at IS NULL OR expires_at >= '0001-01-01Z' AND expires_at < '10000-01-01Z')) NOT VALID;
-- Programs have never written such values.
CREATE OR REPLACE FUNCTION schema_floor() RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT 1::bigint';

-- +goose Down
-- +goose StatementBegin
DO $$ BEGIN RAISE EXCEPTION 'this migration cannot be taken back: restore a backup instead'; END $$;
-- +goose StatementEnd
