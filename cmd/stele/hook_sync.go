package main

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/stele-dev/stele/hook"
	"github.com/stele-dev/stele/hook/local"
	"github.com/stele-dev/stele/importer/folder"
	"github.com/stele-dev/stele/internal/filelock"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

// syncLimit bounds a sync that a hook started: nobody looks after it.
const syncLimit = 10 * time.Minute

// syncKept starts, in a process of its own, what keeps the folder of a project, where one is kept, when a conversation starts or ends.
func (t *telling) syncKept(project uuid.UUID) {
	if t.event != hook.Start && t.event != hook.End || t.detached == nil {
		return
	}
	if _, kept := t.hooks().Kept(project.String()); kept && t.detached("hook", "sync", project.String()) != nil {
		_ = t.hooks().Log(local.Entry{At: time.Now().UTC(), Client: local.Self, Event: local.Sync, Outcome: local.Untold, Reason: "cannot be started"})
	}
}

func (a *app) hookSyncCommand() *cobra.Command {
	return &cobra.Command{
		Use: "sync PROJECT", Hidden: true, Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			kept, is := a.hooks().Kept(args[0])
			if !is {
				return nil // it was let go of meanwhile
			}
			began := time.Now()
			ctx, cancel := context.WithTimeout(cmd.Context(), syncLimit)
			defer cancel()
			a.project, a.dir = args[0], kept.Place
			r, err := a.syncInTurn(ctx, kept)
			if errors.Is(err, filelock.ErrHeld) {
				return nil // another one waits for its turn, and will see what this one would
			}
			e := local.Entry{At: began.UTC(), Client: local.Self, Event: local.Sync, Milliseconds: time.Since(began).Milliseconds(), Outcome: local.Synced,
				Written: len(r.Written) + len(r.Removed), Taken: len(r.Remembered) + len(r.Edited) + len(r.Retired), Conflicts: len(r.Conflicts) + len(r.Refused)}
			if err != nil {
				e.Outcome, e.Reason = local.Untold, codeOf(err)
			}
			_ = a.hooks().Log(e) // a log that cannot be written stops nobody
			return err
		},
	}
}

// syncInTurn syncs a kept folder. Of those that would wait for another one to end, one does; the others get ErrHeld.
func (a *app) syncInTurn(ctx context.Context, kept local.Kept) (r folder.Report, err error) {
	// A folder that is not there, on another branch or a disk that is away, is not made: somebody would find it in the wrong place.
	if info, err := os.Stat(kept.Dir); err != nil || !info.IsDir() {
		return r, problem.New(problem.NotFound, "dir", "the folder is not there", "stele sync DIR --keep names another one").Because(err)
	}
	err = a.with(ctx, true, func(b *backend, c memory.Caller) error {
		o, err := syncOptions(b.config, c, kept.Dir, kept.Layout, kept.Deleted)
		if err != nil {
			return err
		}
		next, err := filelock.Try(o.State + ".next")
		if err != nil {
			return err
		}
		released := false
		o.Began = func() { released = next.Release() == nil }
		r, err = folder.Sync(ctx, b, c, o)
		if !released {
			err = errors.Join(err, next.Release())
		}
		return err
	})
	return r, err
}
