// Package embedded runs the installed PostgreSQL programs as a private cluster in Stele's data folder, so that nobody
// has to set up a database server.
//
// Who does what:
//   - A client (any stele process) calls Cluster.Start. It holds a shared lock on the file "clients" as long as it lives;
//     the kernel drops it however the process ends, so who is still there is always known.
//   - One supervisor per data folder (Supervise, the hidden `stele db run`) is the server's parent. It is started by the
//     first client, restarts a server that died, takes the nightly backup, and stops the server and itself once no
//     client has been there for the idle time. It holds the file "supervisor" locked as long as it lives.
//   - The server listens on a unix socket only, asks for a scram password, and writes through to the disk as PostgreSQL
//     does by default.
//
// Everything here runs under the file lock "start", or tolerates that another process does the same.
package embedded

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stele-dev/stele/internal/postgres"
	"github.com/stele-dev/stele/internal/postgres/installation"
	"github.com/stele-dev/stele/internal/problem"
)

// Config says where the cluster lives and how it runs. Zero values mean the defaults. It travels to the supervisor as JSON.
type Config struct {
	// DataDir is Stele's data folder (STELE_DATA_DIR); default DefaultDataDir().
	DataDir string `json:"data_dir"`
	// BinDir holds postgres and initdb (STELE_POSTGRES_BIN); default: the newest usable installation found.
	BinDir string `json:"bin_dir"`
	// Idle is how long the cluster stays up without a client (STELE_DB_IDLE); default 10 minutes.
	Idle time.Duration `json:"idle"`
	// Supervisor is the command that calls Supervise, without arguments of its own; default this very program with
	// "db run". The data folder is added as the last argument, for people who read process lists.
	Supervisor []string `json:"supervisor"`
	// MaxConnections of the server; default 60.
	MaxConnections int `json:"max_connections"`
	// Unsafe gives up durability for speed (fsync off); for tests only.
	Unsafe bool `json:"unsafe"`
}

const (
	defaultIdle           = 10 * time.Minute
	defaultMaxConnections = 60
	startTimeout          = 2 * time.Minute // crash recovery of a large cluster may take this long
	stopTimeout           = 60 * time.Second
	database              = "stele"
	adminRole             = "postgres" // the superuser that initdb makes; used to prepare, back up and restore only
)

// DSNs are the addresses of the cluster's database, one for each role. They hold passwords.
type DSNs struct {
	App   string // stele_app: what serves
	Owner string // stele_owner: what migrates
	Admin string // the superuser: what backs up and restores; nothing else may use it
}

// Cluster is the handle on one data folder. It is safe for concurrent use.
type Cluster struct {
	cfg    Config
	folder folder

	mu      sync.Mutex
	clients *os.File // locked shared from Start until Close
	spawned []int    // supervisors that are this process's children, to be reaped when they have ended
}

// New resolves the configuration. It touches nothing; Start does.
func New(cfg Config) (*Cluster, error) {
	if err := supportedSystem(); err != nil {
		return nil, err
	}
	if cfg.DataDir == "" {
		dir, err := DefaultDataDir()
		if err != nil {
			return nil, err
		}
		cfg.DataDir = dir
	}
	dir, err := filepath.Abs(cfg.DataDir)
	if err != nil {
		return nil, fmt.Errorf("resolving the data folder %s: %w", cfg.DataDir, err)
	}
	cfg.DataDir = dir
	if cfg.Idle == 0 {
		cfg.Idle = defaultIdle
	}
	if cfg.Idle < 0 {
		return nil, problem.Invalidf("STELE_DB_IDLE", "%v is no time to stay up", cfg.Idle).Fix("use a duration such as 10m")
	}
	if cfg.MaxConnections == 0 {
		cfg.MaxConnections = defaultMaxConnections
	}
	if len(cfg.Supervisor) == 0 {
		self, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("finding this program: %w", err)
		}
		cfg.Supervisor = []string{self, "db", "run"}
	}
	account, err := serverAccount()
	if err != nil {
		return nil, err
	}
	return &Cluster{cfg: cfg, folder: newFolder(dir, account)}, nil
}

