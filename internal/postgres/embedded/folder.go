package embedded

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/stele-dev/stele/internal/problem"
)

// folder is the layout of the data folder:
//
//	DIR/passwords.json       0600, the three roles' passwords
//	DIR/backups/             nightly backups and those taken before something risky
//	DIR/postgres/start       locked by who starts the cluster
//	DIR/postgres/supervisor  locked by the supervisor; what it runs, as JSON
//	DIR/postgres/clients     locked shared by every client
//	DIR/postgres/ready       roles and database were made
//	DIR/postgres/data/       the cluster itself, of the account that runs the server
//	DIR/postgres/run/        the socket, when its path is short enough
//	DIR/postgres/log/        the server's log
type folder struct {
	dir       string
	account   account // who runs the server
	socketDir string
}

// account is the user the server runs as.
type account struct {
	switchUser bool // it is another user than this process's
	name       string
	uid, gid   int
}

const (
	socketPort = "5432"
	socketName = ".s.PGSQL." + socketPort
	// maxSocketPath keeps clear of the 104 bytes of sun_path on macOS (108 on Linux), the terminating zero included.
	maxSocketPath = 100
)

func newFolder(dir string, a account) folder {
	f := folder{dir: dir, account: a}
	f.socketDir = f.path("run")
	if len(filepath.Join(f.socketDir, socketName)) >= maxSocketPath {
		// The name must be the same for every process, also for one with another TMPDIR, so /tmp it is. prepareSocketDir
		// refuses a folder of that name that somebody else made.
		sum := sha256.Sum256([]byte(dir))
		f.socketDir = fmt.Sprintf("/tmp/stele-%d-%s", a.uid, hex.EncodeToString(sum[:6]))
	}
	return f
}

func (f folder) path(names ...string) string {
	return filepath.Join(append([]string{f.dir, "postgres"}, names...)...)
}
func (f folder) startFile() string      { return f.path("start") }
func (f folder) supervisorFile() string { return f.path("supervisor") }
func (f folder) clientsFile() string    { return f.path("clients") }
func (f folder) dataDir() string        { return f.path("data") }
func (f folder) logFile() string        { return f.path("log", "postgres.log") }
func (f folder) backupDir() string      { return filepath.Join(f.dir, "backups") }
func (f folder) secretsFile() string    { return filepath.Join(f.dir, "passwords.json") }
func (f folder) socketPath() string     { return filepath.Join(f.socketDir, socketName) }

func (f folder) bootstrapped() bool { return exists(f.path("ready")) }
func (f folder) markBootstrapped() error {
	return writeAtomically(f.path("ready"), []byte("roles and database are there\n"), 0o600)
}

// create makes the folders. Only what the server writes is given to its account; the folders above it are made
// passable for it, those that Stele itself made and no others.
func (f folder) create() error {
	if exists(f.path("log")) && exists(f.backupDir()) {
		return nil
	}
	mode := fs.FileMode(0o700)
	if f.account.switchUser {
		mode = 0o711 // the server's account must pass, and sees nothing
	}
	for _, dir := range []string{f.dir, f.path()} {
		fresh := !exists(dir)
		if err := os.MkdirAll(dir, mode); err != nil {
			return problem.New(problem.Unavailable, "STELE_DATA_DIR", fmt.Sprintf("cannot make the data folder %s: %v", dir, err),
				"name a folder you may write to in STELE_DATA_DIR").Because(err)
		}
		if fresh { // whatever the umask says
			if err := os.Chmod(dir, mode); err != nil {
				return fmt.Errorf("making the data folder: %w", err)
			}
		}
	}
	if err := f.checkPassable(); err != nil {
		return err
	}
	if err := os.MkdirAll(f.backupDir(), 0o700); err != nil {
		return fmt.Errorf("making the backup folder: %w", err)
	}
	// Last, because its presence says that the rest is there. The server gets its log opened: in a folder of its account,
	// that account could make root write wherever a symbolic link points.
	if err := os.MkdirAll(f.path("log"), 0o700); err != nil {
		return fmt.Errorf("making the log folder: %w", err)
	}
	return nil
}

// ownedDir makes a private folder of the server's account.
func (f folder) ownedDir(dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("making %s: %w", dir, err)
	}
	if f.account.switchUser {
		if err := os.Chown(dir, f.account.uid, f.account.gid); err != nil {
			return fmt.Errorf("giving %s to user %s: %w", dir, f.account.name, err)
		}
	}
	return nil
}

// checkPassable explains a parent folder that the server's account cannot pass.
func (f folder) checkPassable() error {
	if !f.account.switchUser {
		return nil
	}
	for dir := f.path(); ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if err != nil {
			return fmt.Errorf("looking at %s: %w", dir, err)
		}
		if !passable(info, f.account) {
			return problem.New(problem.Unavailable, "STELE_DATA_DIR",
				fmt.Sprintf("user %s, who runs PostgreSQL because it refuses to run as root, cannot enter %s (mode %v)", f.account.name, dir, info.Mode().Perm()),
				"use a folder that all users may pass, such as /var/lib/stele", "or run Stele as another user than root",
				"or allow passing: chmod o+x "+dir)
		}
		if dir == filepath.Dir(dir) {
			return nil
		}
	}
}

