package embedded

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/stele-dev/stele/internal/postgres"
)

// Status is what `stele db status` tells about the embedded cluster.
type Status struct {
	Running     bool              `json:"running"`
	DataDir     string            `json:"data_dir"`
	SocketDir   string            `json:"socket_dir"`
	Log         string            `json:"log"`
	Supervisor  int               `json:"supervisor_pid,omitempty"`
	Server      int               `json:"server_pid,omitempty"`
	StartedAt   *time.Time        `json:"started_at,omitempty"`
	Major       int               `json:"postgres_major"`             // release that wrote the data; 0: no cluster yet
	Version     string            `json:"postgres_version,omitempty"` // of the running server
	BinDir      string            `json:"bin_dir,omitempty"`          // of the running server
	Vector      string            `json:"pgvector_version,omitempty"` // as created in the database
	Migration   *postgres.Version `json:"migration,omitempty"`        // of the running server
	Connections int               `json:"connections"`                // sessions of clients, this one left out
	SizeBytes   int64             `json:"size_bytes"`                 // of the cluster on disk
	LastBackup  *time.Time        `json:"last_backup,omitempty"`      // newest backup in the data folder
	Verified    *time.Time        `json:"backup_verified,omitempty"`  // when a backup was last proved by restoring it
}

// Running tells whether the cluster is up. Nothing is started, and one that starts is not waited for.
func (c *Cluster) Running(ctx context.Context) bool {
	supervised, err := c.folder.supervised()
	return err == nil && supervised && c.folder.bootstrapped() && c.folder.answers(ctx)
}

// Status looks without starting anything.
func (c *Cluster) Status(ctx context.Context) (Status, error) {
	f := c.folder
	s := Status{DataDir: f.dir, SocketDir: f.socketDir, Log: f.logFile()}
	var err error
	if s.Major, err = f.major(); err != nil {
		return s, err
	}
	if s.SizeBytes, err = diskUsage(f.dataDir()); err != nil {
		return s, err
	}
	if found, err := f.backupsOf(""); err == nil && len(found) > 0 {
		s.LastBackup = &found[0].at
	}
	if info, err := os.Stat(f.verifiedFile()); err == nil {
		at := info.ModTime()
		s.Verified = &at
	}
	supervised, err := f.supervised()
	if err != nil || !supervised || !f.answers(ctx) {
		return s, err
	}
	st, err := f.readState()
	if err != nil {
		return s, err
	}
	s.Running = true
	s.Supervisor, s.Server, s.StartedAt = st.Supervisor, st.Server, &st.StartedAt
	s.Version, s.BinDir = st.Installation.Version, st.Installation.BinDir
	if !f.bootstrapped() {
		return s, nil
	}
	return s, c.askServer(ctx, &s)
}

func (c *Cluster) askServer(ctx context.Context, s *Status) error {
	dsns, err := c.DSNs()
	if err != nil {
		return err
	}
	conn, err := pgx.Connect(ctx, dsns.Admin)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	err = conn.QueryRow(ctx, `
		SELECT coalesce((SELECT extversion FROM pg_extension WHERE extname = 'vector'), ''),
		       (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid())`).Scan(&s.Vector, &s.Connections)
	if err != nil {
		return err
	}
	v, err := postgres.ReadVersion(ctx, conn)
	s.Migration = &v
	return err
}

// diskUsage sums the sizes of the files in a folder, 0 when it is not there. Files may come and go meanwhile.
func diskUsage(dir string) (int64, error) {
	var total int64
	err := filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			var info fs.FileInfo
			if info, err = entry.Info(); err == nil {
				total += info.Size()
			}
		}
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		return err
	})
	return total, err
}

// Stop stops the cluster whoever uses it, and returns when it is down. Nothing to stop is no error. Processes that use
// it start it again when they next need it.
func (c *Cluster) Stop(ctx context.Context) error {
	f := c.folder
	if !exists(f.path()) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	// Nobody may be starting it meanwhile.
	lock, err := lockFile(ctx, f.startFile(), exclusive)
	if err != nil {
		return err
	}
	defer lock.Close()
	return c.stopUnderLock(ctx)
}

func (c *Cluster) stopUnderLock(ctx context.Context) error {
	f := c.folder
	for signalled := false; ; {
		supervised, err := f.supervised()
		if err != nil {
			return err
		}
		if !supervised {
			break
		}
		if !signalled {
			// The lock says that a supervisor is alive; it writes its state as soon as it has it.
			if st, err := f.readState(); err == nil && st.Supervisor > 1 {
				if err := signalProcess(st.Supervisor, stopSupervisor); err != nil {
					return err
				}
				signalled = true
			}
		}
		if err := pause(ctx, 5*time.Millisecond); err != nil {
			return f.notReady("it does not stop")
		}
	}
	c.reap()
	return f.stopStrays(ctx)
}
