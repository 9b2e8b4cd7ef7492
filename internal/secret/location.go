package secret

import (
	"encoding/binary"
	"strconv"

	"github.com/google/uuid"
)

// Location is the place a ciphertext belongs to, together with the organization of the Keys that seal it.
type Location struct {
	Table, Column string
	Row           []string // the primary key without org_id, in its order; Row makes it
}

// Row is the primary key of a row: its id, and whatever numbers the key has beside it (a revision, an ordinal).
func Row(id uuid.UUID, more ...int64) []string {
	row := make([]string, 0, 1+len(more))
	row = append(row, id.String())
	for _, n := range more {
		row = append(row, strconv.FormatInt(n, 10))
	}
	return row
}

// associatedData encodes organization and location so that two places never share an encoding: a version, the 16 bytes of
// the organization, then each text behind its length and the number of key parts before them.
func (l Location) associatedData(org uuid.UUID) []byte {
	size := 1 + len(org) + 3*4 + len(l.Table) + len(l.Column)
	for _, part := range l.Row {
		size += 4 + len(part)
	}
	ad := make([]byte, 0, size)
	ad = append(ad, 1)
	ad = append(ad, org[:]...)
	ad = appendText(ad, l.Table)
	ad = appendText(ad, l.Column)
	ad = binary.BigEndian.AppendUint32(ad, uint32(len(l.Row))) //nolint:gosec // a primary key has a handful of parts
	for _, part := range l.Row {
		ad = appendText(ad, part)
	}
	return ad
}

func appendText(b []byte, text string) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(len(text))) //nolint:gosec // names and keys are far below 4 GB
	return append(b, text...)
}
