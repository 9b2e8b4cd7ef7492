package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/stele-dev/stele/internal/postgres"
	"github.com/stele-dev/stele/internal/postgres/installation"
	"github.com/stele-dev/stele/internal/problem"
)

// Upgrade carries the cluster over to the newest usable PostgreSQL installed, by a logical backup: a fresh one when the
// programs that wrote the data are still installed, else the newest in the data folder. The old cluster is kept beside
// the new one. report gets a line for people for each step. Whatever fails leaves the old cluster in place.
func (c *Cluster) Upgrade(ctx context.Context, report func(string)) error {
	if err := c.folder.create(); err != nil {
		return err
	}
	newest, err := installation.Find(ctx, c.cfg.BinDir)
	if err != nil {
		return err
	}
	major, err := c.folder.major()
	if err != nil {
		return err
	}
	switch {
	case major == 0:
		report("there is no cluster yet: it will be made by PostgreSQL " + newest.Version)
		return nil
	case major == newest.Major:
		report(fmt.Sprintf("the data is PostgreSQL %d's, the newest installed: nothing to do", major))
		return nil
	case major > newest.Major:
		return problem.New(problem.Unavailable, "", fmt.Sprintf("the data was written by PostgreSQL %d, the newest installed is %s", major, newest.Version),
			fmt.Sprintf("install PostgreSQL %d or later", major))
	}
	var old *installation.Installation
	for _, i := range installation.All(ctx) {
		if i.Major == major && i.Vector != "" {
			old = &i
			break
		}
	}
	return c.carryOver(ctx, major, old, newest, report)
}

// carryOver replaces the cluster of release major by one made by the programs of newest. old are the programs that wrote
// the data, nil when they are gone.
func (c *Cluster) carryOver(ctx context.Context, major int, old *installation.Installation, newest installation.Installation, report func(string)) error {
	f := c.folder
	// Whoever wants the cluster meanwhile waits.
	lock, err := lockFile(ctx, f.startFile(), exclusive)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := c.stopUnderLock(ctx); err != nil {
		return err
	}
	s, err := f.readSecrets()
	if err != nil {
		return err
	}
	dump, err := c.dumpForUpgrade(ctx, major, old, s, report)
	if err != nil {
		return err
	}
	fresh, err := f.initCluster(ctx, newest, s, c.cfg.Unsafe)
	if err != nil {
		return err
	}
	report("made a new cluster with PostgreSQL " + newest.Version)
	err = c.withServer(ctx, newest, fresh, func() error {
		if err := bootstrap(ctx, f, s); err != nil {
			return err
		}
		return postgres.Restore(ctx, newest, f.dsns(s, database).Admin, dump, nil)
	})
	if err != nil {
		return errors.Join(err, os.RemoveAll(fresh))
	}
	kept := f.path("data." + strconv.Itoa(major) + "-" + time.Now().UTC().Format("20060102-150405"))
	if err := os.Rename(f.dataDir(), kept); err != nil {
		return fmt.Errorf("putting the old cluster aside: %w", err)
	}
	if err := os.Rename(fresh, f.dataDir()); err != nil {
		// Back to where it was: the old cluster is whole.
		return errors.Join(fmt.Errorf("moving the new cluster into place: %w", err), os.Rename(kept, f.dataDir()))
	}
	report(fmt.Sprintf("the data now is PostgreSQL %d's; the old cluster is kept in %s, remove it when all is well", newest.Major, kept))
	return errors.Join(syncDir(f.path()), f.markBootstrapped())
}

// dumpForUpgrade gives the backup from which the new cluster is filled.
func (c *Cluster) dumpForUpgrade(ctx context.Context, major int, old *installation.Installation, s secrets, report func(string)) (string, error) {
	f := c.folder
	if old != nil {
		dump := f.backupFile(beforeBackup+"-upgrade", time.Now())
		err := c.withServer(ctx, *old, f.dataDir(), func() error {
			return postgres.Backup(ctx, *old, f.dsns(s, database).Admin, dump)
		})
		if err != nil {
			return "", err
		}
		report(fmt.Sprintf("backed up everything with PostgreSQL %s into %s", old.Version, dump))
		return dump, nil
	}
	b, err := f.newestBackup()
	if err != nil {
		return "", problem.New(problem.Unavailable, "",
			fmt.Sprintf("PostgreSQL %d, which wrote the data, is not installed any more, and there is no backup in %s", major, f.backupDir()),
			fmt.Sprintf("install PostgreSQL %d beside the new one and run stele db upgrade again", major)).Because(err)
	}
	report(fmt.Sprintf("PostgreSQL %d is not installed any more: using the backup of %s, %s (what was written later is only in the old cluster)",
		major, b.at.Format(time.DateTime), b.file))
	return b.file, nil
}

// withServer runs a server on a cluster without a supervisor for the time of fn.
func (c *Cluster) withServer(ctx context.Context, inst installation.Installation, dataDir string, fn func() error) error {
	p, err := server{folder: c.folder, inst: inst, dataDir: dataDir, maxConnections: c.cfg.MaxConnections, unsafe: c.cfg.Unsafe}.start(ctx)
	if err != nil {
		return err
	}
	err = fn()
	return errors.Join(err, p.stop(context.WithoutCancel(ctx)))
}
