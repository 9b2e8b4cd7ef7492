package main

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// dropSessions removes work sessions that are over for longer than the operator keeps them.
func (u *upkeep) dropSessions(ctx context.Context, org uuid.UUID) error {
	n, err := u.domain.DropSessions(ctx, org, time.Duration(u.config.KeepSessions))
	if n.Sessions+n.FollowUps > 0 {
		u.log.InfoContext(ctx, "dropped old work sessions", "organization", org, "sessions", n.Sessions, "follow_ups", n.FollowUps)
	}
	return err
}

// dropRuns removes runs that are older than the operator keeps them.
func (u *upkeep) dropRuns(ctx context.Context, org uuid.UUID) error {
	n, err := u.domain.DropRuns(ctx, org, time.Duration(u.config.KeepRuns))
	if n.Runs+n.Models+n.Imports > 0 {
		u.log.InfoContext(ctx, "dropped old runs", "organization", org, "runs", n.Runs, "models", n.Models, "imports", n.Imports)
	}
	return err
}
