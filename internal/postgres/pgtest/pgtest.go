// Package pgtest gives every test a database of its own: real PostgreSQL with pgvector, migrated, reached as stele_app.
//
// One embedded cluster serves all test binaries of a user on a machine; it is started by the first that needs it, in a
// folder under os.TempDir, and stops by itself some seconds after the last. It gives up durability for speed. A test's
// database is a copy of a migrated template and is dropped when the test ends; what a killed test left behind is
// swept by the next.
//
// A machine without PostgreSQL or pgvector fails the test with the message that names the fix; nothing is skipped.
package pgtest

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/stele-dev/stele/internal/postgres"
	"github.com/stele-dev/stele/internal/postgres/embedded"
	"github.com/stele-dev/stele/migrations"
)

const (
	// superviseArgument makes a test binary the supervisor of its cluster; see init.
	superviseArgument = "pgtest-supervise"
	sharedIdle        = 20 * time.Second
	setupTimeout      = 2 * time.Minute
	// templateLock is the key of the advisory lock under which the template is made; the bytes of "tmpl".
	templateLock int64 = 0x746d706c
)

// init turns the test binary into the cluster's supervisor when it was started as one. A test binary has no command for
// it, and TestMain belongs to the tested package.
func init() { //nolint:gochecknoinits // see above
	if len(os.Args) < 2 || os.Args[1] != superviseArgument {
		return
	}
	if err := embedded.Supervise(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Supervisor gives the command that makes this test binary the supervisor of an embedded cluster.
func Supervisor(t testing.TB) []string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatalf("finding the test binary: %v", err)
	}
	return []string{self, superviseArgument}
}

// Database is a test's own database.
type Database struct {
	*postgres.DB  // as stele_app; nil from NewEmpty
	embedded.DSNs // addresses for tests that need another role or connections of their own
	Name          string
}

// New gives a migrated and empty database, opened as stele_app. Options change how it is opened. Because stele_app can
// change rows and nothing else, the database is emptied and used again by a later test of the same binary, which is ten
// times as fast as copying the template.
func New(t testing.TB, options ...func(*postgres.Config)) *postgres.DB {
	t.Helper()
	s := shared(t)
	name := s.takeEmptied()
	if name == "" {
		name = s.createDatabase(t, "TEMPLATE "+s.template)
	}
	t.Cleanup(func() {
		if err := s.giveBack(name); err != nil {
			t.Errorf("emptying the test database: %v", err)
		}
	})
	return s.open(t, name, options)
}

// NewDatabase is New for tests that need other roles too, by the addresses it gives: a fresh copy of the template, which
// nobody gets afterwards.
func NewDatabase(t testing.TB, options ...func(*postgres.Config)) Database {
	t.Helper()
	s := shared(t)
	d := s.create(t, "TEMPLATE "+s.template)
	d.DB = s.open(t, d.Name, options)
	return d
}

func (s sharedCluster) open(t testing.TB, name string, options []func(*postgres.Config)) *postgres.DB {
	t.Helper()
	cfg := postgres.Config{URL: s.addresses(t, name).App}
	for _, option := range options {
		option(&cfg)
	}
	db, err := postgres.Open(t.Context(), cfg)
	if err != nil {
		t.Fatalf("opening the test database: %v", err)
	}
	t.Cleanup(db.Close) // registered after the clean-up of the database, so it runs before that
	return db
}

// NewEmpty gives a database that is prepared and not migrated.
func NewEmpty(t testing.TB) Database {
	t.Helper()
	d := shared(t).create(t, "TEMPLATE template0")
	if err := postgres.Bootstrap(t.Context(), d.Admin, postgres.Roles{Database: d.Name}); err != nil {
		t.Fatalf("preparing the test database: %v", err)
	}
	return d
}

// ConnectOwner connects to the test's database as stele_owner.
func (d Database) ConnectOwner(t testing.TB) *pgx.Conn {
	t.Helper()
	return connect(t, d.Owner)
}

// ConnectAdmin connects to the test's database as the superuser, for what only that role sees.
func (d Database) ConnectAdmin(t testing.TB) *pgx.Conn {
	t.Helper()
	return connect(t, d.Admin)
}

// ConnectApp connects to the test's database as stele_app, outside postgres.DB.
func (d Database) ConnectApp(t testing.TB) *pgx.Conn {
	t.Helper()
	return connect(t, d.App)
}

func connect(t testing.TB, address string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatalf("connecting to the test database: %v", err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) }) // dropping the database ends the session anyway
	return conn
}

