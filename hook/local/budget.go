package local

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/stele-dev/stele/internal/filelock"
)

// budget is what was spent on a day of this machine.
type budget struct {
	Day    string `json:"day"`
	Tokens int    `json:"tokens"`
}

// mostTokens of one question are believed: who counts more has lost count.
const mostTokens = 1 << 20

func (f Folder) budget() string { return filepath.Join(string(f), "summary-budget.json") }

// Spent is how many tokens summaries have cost on the day of now.
func (f Folder) Spent(now time.Time) int {
	var b budget
	if f == "" || f.load(f.budget(), &b) != nil || b.Day != now.Format(time.DateOnly) {
		return 0
	}
	return max(0, b.Tokens)
}

// Reserve takes tokens out of what may be spent on the day of now, before they are: of hooks that end at once, each counts. It gives false
// where they are more than what is left. Without a folder nothing can be counted, so nothing may be spent.
func (f Folder) Reserve(ctx context.Context, now time.Time, tokens, daily int) (bool, error) {
	if f == "" {
		return false, nil
	}
	ok := false
	err := f.spend(ctx, now, func(spent int) int {
		if ok = tokens <= daily-spent; ok {
			return spent + tokens
		}
		return spent
	})
	return ok, err
}

// Settle corrects what was reserved to what was spent.
func (f Folder) Settle(ctx context.Context, now time.Time, reserved, spent int) error {
	if spent = min(max(0, spent), mostTokens); f == "" || spent == reserved {
		return nil
	}
	return f.spend(ctx, now, func(all int) int { return max(0, all+spent-reserved) })
}

// spend changes what was spent while nobody else does.
func (f Folder) spend(ctx context.Context, now time.Time, change func(spent int) int) error {
	lock, err := filelock.Wait(ctx, f.budget()+".lock")
	if err != nil {
		return err
	}
	defer func() { _ = lock.Release() }() // nothing is written through it
	before := f.Spent(now)
	after := change(before)
	if after == before {
		return nil
	}
	if err := f.store(f.budget(), budget{now.Format(time.DateOnly), after}); err != nil {
		return fmt.Errorf("counting tokens: %w", err)
	}
	return nil
}
