package main

import (
	"context"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/internal/postgres"
)

// analyze has the planner learn about tables that were just filled. A process without the owner's address leaves that to
// PostgreSQL, which runs on and does so by itself.
func (u *upkeep) analyze(ctx context.Context) {
	if u.owner == "" {
		return
	}
	err := survive(ctx, uuid.Nil, func(ctx context.Context, _ uuid.UUID) error {
		stale, err := u.db.StaleStatistics(ctx)
		if err != nil || len(stale) == 0 {
			return err
		}
		if err := postgres.Analyze(ctx, u.owner, stale); err != nil {
			return err
		}
		u.log.DebugContext(ctx, "analyzed tables", "tables", stale)
		return nil
	})
	if err != nil && ctx.Err() == nil {
		u.log.WarnContext(ctx, "upkeep failed to analyze tables", "error", err)
	}
}
