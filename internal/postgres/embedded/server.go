package embedded

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/stele-dev/stele/internal/postgres/installation"
	"github.com/stele-dev/stele/internal/problem"
)

// server is a PostgreSQL server on one cluster.
type server struct {
	folder         folder
	inst           installation.Installation
	dataDir        string // folder.dataDir(), or a new cluster that will take its place
	maxConnections int
	unsafe         bool // see Config.Unsafe
}

// stopWays are tried one after the other until the server has ended.
var stopWays = []struct {
	signal   syscall.Signal
	patience time.Duration
}{
	{fastShutdown, 30 * time.Second}, // writes out what is in memory
	{immediateShutdown, 10 * time.Second},
	{noShutdown, 5 * time.Second},
}

// process is a running server.
type process struct {
	pid  int
	done chan struct{} // closed when the server has ended
}

// settings of the server: a laptop's, with full durability. Read from a file of ours, written at every start, so that
// a new Stele brings its own values.
func (s server) settings() string {
	var b strings.Builder
	set := func(name, value string) { fmt.Fprintf(&b, "%s = '%s'\n", name, strings.ReplaceAll(value, "'", "''")) }
	b.WriteString("# Written by Stele at every start. Put your own settings into local.conf beside this file.\n")
	set("listen_addresses", "") // the socket only
	set("unix_socket_directories", s.folder.socketDir)
	set("unix_socket_permissions", "0700")
	set("port", socketPort)
	set("hba_file", s.folder.path("pg_hba.conf"))
	set("password_encryption", "scram-sha-256")
	set("max_connections", strconv.Itoa(s.maxConnections))
	set("shared_buffers", "128MB")
	set("effective_cache_size", "1GB")
	set("work_mem", "16MB")
	set("maintenance_work_mem", "128MB")
	set("random_page_cost", "1.1") // solid-state disks
	// Compiling a query costs more than any of Stele's queries takes.
	set("jit", "off")
	// Parallel workers share memory in /dev/shm, of which a container has 64 MB; and one query must not take every core.
	set("max_parallel_workers_per_gather", "0")
	set("max_parallel_maintenance_workers", "0")
	// A plan that was made while a table was empty is kept until the table is analysed, and takes any index for as good as
	// the right one: a young database is analysed soon, not within the default minute.
	set("autovacuum_naptime", "5s")
	// Nobody replicates from a private cluster; nightly backups are logical.
	set("wal_level", "minimal")
	set("max_wal_senders", "0")
	set("max_wal_size", "512MB")
	set("logging_collector", "off")
	set("log_line_prefix", "%m [%p] ")
	set("log_checkpoints", "off")
	// Texts are sealed before they get here; statements stay out of the log all the same.
	set("log_min_error_statement", "panic")
	set("timezone", "UTC")
	set("log_timezone", "UTC")
	durable := "on"
	if s.unsafe {
		durable = "off"
	}
	set("fsync", durable)
	set("synchronous_commit", durable)
	set("full_page_writes", durable)
	if local := s.folder.path("local.conf"); exists(local) {
		set("include", local)
	}
	return b.String()
}

// start runs the server and waits until it accepts connections.
func (s server) start(ctx context.Context) (*process, error) {
	if err := s.folder.prepareSocketDir(); err != nil {
		return nil, err
	}
	const readable = 0o644 // by the server's account; no secret is in them
	if err := writeAtomically(s.folder.path("postgresql.conf"), []byte(s.settings()), readable); err != nil {
		return nil, fmt.Errorf("writing the server's settings: %w", err)
	}
	hba := "# Written by Stele at every start.\nlocal all all scram-sha-256\n" //nolint:dupword // every database, every role
	if err := writeAtomically(s.folder.path("pg_hba.conf"), []byte(hba), readable); err != nil {
		return nil, fmt.Errorf("writing the server's access rules: %w", err)
	}
	log, err := openLog(s.folder.logFile())
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command(s.inst.Program("postgres"), "-D", s.dataDir, "-c", "config_file="+s.folder.path("postgresql.conf")) //nolint:noctx // it is stopped by signals, gently
	cmd.Dir = s.dataDir
	cmd.Env = plainEnvironment()
	cmd.Stdout, cmd.Stderr = log, log
	runAs(cmd, s.folder.account)
	dieWithParent(cmd)
	p := &process{done: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		// The signal of dieWithParent is tied to the thread that starts the server, so this one stays until its end.
		runtime.LockOSThread()
		err := cmd.Start()
		if err == nil {
			p.pid = cmd.Process.Pid
		}
		started <- err
		if err == nil {
			_ = cmd.Wait() // how it ended is in its log
		}
		close(p.done)
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("starting %s: %w", s.inst.Program("postgres"), err)
	}
	if err := s.waitReady(ctx, p); err != nil {
		return nil, errors.Join(err, p.stop(context.WithoutCancel(ctx)))
	}
	return p, nil
}

