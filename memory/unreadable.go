package memory

import (
	"fmt"
	"slices"

	"github.com/stele-dev/stele/internal/problem"
)

// unreadable is the flag of a memory whose text does not open: it was damaged or moved in the database, or sealed by a key
// that is lost. Such a memory has no title, content, reason or tags to show. It is listed and exported for what else is
// known of it, stands last in a recall, and may be forgotten or erased; nothing may be written in place of a text that
// somebody may still bring back.
const unreadable = "unreadable"

const unreadableReason = "its text cannot be opened with the keys at hand"

// MarkUnreadable says that the text of a record does not open; a Store that finds so calls it.
func (r *Record) MarkUnreadable() {
	if !r.Unreadable() {
		r.Flags = append(r.Flags, Flag{unreadable, unreadableReason})
	}
}

// Unreadable tells whether the text of a record does not open.
func (r *Record) Unreadable() bool { return isUnreadable(r.Flags) }

func isUnreadable(flags []Flag) bool {
	return slices.ContainsFunc(flags, func(f Flag) bool { return f.Flag == unreadable })
}

// mustBeReadable refuses what would store something made from a text that is not there.
func (r *Record) mustBeReadable() error {
	if !r.Unreadable() {
		return nil
	}
	return problem.New(problem.Unavailable, "memory", fmt.Sprintf("the text of %s cannot be opened with the keys at hand", r.Handle),
		"forget it, or replace it by a new text with supersedes", "bring it back from a backup: stele key status tells which keys there are")
}

// unreadableLast puts what cannot be shown behind everything that can; nothing else changes its place.
func unreadableLast(best []ranked, records []Record) []ranked {
	unshown := func(b ranked) bool {
		return slices.ContainsFunc(records, func(r Record) bool { return r.ID == b.ID && r.Unreadable() })
	}
	if !slices.ContainsFunc(records, func(r Record) bool { return r.Unreadable() }) {
		return best
	}
	last := slices.Clone(best)
	slices.SortStableFunc(last, func(a, b ranked) int {
		switch x, y := unshown(a), unshown(b); {
		case x == y:
			return 0
		case x:
			return 1
		default:
			return -1
		}
	})
	return last
}