// DefaultDataDir is $XDG_DATA_HOME/stele or ~/.local/share/stele; for root it is /var/lib/stele, because the server
// cannot run as root and the user it runs as cannot enter root's home.
func DefaultDataDir() (string, error) {
	if os.Geteuid() == 0 {
		return "/var/lib/stele", nil
	}
	if dir := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) { // the specification says to ignore relative paths
		return filepath.Join(dir, "stele"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", problem.New(problem.Unavailable, "STELE_DATA_DIR", "there is no home folder to keep data in: "+err.Error(),
			"name a folder in STELE_DATA_DIR")
	}
	return filepath.Join(home, ".local", "share", "stele"), nil
}

// Start makes sure that the cluster is up and ready, creating it on the first call ever, and keeps it up until Close or
// the end of the process. With the cluster up it takes a millisecond. It does not migrate: postgres.Open does.
func (c *Cluster) Start(ctx context.Context) (DSNs, error) {
	if err := c.hold(ctx); err != nil {
		return DSNs{}, err
	}
	if err := c.Ensure(ctx); err != nil {
		return DSNs{}, err
	}
	secrets, err := c.folder.readSecrets()
	if err != nil {
		return DSNs{}, err
	}
	return c.dsns(secrets), nil
}

// Open is Start and then postgres.Open: the database is migrated (after a backup, when it holds data), and the pool
// brings the cluster back when it went down. Close the database before the cluster.
func (c *Cluster) Open(ctx context.Context) (*postgres.DB, error) {
	dsns, err := c.Start(ctx)
	if err != nil {
		return nil, err
	}
	return postgres.Open(ctx, postgres.Config{
		URL:           dsns.App,
		OwnerURL:      dsns.Owner,
		BeforeConnect: c.Ensure,
		BeforeMigrate: func(ctx context.Context, _, _ int64) error {
			_, err := c.BackupBefore(ctx, "migration")
			return err
		},
	})
}

// Ensure starts the cluster again if it went down since Start (postgres.Config.BeforeConnect): `stele db stop`, a
// restore or a crash must not end the processes that use it. The addresses that Start gave stay valid.
func (c *Cluster) Ensure(ctx context.Context) error {
	deadline := time.Now().Add(startTimeout)
	for {
		supervised, err := c.folder.supervised()
		if err != nil {
			return err
		}
		switch {
		case supervised && c.folder.bootstrapped() && c.folder.answers(ctx):
			return nil
		case !supervised || !c.folder.bootstrapped():
			return c.startUnderLock(ctx, deadline)
		case time.Now().After(deadline):
			return c.folder.notReady("it does not answer on its socket")
		}
		// A supervisor without an answering server is restarting or stopping it.
		if err := pause(ctx, 5*time.Millisecond); err != nil {
			return err
		}
	}
}

// Close lets the cluster stop when no other process uses it.
func (c *Cluster) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.clients == nil {
		return nil
	}
	// The idle time counts from here.
	err := errors.Join(touch(c.folder.clientsFile()), c.clients.Close())
	c.clients = nil
	return err
}

// DSNs gives the addresses without starting anything; the cluster must have been created.
func (c *Cluster) DSNs() (DSNs, error) {
	secrets, err := c.folder.readSecrets()
	if err != nil {
		return DSNs{}, err
	}
	return c.dsns(secrets), nil
}

// hold takes the client's shared lock. It waits while the supervisor is about to stop, which takes moments.
func (c *Cluster) hold(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.clients != nil {
		return nil
	}
	if err := c.folder.create(); err != nil {
		return err
	}
	f, err := lockFile(ctx, c.folder.clientsFile(), shared)
	if err != nil {
		return err
	}
	if err := touch(c.folder.clientsFile()); err != nil {
		return errors.Join(err, f.Close())
	}
	c.clients = f
	return nil
}