// waitReady watches the pid file, in which the server notes its state.
func (s server) waitReady(ctx context.Context, p *process) error {
	for {
		pid, state, err := readPidFile(s.dataDir)
		if err == nil && pid == p.pid && state == "ready" {
			return nil
		}
		select {
		case <-p.done:
			return s.folder.notReady("it ended at once")
		default:
		}
		if err := pause(ctx, 3*time.Millisecond); err != nil {
			return s.folder.notReady("it was not ready in time")
		}
	}
}

// stop ends the server, the gentle way first.
func (p *process) stop(ctx context.Context) error {
	for _, way := range stopWays {
		if err := signalProcess(p.pid, way.signal); err != nil {
			return err
		}
		select {
		case <-p.done:
			return nil
		case <-time.After(way.patience):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return fmt.Errorf("the server (process %d) does not end", p.pid)
}

// stopStrays ends a server whose supervisor is gone, and what a killed server left behind, so that a new one can start.
// It is called under the start lock, when no supervisor is alive.
func (f folder) stopStrays(ctx context.Context) error {
	for _, way := range stopWays {
		pids := serverProcesses(f.dataDir())
		if len(pids) == 0 {
			break
		}
		for _, pid := range pids {
			// The postmaster tells its children; those without one get no gentler signal than "now".
			s := way.signal
			if postmaster, _, err := readPidFile(f.dataDir()); s == fastShutdown && (err != nil || pid != postmaster) {
				if err == nil && alive(postmaster) {
					continue
				}
				s = immediateShutdown
			}
			if err := signalProcess(pid, s); err != nil {
				return err
			}
		}
		for deadline := time.Now().Add(way.patience); len(serverProcesses(f.dataDir())) > 0 && time.Now().Before(deadline); {
			if err := pause(ctx, 5*time.Millisecond); err != nil {
				return err
			}
		}
	}
	if pids := serverProcesses(f.dataDir()); len(pids) > 0 {
		return problem.New(problem.Unavailable, "", fmt.Sprintf("processes %v of an earlier server do not end", pids), "end them and start again")
	}
	return f.removeStale()
}

// removeStale removes the server's lock files when they name a process that is there: after a crash it is something else
// by now, or a zombie that nobody has collected. The server cannot tell and would refuse to start; that nothing of it
// runs was just seen. A lock of a process that is gone is left to the server, which then also looks at shared memory.
func (f folder) removeStale() error {
	locks := []string{filepath.Join(f.dataDir(), "postmaster.pid"), f.socketPath() + ".lock"}
	for _, lock := range locks {
		text, err := os.ReadFile(lock)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("reading a lock of the server: %w", err)
		}
		first, _, _ := strings.Cut(string(text), "\n")
		if pid, err := strconv.Atoi(strings.TrimSpace(first)); err == nil && !alive(pid) {
			continue
		}
		if err := os.Remove(lock); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("removing a stale lock of the server: %w", err)
		}
	}
	return nil
}

// readPidFile reads postmaster.pid: process id on the first line, state on the eighth.
func readPidFile(dataDir string) (pid int, state string, err error) {
	text, err := os.ReadFile(filepath.Join(dataDir, "postmaster.pid"))
	if err != nil {
		return 0, "", err
	}
	lines := strings.Split(string(text), "\n")
	pid, err = strconv.Atoi(strings.TrimSpace(lines[0]))
	if err != nil || pid <= 1 {
		return 0, "", fmt.Errorf("postmaster.pid begins with %q", lines[0])
	}
	if len(lines) > 7 {
		state = strings.TrimSpace(lines[7])
	}
	return pid, state, nil
}

// ensureCluster creates the cluster when there is none. It is made beside its place and moved there whole.
func (f folder) ensureCluster(ctx context.Context, inst installation.Installation, s secrets, unsafe bool) error {
	if exists(f.dataDir()) {
		if exists(f.path("new-passwords")) {
			return f.resetAdminPassword(ctx, inst, s)
		}
		return nil
	}
	fresh, err := f.initCluster(ctx, inst, s, unsafe)
	if err != nil {
		return err
	}
	if err := os.Rename(fresh, f.dataDir()); err != nil {
		return fmt.Errorf("moving the new cluster into place: %w", err)
	}
	return syncDir(f.path())
}

