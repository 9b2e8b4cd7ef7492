package embedded

import (
	"context"
	"time"

	"github.com/stele-dev/stele/internal/postgres/installation"
)

// CarryOver is Upgrade with given programs.
func (c *Cluster) CarryOver(ctx context.Context, major int, old *installation.Installation, newest installation.Installation, report func(string)) error {
	return c.carryOver(ctx, major, old, newest, report)
}

// NightlyBackup takes a nightly backup if one is due at that time.
func (c *Cluster) NightlyBackup(ctx context.Context, now time.Time) error {
	due, err := c.folder.backupDue(now)
	if err != nil || !due {
		return err
	}
	inst, err := c.running()
	if err != nil {
		return err
	}
	return c.folder.nightlyBackup(ctx, inst, now)
}

// FreshDir is the folder that a new cluster would be made in.
func (c *Cluster) FreshDir() (string, error) {
	if err := c.folder.create(); err != nil {
		return "", err
	}
	return c.folder.freshDir()
}

// Paths that tests damage or look at.
func (c *Cluster) ServerData() string        { return c.folder.dataDir() }
func (c *Cluster) BackupDir() string         { return c.folder.backupDir() }
func (c *Cluster) PasswordFile() string      { return c.folder.secretsFile() }
func (c *Cluster) Supervised() (bool, error) { return c.folder.supervised() }

// ServerProcesses lists the processes of the cluster's server.
func (c *Cluster) ServerProcesses() []int { return serverProcesses(c.folder.dataDir()) }