// NewCluster gives an embedded cluster of the test's own, not started. cfg.DataDir and cfg.Supervisor are filled in when
// they are empty. The cluster is stopped and removed when the test ends.
func NewCluster(t testing.TB, cfg embedded.Config) *embedded.Cluster {
	t.Helper()
	if cfg.DataDir == "" {
		cfg.DataDir = filepath.Join(Dir(t), "stele")
	}
	if len(cfg.Supervisor) == 0 {
		cfg.Supervisor = Supervisor(t)
	}
	c, err := embedded.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("closing the cluster: %v", err)
		}
		if err := c.Stop(context.Background()); err != nil {
			t.Errorf("stopping the cluster: %v", err)
		}
	})
	return c
}

// Dir is t.TempDir with a short path that every user may pass, as the server's account must.
func Dir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "stele-t") //nolint:usetesting // t.TempDir is closed to other users
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Errorf("removing the test's folder: %v", err)
		}
	})
	if err := os.Chmod(dir, 0o711); err != nil { //nolint:gosec // the server's account passes
		t.Fatal(err)
	}
	return dir
}

// sharedCluster is the one cluster of all tests.
type sharedCluster struct {
	cluster  *embedded.Cluster
	admin    string // address of the superuser, database postgres
	template string // name of the migrated template
}

// start is done once for a test binary. The handle is never closed: the cluster is in use as long as the binary runs.
var start = sync.OnceValues(startShared)

func shared(t testing.TB) sharedCluster {
	t.Helper()
	s, err := start()
	if err != nil {
		t.Fatalf("no database to test with: %v", err)
	}
	return s
}

func startShared() (sharedCluster, error) {
	ctx, cancel := context.WithTimeout(context.Background(), setupTimeout)
	defer cancel()
	self, err := os.Executable()
	if err != nil {
		return sharedCluster{}, err
	}
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("stele-test-%d", os.Geteuid()))
	cluster, err := embedded.New(embedded.Config{
		DataDir: dir, BinDir: os.Getenv("STELE_POSTGRES_BIN"), Idle: sharedIdle, MaxConnections: 300, Unsafe: true,
		Supervisor: []string{self, superviseArgument},
	})
	if err != nil {
		return sharedCluster{}, err
	}
	dsns, err := cluster.Start(ctx)
	if err != nil {
		return sharedCluster{}, fmt.Errorf("%w (if the machine went down while tests ran, remove %s)", err, dir)
	}
	s := sharedCluster{cluster: cluster, admin: replaceDatabase(dsns.Admin, "postgres"), template: "template_" + schemaHash()}
	conn, err := pgx.Connect(ctx, s.admin)
	if err != nil {
		return s, err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if err := s.sweep(ctx, conn); err != nil {
		return s, err
	}
	return s, s.ensureTemplate(ctx, conn, dsns)
}

// schemaHash names the schema: another set of migrations gets another template.
func schemaHash() string {
	sum := sha256.New()
	names, err := fs.Glob(migrations.FS, "*")
	if err != nil {
		panic(err) // the pattern is a constant
	}
	for _, name := range names {
		content, err := migrations.FS.ReadFile(name)
		if err != nil {
			panic(err) // the file is inside this program
		}
		fmt.Fprintf(sum, "%s %d\n%s", name, len(content), content)
	}
	return hex.EncodeToString(sum.Sum(nil)[:6])
}

// ensureTemplate makes the migrated template. It gets its name when it is complete.
func (s sharedCluster) ensureTemplate(ctx context.Context, conn *pgx.Conn, dsns embedded.DSNs) error {
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock($1)", templateLock); err != nil {
		return err
	}
	var exists bool
	if err := conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", s.template).Scan(&exists); err != nil || exists {
		return err
	}
	building := s.template + "_building"
	if _, err := conn.Exec(ctx, "DROP DATABASE IF EXISTS "+building+" WITH (FORCE)"); err != nil {
		return err
	}
	if err := postgres.Bootstrap(ctx, s.admin, postgres.Roles{Database: building}); err != nil {
		return err
	}
	if _, err := postgres.Migrate(ctx, replaceDatabase(dsns.Owner, building)); err != nil {
		return err
	}
	_, err := conn.Exec(ctx, "ALTER DATABASE "+building+" RENAME TO "+s.template)
	return err
}

var (
	testDatabase = regexp.MustCompile(`^t_(\d+)_[0-9a-z]+$`)
	oldTemplate  = regexp.MustCompile(`^template_[0-9a-f]{12}$`)
)