// freshCluster begins the names of clusters that are being made.
const freshCluster = "data.new-"

// freshDir makes an empty folder for a new cluster, of a name of its own: an initdb whose starter was killed goes on in
// the one it was given, and clears it away when it fails. Such unfinished ones are removed as far as they let themselves.
func (f folder) freshDir() (string, error) {
	entries, err := os.ReadDir(f.path())
	if err != nil {
		return "", fmt.Errorf("looking for unfinished clusters: %w", err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), freshCluster) {
			_ = os.RemoveAll(f.path(e.Name())) // one that is still written to goes with the next attempt
		}
	}
	dir, err := os.MkdirTemp(f.path(), freshCluster)
	if err != nil {
		return "", fmt.Errorf("making a folder for a new cluster: %w", err)
	}
	return dir, f.ownedDir(dir)
}

// initCluster makes a new cluster in a folder of its own.
func (f folder) initCluster(ctx context.Context, inst installation.Installation, s secrets, unsafe bool) (dir string, err error) {
	if dir, err = f.freshDir(); err != nil {
		return "", err
	}
	password, err := f.passwordFile(s.Admin)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.Remove(password)) }()
	// Bytes decide the order, so an upgrade of the system's collations cannot corrupt an index; upper and lower case know
	// the whole of Unicode.
	ctype := "C.UTF-8"
	if runtime.GOOS == "darwin" {
		ctype = "en_US.UTF-8"
	}
	args := []string{
		"-D", dir, "--username=" + adminRole, "--pwfile=" + password, "--auth=scram-sha-256",
		"--data-checksums", "--encoding=UTF8", "--locale=C", "--lc-ctype=" + ctype, "--no-instructions",
	}
	if unsafe {
		args = append(args, "--no-sync")
	}
	cmd := exec.CommandContext(ctx, inst.Program("initdb"), args...)
	cmd.Dir = dir
	cmd.Env = plainEnvironment()
	runAs(cmd, f.account)
	if out, err := cmd.CombinedOutput(); err != nil {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		return "", problem.New(problem.Unavailable, "", fmt.Sprintf("initdb could not make the database cluster: %s", errorLine(out)),
			"check the free space and the permissions of "+f.dir).Because(err)
	}
	return dir, nil
}

// passwordFile writes a password where the server's account, and nobody else, can read it.
func (f folder) passwordFile(password string) (string, error) {
	path := f.path("initdb-password")
	if err := writeAtomically(path, []byte(password+"\n"), 0o600); err != nil {
		return "", err
	}
	if f.account.switchUser {
		if err := os.Chown(path, f.account.uid, f.account.gid); err != nil {
			return "", errors.Join(err, os.Remove(path))
		}
	}
	return path, nil
}

// resetAdminPassword sets a new password for the superuser, in single-user mode, which asks for none; the other roles
// get theirs from the bootstrap that follows.
func (f folder) resetAdminPassword(ctx context.Context, inst installation.Installation, s secrets) error {
	cmd := exec.CommandContext(ctx, inst.Program("postgres"), "--single", "-D", f.dataDir(), "-c", "wal_level=minimal", "-c", "max_wal_senders=0", "postgres")
	cmd.Dir = f.dataDir()
	cmd.Env = plainEnvironment()
	cmd.Stdin = strings.NewReader("ALTER ROLE " + adminRole + " PASSWORD '" + s.Admin + "'\n")
	runAs(cmd, f.account)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("setting new database passwords: %w: %s", err, lastLine(out))
	}
	return os.Remove(f.path("new-passwords"))
}

// plainEnvironment is what children get of the environment: nothing of Stele's, among which are keys.
func plainEnvironment() []string {
	env := []string{"LC_ALL=C"}
	for _, name := range []string{"PATH", "HOME", "TMPDIR"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// maxLogBytes bounds a log; one older file of that size is kept.
const maxLogBytes = 4 << 20

func openLog(path string) (*os.File, error) {
	if info, err := os.Stat(path); err == nil && info.Size() > maxLogBytes {
		if err := os.Rename(path, path+".1"); err != nil {
			return nil, fmt.Errorf("turning over the log: %w", err)
		}
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the log: %w", err)
	}
	return f, nil
}

// errorLine is the line that says what was wrong; after it, initdb tells how it cleans up.
func errorLine(out []byte) string {
	for l := range strings.Lines(string(out)) {
		if strings.Contains(l, "error: ") || strings.Contains(l, "FATAL: ") {
			return strings.TrimSpace(l)
		}
	}
	return lastLine(out)
}

func lastLine(out []byte) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return lines[len(lines)-1]
}