// startUnderLock creates what is missing and starts the supervisor. Only one process does so at a time; the others find
// everything done when their turn comes.
func (c *Cluster) startUnderLock(ctx context.Context, deadline time.Time) (err error) {
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	lock, err := lockFile(ctx, c.folder.startFile(), exclusive)
	if err != nil {
		return err
	}
	defer lock.Close()
	supervised, err := c.folder.supervised()
	if err != nil {
		return err
	}
	if !supervised {
		c.reap()
		inst, err := c.installation(ctx)
		if err != nil {
			return err
		}
		if err := c.folder.checkOwner(); err != nil {
			return err
		}
		if err := c.folder.stopStrays(ctx); err != nil {
			return err
		}
		secrets, err := c.folder.ensureSecrets()
		if err != nil {
			return err
		}
		if err := c.folder.ensureCluster(ctx, inst, secrets, c.cfg.Unsafe); err != nil {
			return err
		}
		if err := c.spawnSupervisor(ctx, inst); err != nil {
			return err
		}
	}
	if c.folder.bootstrapped() {
		return nil
	}
	secrets, err := c.folder.readSecrets()
	if err != nil {
		return err
	}
	if err := bootstrap(ctx, c.folder, secrets); err != nil {
		return err
	}
	return c.folder.markBootstrapped()
}

// installation picks the programs: of the release that made the cluster, or for a new one the newest.
func (c *Cluster) installation(ctx context.Context) (installation.Installation, error) {
	major, err := c.folder.major()
	if err != nil {
		return installation.Installation{}, err
	}
	if major == 0 {
		return installation.Find(ctx, c.cfg.BinDir)
	}
	return findMajor(ctx, c.cfg.BinDir, major)
}

// findMajor finds programs of one release.
func findMajor(ctx context.Context, binDir string, major int) (installation.Installation, error) {
	if binDir == "" {
		for _, i := range installation.All(ctx) {
			if i.Major == major {
				return i, i.Check()
			}
		}
	}
	newest, err := installation.Find(ctx, binDir)
	if err != nil {
		return newest, err
	}
	if newest.Major != major {
		return newest, problem.New(problem.Unavailable, "",
			fmt.Sprintf("the data was written by PostgreSQL %d, and PostgreSQL %s is what there is in %s", major, newest.Version, newest.BinDir),
			"run: stele db upgrade", fmt.Sprintf("or install PostgreSQL %d again", major))
	}
	return newest, nil
}

func (c *Cluster) dsns(s secrets) DSNs { return c.folder.dsns(s, database) }

func (f folder) dsns(s secrets, database string) DSNs {
	return DSNs{
		App:   f.dsn(postgres.AppRole, s.App, database),
		Owner: f.dsn(postgres.OwnerRole, s.Owner, database),
		Admin: f.dsn(adminRole, s.Admin, database),
	}
}

func (f folder) dsn(role, password, database string) string {
	// sslmode and the other options are of no use on a socket, but the environment may set them.
	query := url.Values{"host": {f.socketDir}, "sslmode": {"disable"}, "port": {socketPort}}
	return "postgres://" + url.UserPassword(role, password).String() + "@/" + database + "?" +
		strings.ReplaceAll(query.Encode(), "+", "%20")
}

// bootstrap prepares roles and database by the code that prepares any other server.
func bootstrap(ctx context.Context, f folder, s secrets) error {
	return postgres.Bootstrap(ctx, f.dsns(s, "postgres").Admin, postgres.Roles{
		Database: database, OwnerPassword: s.Owner, AppPassword: s.App,
	})
}

// reap collects supervisors that this process started and that have ended.
func (c *Cluster) reap() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.spawned = slices.DeleteFunc(c.spawned, reap)
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