// sweep drops the databases of test binaries that are gone, and, when no other binary is at work, templates of other
// schemas.
func (s sharedCluster) sweep(ctx context.Context, conn *pgx.Conn) error {
	rows, err := conn.Query(ctx, "SELECT datname FROM pg_database")
	if err != nil {
		return err
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	var drop, templates []string
	busy := false
	for _, name := range names {
		if m := testDatabase.FindStringSubmatch(name); m != nil {
			if pid, err := strconv.Atoi(m[1]); err == nil && processAlive(pid) {
				busy = true
				continue
			}
			drop = append(drop, name)
		} else if oldTemplate.MatchString(name) && name != s.template {
			templates = append(templates, name)
		}
	}
	if !busy {
		drop = append(drop, templates...)
	}
	for _, name := range drop {
		// Another binary may sweep the same; one of the two does it.
		_, _ = conn.Exec(ctx, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)")
	}
	return nil
}

// create makes a database and drops it when the test ends.
func (s sharedCluster) create(t testing.TB, from string) Database {
	t.Helper()
	name := s.createDatabase(t, from)
	t.Cleanup(func() {
		if err := s.exec("DROP DATABASE IF EXISTS " + name + " WITH (FORCE)"); err != nil {
			t.Errorf("dropping the test database: %v", err)
		}
	})
	return Database{Name: name, DSNs: s.addresses(t, name)}
}

// createDatabase makes a database whose name tells which process will not need it any more once it is gone.
func (s sharedCluster) createDatabase(t testing.TB, from string) string {
	t.Helper()
	name := fmt.Sprintf("t_%d_%s", os.Getpid(), strings.ToLower(rand.Text()[:16]))
	if err := s.exec("CREATE DATABASE " + name + " OWNER " + postgres.OwnerRole + " " + from); err != nil {
		t.Fatalf("creating the test database: %v", err)
	}
	return name
}

func (s sharedCluster) addresses(t testing.TB, name string) embedded.DSNs {
	t.Helper()
	dsns, err := s.cluster.DSNs()
	if err != nil {
		t.Fatal(err)
	}
	return embedded.DSNs{
		App: replaceDatabase(dsns.App, name), Owner: replaceDatabase(dsns.Owner, name), Admin: replaceDatabase(dsns.Admin, name),
	}
}

// exec runs a statement as the superuser. It has a context of its own: clean-up runs when the test's is done.
func (s sharedCluster) exec(statement string) error {
	ctx, cancel := context.WithTimeout(context.Background(), setupTimeout)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.admin)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, statement)
	return err
}

// emptied are the databases of this binary that wait for the next test.
var emptied struct {
	sync.Mutex
	names []string
}

func (s sharedCluster) takeEmptied() string {
	emptied.Lock()
	defer emptied.Unlock()
	n := len(emptied.names)
	if n == 0 {
		return ""
	}
	name := emptied.names[n-1]
	emptied.names = emptied.names[:n-1]
	return name
}

// recycledBytes is the size up to which emptying a database is cheaper than copying the template, which has 9 MB.
const recycledBytes = 32 << 20

// giveBack empties every table and keeps the database for the next test.
func (s sharedCluster) giveBack(name string) error {
	ctx, cancel := context.WithTimeout(context.Background(), setupTimeout)
	defer cancel()
	conn, err := pgx.Connect(ctx, replaceDatabase(s.admin, name))
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	var size int64
	if err := conn.QueryRow(ctx, "SELECT pg_database_size(current_database())").Scan(&size); err != nil {
		return err
	}
	if size > recycledBytes {
		return s.exec("DROP DATABASE IF EXISTS " + name + " WITH (FORCE)")
	}
	// DELETE and not TRUNCATE, which would make new files for every table that refers to one with rows. As a replica the
	// session does not check foreign keys, so the order does not matter.
	_, err = conn.Exec(ctx, `
		SET session_replication_role = replica;
		DO $$
		DECLARE t regclass;
		BEGIN
			FOR t IN SELECT oid FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
			           AND relname <> 'goose_db_version' LOOP
				EXECUTE format('DELETE FROM %s', t);
			END LOOP;
		END $$`)
	if err != nil {
		return err
	}
	emptied.Lock()
	defer emptied.Unlock()
	emptied.names = append(emptied.names, name)
	return nil
}

// replaceDatabase puts another database's name into an address that package embedded made.
func replaceDatabase(address, name string) string {
	head, rest, _ := strings.Cut(address, "@/")
	_, query, _ := strings.Cut(rest, "?")
	return head + "@/" + name + "?" + query
}
