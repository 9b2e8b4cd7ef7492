package postgres

import (
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Errors of the server are told apart by SQLSTATE and by nothing else: on Citus the names of constraints and tables in
// messages carry shard suffixes.

// SQLState gives the server's five-character code in err's chain, "" when err did not come from the server.
func SQLState(err error) string {
	if pe, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pe.Code
	}
	return ""
}

// IsUniqueViolation tells whether a row with that key exists already (23505).
func IsUniqueViolation(err error) bool { return SQLState(err) == "23505" }

// IsForbidden tells whether the role lacks a privilege or row-level security refused a row (42501).
func IsForbidden(err error) bool { return SQLState(err) == "42501" }

// IsTimeout tells whether the server stopped a statement: its timeout ran out or somebody cancelled it (57014).
func IsTimeout(err error) bool { return SQLState(err) == "57014" }

// IsNoRows tells whether QueryRow found nothing.
func IsNoRows(err error) bool { return errors.Is(err, pgx.ErrNoRows) }

// Retryable tells whether the same transaction may succeed when run again: it lost against another one
// (40001 serialization_failure, 40P01 deadlock_detected) and did nothing.
func Retryable(err error) bool {
	switch SQLState(err) {
	case "40001", "40P01":
		return true
	}
	return false
}