// checkOwner explains data that another user's server wrote: PostgreSQL would only say that the ownership is wrong.
func (f folder) checkOwner() error {
	info, err := os.Stat(f.dataDir())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("looking at the cluster: %w", err)
	}
	if owner := ownerOf(info); owner != f.account.uid {
		return problem.New(problem.Unavailable, "STELE_DATA_DIR",
			fmt.Sprintf("the data in %s belongs to the user with id %d, and the server would run as %s (id %d)", f.dataDir(), owner, f.account.name, f.account.uid),
			"run Stele as the user who made it (without sudo)", "or name another folder in STELE_DATA_DIR")
	}
	return nil
}

// prepareSocketDir makes the private folder of the socket. In /tmp anyone may have made one of that name before, to
// stand in for the server and be told passwords; that one is refused.
func (f folder) prepareSocketDir() error {
	if err := f.ownedDir(f.socketDir); err != nil {
		return err
	}
	info, err := os.Lstat(f.socketDir)
	if err != nil {
		return fmt.Errorf("looking at the socket folder: %w", err)
	}
	if !info.IsDir() || info.Mode().Perm() != 0o700 || ownerOf(info) != f.account.uid {
		return problem.New(problem.Unavailable, "STELE_DATA_DIR",
			fmt.Sprintf("%s is not a private folder of user %s", f.socketDir, f.account.name),
			"remove it", "or use a shorter STELE_DATA_DIR, so that the socket fits into it")
	}
	return nil
}

// answers tells whether a server accepts connections on the socket.
func (f folder) answers(ctx context.Context) bool {
	dialer := net.Dialer{Timeout: 2 * time.Second}
	conn, err := dialer.DialContext(ctx, "unix", f.socketPath())
	if err != nil {
		return false
	}
	return conn.Close() == nil
}

// major gives the release that made the cluster, 0 when there is none.
func (f folder) major() (int, error) {
	text, err := os.ReadFile(filepath.Join(f.dataDir(), "PG_VERSION"))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if exists(f.dataDir()) {
			return 0, problem.New(problem.Unavailable, "STELE_DATA_DIR", f.dataDir()+" is there but holds no PostgreSQL data",
				"move it away and restore a backup: stele db restore FILE")
		}
		return 0, nil
	case err != nil:
		return 0, fmt.Errorf("reading the cluster's version: %w", err)
	}
	major, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0, fmt.Errorf("reading the cluster's version: %w", err)
	}
	return major, nil
}

// secrets are the passwords of the three roles, random, of 192 bits each.
type secrets struct {
	Admin string `json:"postgres"`
	Owner string `json:"stele_owner"`
	App   string `json:"stele_app"`
}

func (f folder) readSecrets() (secrets, error) {
	var s secrets
	text, err := os.ReadFile(f.secretsFile())
	if errors.Is(err, fs.ErrNotExist) {
		return s, problem.New(problem.Unavailable, "STELE_DATA_DIR", "there are no database passwords in "+f.dir,
			"stop the database (stele db stop) and start again: new passwords are set").Because(err)
	}
	if err != nil {
		return s, problem.New(problem.Unavailable, "STELE_DATA_DIR", fmt.Sprintf("cannot read the database passwords: %v", err),
			"run Stele as the user who owns the data folder "+f.dir).Because(err)
	}
	if err := json.Unmarshal(text, &s); err != nil || s.Admin == "" || s.Owner == "" || s.App == "" {
		return s, problem.New(problem.Unavailable, "STELE_DATA_DIR", f.secretsFile()+" is damaged",
			"stop the database (stele db stop), remove the file and start again: new passwords are set")
	}
	return s, nil
}

// ensureSecrets reads the passwords or makes new ones. New ones for a cluster that exists are set when it starts.
func (f folder) ensureSecrets() (secrets, error) {
	if exists(f.secretsFile()) {
		return f.readSecrets()
	}
	s := secrets{Admin: rand.Text(), Owner: rand.Text(), App: rand.Text()}
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return s, err
	}
	if err := os.Remove(f.path("ready")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return s, err
	}
	if exists(f.dataDir()) {
		if err := writeAtomically(f.path("new-passwords"), nil, 0o600); err != nil {
			return s, err
		}
	}
	return s, writeAtomically(f.secretsFile(), append(text, '\n'), 0o600)
}

// notReady is the problem of a cluster that does not come up, with what its log says last.
func (f folder) notReady(detail string) error {
	p := problem.New(problem.Unavailable, "", "the database did not start: "+detail)
	if line := lastLines(f.logFile(), 3); line != "" {
		p.Detail += " (its log ends: " + line + ")"
	}
	return p.Fix("read %s", f.logFile()).Fix("run: stele doctor")
}

// lastLines gives the end of a log on one line.
func lastLines(file string, n int) string {
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return ""
	}
	const window = 2048
	start := max(0, info.Size()-window)
	buf := make([]byte, info.Size()-start)
	if _, err := f.ReadAt(buf, start); err != nil {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(string(buf)), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], " / ")
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// touch sets the file's time to now: the idle time counts from it.
func touch(path string) error {
	now := time.Now()
	err := os.Chtimes(path, now, now)
	if errors.Is(err, fs.ErrNotExist) { // somebody removed the data folder, so there is nothing to keep up
		return nil
	}
	return err
}

// writeAtomically leaves either the old file or the whole new one, also after a power cut.
func writeAtomically(path string, content []byte, mode fs.FileMode) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".tmp-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close(), os.Remove(f.Name()))
		}
	}()
	if err := f.Chmod(mode); err != nil {
		return err
	}
	if _, err := f.Write(content); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	return errors.Join(f.Close(), syncDir(filepath.Dir(path)))
}

// syncDir makes renames in a folder last.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
