package postgres

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/stele-dev/stele/internal/postgres"
	"github.com/stele-dev/stele/memory"
)

// Impress records what a session was shown, in one round trip that does not wait for the disk.
func (s *Store) Impress(ctx context.Context, org uuid.UUID, session string, at time.Time, shown []memory.Impression) error {
	ids := make([]uuid.UUID, len(shown))
	revisions := make([]int32, len(shown))
	doors := make([]string, len(shown))
	doubted := make([]*time.Time, len(shown))
	for i, im := range shown {
		if !im.DoubtedAt.IsZero() {
			doubted[i] = &im.DoubtedAt
		}
		ids[i], revisions[i], doors[i] = im.Memory, int32(im.Revision), string(im.Door) //nolint:gosec // a revision counts edits
	}
	return s.db.Batch(ctx, org, postgres.TxOptions{}, func(b *pgx.Batch) {
		b.Queue(`SET LOCAL synchronous_commit = off`)
		// Ordered, so that two sessions that were shown the same memories never wait in a circle.
		b.Queue(`INSERT INTO impressions (org_id, memory_id, session_id, door, first_at, last_at, revision, doubted_at)
			SELECT DISTINCT ON (s.memory_id, s.door) $1, s.memory_id, $2, s.door, $3::timestamptz, $3::timestamptz, s.revision, s.doubted_at
			FROM unnest($4::uuid[], $5::text[], $6::int[], $7::timestamptz[]) AS s (memory_id, door, revision, doubted_at)
			ORDER BY s.memory_id, s.door, s.revision DESC
			ON CONFLICT (org_id, memory_id, session_id, door) DO UPDATE
			SET last_at = excluded.last_at, revision = excluded.revision, doubted_at = excluded.doubted_at, times = impressions.times + 1`,
			org, session, at, ids, doors, revisions, doubted)
	})
}
