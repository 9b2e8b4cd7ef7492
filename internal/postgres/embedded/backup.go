package embedded

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/stele-dev/stele/internal/postgres"
	"github.com/stele-dev/stele/internal/postgres/installation"
	"github.com/stele-dev/stele/internal/problem"
)

// Kinds of automatic backups, the first part of a file's name, and how many of a kind are kept.
const (
	nightlyBackup = "nightly"
	beforeBackup  = "before" // something risky
	backupsKept   = 7
	// backupEvery is the age at which the newest nightly backup gets a successor. A laptop is rarely on at a fixed hour.
	backupEvery = 24 * time.Hour
	// backupAfter keeps the first minute for the person who just started Stele.
	backupAfter = time.Minute
	// backupRetry is how long a backup that failed, or for which there was nothing yet, is not tried again.
	backupRetry = 30 * time.Minute
)

// Backup writes a logical backup of the database into file; it starts the cluster when it is down.
func (c *Cluster) Backup(ctx context.Context, file string) error {
	inst, admin, err := c.Administer(ctx)
	if err != nil {
		return err
	}
	return postgres.Backup(ctx, inst, admin, file)
}

// BackupBefore takes a backup before something risky into the data folder and returns the file. reason is a word for
// the file's name; the last seven are kept.
func (c *Cluster) BackupBefore(ctx context.Context, reason string) (string, error) {
	if err := c.folder.create(); err != nil {
		return "", err
	}
	file := c.folder.backupFile(beforeBackup+"-"+reason, time.Now())
	if err := c.Backup(ctx, file); err != nil {
		return "", fmt.Errorf("backup before %s: %w", reason, err)
	}
	return file, c.folder.pruneBackups(beforeBackup)
}

// Restore replaces the data by that of a backup. When that has proved good, the data there was is backed up into the
// file it returns ("" when it did not come to that). What fails leaves the data as it was.
func (c *Cluster) Restore(ctx context.Context, file string) (before string, err error) {
	inst, admin, err := c.Administer(ctx)
	if err != nil {
		return "", err
	}
	err = postgres.Restore(ctx, inst, admin, file, func(ctx context.Context) error {
		before, err = c.BackupBefore(ctx, "restore")
		return err
	})
	return before, err
}

// Administer starts the cluster when it is down and gives what backups are made and tried with: the programs of its server
// and the superuser's address of its database.
func (c *Cluster) Administer(ctx context.Context) (programs installation.Installation, adminURL string, err error) {
	dsns, err := c.Start(ctx)
	if err != nil {
		return installation.Installation{}, "", err
	}
	programs, err = c.running()
	return programs, dsns.Admin, err
}

// Verified notes that a backup of this cluster has just been verified, for Status.
func (c *Cluster) Verified() error { return writeAtomically(c.folder.verifiedFile(), nil, 0o600) }

// running gives the programs of the server that runs.
func (c *Cluster) running() (installation.Installation, error) {
	st, err := c.folder.readState()
	if err != nil {
		return installation.Installation{}, fmt.Errorf("reading the supervisor's state: %w", err)
	}
	return st.Installation, nil
}

// verifiedFile is as old as the last verification of a backup.
func (f folder) verifiedFile() string { return f.path("backup-verified") }

func (f folder) backupFile(kind string, at time.Time) string {
	return filepath.Join(f.backupDir(), kind+"-"+at.UTC().Format("20060102-150405.000")+".dump")
}

// backupsOf lists the backups of a kind ("" for all), newest first.
func (f folder) backupsOf(kind string) ([]backupInfo, error) {
	pattern := "*.dump"
	if kind != "" {
		pattern = kind + "-*.dump"
	}
	names, err := filepath.Glob(filepath.Join(f.backupDir(), pattern))
	if err != nil {
		return nil, err
	}
	var found []backupInfo
	for _, name := range names {
		info, err := os.Stat(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		found = append(found, backupInfo{file: name, at: info.ModTime()})
	}
	sort.Slice(found, func(a, b int) bool { return found[a].at.After(found[b].at) })
	return found, nil
}

type backupInfo struct {
	file string
	at   time.Time
}

// pruneBackups keeps the newest of a kind.
func (f folder) pruneBackups(kind string) error {
	found, err := f.backupsOf(kind)
	if err != nil {
		return err
	}
	for _, b := range found[min(backupsKept, len(found)):] {
		if err := os.Remove(b.file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// backups takes the nightly backups in a goroutine of the supervisor.
type backups struct {
	s       *supervisor
	after   time.Time // nothing is tried before
	wakeups chan struct{}
	working atomic.Bool
	cancel  context.CancelFunc
	done    sync.WaitGroup
}

func startBackups(ctx context.Context, s *supervisor) *backups {
	ctx, cancel := context.WithCancel(ctx)
	b := &backups{s: s, after: s.now().Add(backupAfter), wakeups: make(chan struct{}, 1), cancel: cancel}
	b.done.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-b.wakeups:
			}
			b.working.Store(true)
			if err := b.nightly(ctx); err != nil && ctx.Err() == nil {
				s.log.Error("nightly backup failed", "error", err)
			}
			b.working.Store(false)
		}
	})
	return b
}

// wake looks whether a backup is due; it does not wait for it.
func (b *backups) wake() {
	select {
	case b.wakeups <- struct{}{}:
	default:
	}
}

// busy tells whether a backup is being taken.
func (b *backups) busy() bool { return b.working.Load() }

// stop ends a backup that is being taken and waits for it; nothing of it remains.
func (b *backups) stop() {
	b.cancel()
	b.done.Wait()
}

// nightly takes a backup when one is due.
func (b *backups) nightly(ctx context.Context) error {
	f, now := b.s.folder, b.s.now()
	if now.Before(b.after) {
		return nil
	}
	due, err := f.backupDue(now)
	if err != nil || !due {
		return err
	}
	b.after = now.Add(backupRetry)
	return f.nightlyBackup(ctx, b.s.server.inst, now)
}

// backupDue tells whether the newest nightly backup is old enough for a successor.
func (f folder) backupDue(now time.Time) (bool, error) {
	found, err := f.backupsOf(nightlyBackup)
	return len(found) == 0 || now.Sub(found[0].at) >= backupEvery, err
}

// nightlyBackup takes a nightly backup, unless there is nothing in the database, and removes the oldest.
func (f folder) nightlyBackup(ctx context.Context, inst installation.Installation, now time.Time) error {
	s, err := f.readSecrets()
	if err != nil {
		return err
	}
	admin := f.dsns(s, database).Admin
	if empty, err := neverMigrated(ctx, admin); err != nil || empty {
		return err
	}
	if err := postgres.Backup(ctx, inst, admin, f.backupFile(nightlyBackup, now)); err != nil {
		return err
	}
	return f.pruneBackups(nightlyBackup)
}

// neverMigrated tells whether there is nothing to back up yet.
func neverMigrated(ctx context.Context, admin string) (bool, error) {
	conn, err := pgx.Connect(ctx, admin)
	if err != nil {
		if postgres.SQLState(err) == "3D000" {
			return true, nil
		}
		return false, err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	v, err := postgres.ReadVersion(ctx, conn)
	return v.Current == 0, err
}

// newestBackup gives the newest backup of any kind for an upgrade without the old programs.
func (f folder) newestBackup() (backupInfo, error) {
	found, err := f.backupsOf("")
	if err != nil {
		return backupInfo{}, err
	}
	if len(found) == 0 {
		return backupInfo{}, problem.New(problem.NotFound, "", "there is no backup in "+f.backupDir())
	}
	return found[0], nil
}
