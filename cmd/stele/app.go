package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/term"

	"github.com/stele-dev/stele/api"
	"github.com/stele-dev/stele/api/client"
	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/c4model/diagram"
	"github.com/stele-dev/stele/embedding"
	"github.com/stele-dev/stele/hook"
	"github.com/stele-dev/stele/internal/config"
	"github.com/stele-dev/stele/internal/postgres"
	"github.com/stele-dev/stele/internal/postgres/embedded"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/internal/secret"
	"github.com/stele-dev/stele/memory"
	store "github.com/stele-dev/stele/memory/postgres"
	"github.com/stele-dev/stele/session"
)

// service is what the commands ask of the domain: api.Domain at the database, *client.Client of a server.
type service interface {
	Remember(ctx context.Context, c memory.Caller, r memory.RememberRequest) (memory.RememberResponse, error)
	Recall(ctx context.Context, c memory.Caller, r memory.RecallRequest) (memory.RecallResponse, error)
	Confirm(ctx context.Context, c memory.Caller, r memory.ConfirmRequest) (memory.Memory, error)
	Edit(ctx context.Context, c memory.Caller, r memory.EditRequest) (memory.Memory, error)
	Forget(ctx context.Context, c memory.Caller, r memory.ForgetRequest) (memory.ForgetResponse, error)
	Restore(ctx context.Context, c memory.Caller, ref string) (memory.Memory, error)
	Get(ctx context.Context, c memory.Caller, refs []string) ([]memory.Memory, error)
	List(ctx context.Context, c memory.Caller, r memory.ListRequest) (memory.ListResponse, error)
	Timeline(ctx context.Context, c memory.Caller, ref string, limit int) (memory.TimelineResponse, error)
	History(ctx context.Context, c memory.Caller, ref string) (memory.HistoryResponse, error)
	CodeSpan(ctx context.Context, c memory.Caller, ref string) (memory.CodeSpan, error)
	Usage(ctx context.Context, c memory.Caller, ref string) (memory.Usage, error)
	Context(ctx context.Context, c memory.Caller, r memory.ContextRequest) (memory.ContextResponse, error)
	Why(ctx context.Context, c memory.Caller, path string, line int) (memory.WhyResponse, error)
	Map(ctx context.Context, c memory.Caller) (memory.Map, error)
	Stats(ctx context.Context, c memory.Caller) (memory.Stats, error)
	ImportModel(ctx context.Context, c memory.Caller, im memory.ModelImport) (memory.ModelReport, error)
	Model(ctx context.Context, c memory.Caller) (memory.ModelView, error)
	ImportDecisions(ctx context.Context, c memory.Caller, decisions []c4model.Decision, source string) (memory.DecisionReport, error)
	Undo(ctx context.Context, c memory.Caller, r memory.UndoRequest) (memory.UndoResponse, error)
	Organization(ctx context.Context, c memory.Caller) (memory.OrganizationInfo, error)
	Projects(ctx context.Context, c memory.Caller) ([]memory.ProjectInfo, error)
	FindProject(ctx context.Context, c memory.Caller, ref string) (memory.ProjectInfo, error)
	CreateProject(ctx context.Context, c memory.Caller, name string, identities []string) (memory.ProjectInfo, error)
	Impact(ctx context.Context, c memory.Caller, r memory.ImpactRequest) (memory.ImpactResponse, error)
	Plan(ctx context.Context, c memory.Caller, r memory.PlanRequest) (memory.PlanResponse, error)
	Diagram(ctx context.Context, c memory.Caller, r memory.DiagramRequest) (diagram.View, error)
	ChangeProjectSettings(ctx context.Context, c memory.Caller, change memory.ProjectSettingsChange) (memory.ProjectInfo, error)
	AddIdentities(ctx context.Context, c memory.Caller, project uuid.UUID, identities []string) error
	CreateToken(ctx context.Context, c memory.Caller, r memory.TokenRequest) (memory.NewToken, error)
	Tokens(ctx context.Context, c memory.Caller) ([]memory.Token, error)
	RevokeToken(ctx context.Context, c memory.Caller, ref string) (memory.Token, error)
	AuditLog(ctx context.Context, c memory.Caller, r memory.AuditRequest) (memory.AuditResponse, error)
	Watch(ctx context.Context, c memory.Caller, after string) (memory.WatchList, error)
	PushRun(ctx context.Context, c memory.Caller, p memory.RunPush) (memory.RunAnswer, error)
	DriftScore(ctx context.Context, c memory.Caller) (memory.DriftScore, error)
	DriftRun(ctx context.Context, c memory.Caller, id string) (memory.RunReport, error)
	DriftHistory(ctx context.Context, c memory.Caller, q memory.RunQuery) ([]memory.RunSummary, error)
	DriftSettings(ctx context.Context, c memory.Caller) (memory.DriftSettings, error)
	ChangeDriftSettings(ctx context.Context, c memory.Caller, change memory.DriftSettingsChange) (memory.DriftSettings, error)
	HeldModel(ctx context.Context, c memory.Caller) (memory.HeldModel, bool, error)
	DecideModel(ctx context.Context, c memory.Caller, accept bool) (memory.HeldModel, error)
	Arrive(ctx context.Context, c memory.Caller) (memory.Caller, error)
	StartSession(ctx context.Context, c memory.Caller, r session.StartRequest) (session.Started, error)
	HeartbeatSession(ctx context.Context, c memory.Caller, r session.HeartbeatRequest) (session.Status, error)
	FinishSession(ctx context.Context, c memory.Caller, r session.FinishRequest) (session.Ended, error)
	CancelSession(ctx context.Context, c memory.Caller, ref string) (session.Summary, error)
	Sessions(ctx context.Context, c memory.Caller, r session.ListRequest) (session.List, error)
	SessionReceipt(ctx context.Context, c memory.Caller, ref string) (session.Receipt, error)
	reviewService
	Hook(ctx context.Context, c memory.Caller, r hook.Request) (hook.Response, error)
	eventService
	importService
}

// app is one run of the program: its streams, its flags, and what it opened.
type app struct {
	in  io.Reader
	out *bufio.Writer
	err io.Writer

	width       int  // columns that prose is wrapped to
	colour      bool // standard output takes colours
	interactive bool // a person can be asked

	environment config.Environment
	dir         string // working folder
	cacheDir    string // of what can be made again; "" keeps nothing
	stateDir    string // of what hooks keep on this machine; "" keeps nothing
	// detached runs this program with other arguments in a process that outlives this one; nil runs nothing.
	detached func(args ...string) error
	json     bool
	project  string
	session  string
	server   string
	token    string
	insecure bool

	once   sync.Once
	opened *backend
	failed error
}

// defaultWidth is what a terminal that does not tell its width is taken to have, and what output into a file is wrapped to.
const defaultWidth = 80

// maxWidth keeps prose readable on a wide screen.
const maxWidth = 100

func newApp(in, out, errOut *os.File) *app {
	a := &app{in: in, out: bufio.NewWriter(out), err: errOut, width: defaultWidth, environment: config.Process()}
	if term.IsTerminal(int(out.Fd())) {
		a.colour = a.environment.Variables["NO_COLOR"] == "" && a.environment.Variables["TERM"] != "dumb"
		a.interactive = term.IsTerminal(int(in.Fd()))
		if w, _, err := term.GetSize(int(out.Fd())); err == nil && w > 20 {
			a.width = min(w, maxWidth)
		}
	}
	a.environment.Defaults = map[string]string{}
	// Where there is no home, the setting stays empty and what needs it says so.
	a.environment.Defaults["data_dir"], _ = embedded.DefaultDataDir()
	a.environment.Defaults["master_key_file"], _ = secret.DefaultMasterFile()
	if dir, err := os.UserCacheDir(); err == nil {
		a.cacheDir = filepath.Join(dir, "stele")
	}
	a.stateDir, a.detached = stateDir(a.environment), runDetached
	return a
}

// load reads the configuration with the flags of this command line.
func (a *app) load() (config.Config, error) {
	e := a.environment
	e.Flags = map[string]string{"project": a.project, "session": a.session, "server": a.server, "token": a.token}
	if a.insecure {
		e.Flags["insecure"] = "true"
	}
	return config.Load(e)
}

// folder is the working folder, symbolic links resolved.
func (a *app) folder() (string, error) {
	if a.dir != "" {
		return a.dir, nil
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("finding the working folder: %w", err)
	}
	if target, err := filepath.EvalSymlinks(dir); err == nil {
		dir = target
	}
	a.dir = dir
	return dir, nil
}

// logger writes to standard error; no text of a memory goes there.
func (a *app) logger(level slog.Level) *slog.Logger {
	return slog.New(slog.NewTextHandler(a.err, &slog.HandlerOptions{Level: level}))
}

// backend is an opened domain with the organization to work in.
type backend struct {
	service
	config config.Config
	org    uuid.UUID
	user   string
	role   memory.Role
	bound  uuid.UUID // the one project that the token of a server is for; uuid.Nil = every one
	place  *place

	remote *client.Client // nil where the commands work on the database

	// What only a process at the database has; nil where the commands go to a server.
	local   *memory.Service
	domain  api.Domain // local with the packages beside it
	store   *store.Store
	cluster *embedded.Cluster // nil with a database of the user's own
	db      *postgres.DB
	owner   string // address of stele_owner; "" when this process may not change the schema
	// quick is a backend for a hook: no encoder is loaded, and nothing is migrated.
	quick bool
	// embedder is never nil where local is not.
	embedder embedding.Provider

	projects sync.Map // name as asked for, "" for the one of this place → uuid.UUID, once found
}

// open makes the domain ready, once: the server of the configuration; without one the database (started when it is the
// embedded one), migrations, keys.
func (a *app) open(ctx context.Context) (*backend, error) {
	a.once.Do(func() { a.opened, a.failed = a.openBackend(ctx) })
	return a.opened, a.failed
}

func (a *app) openBackend(ctx context.Context) (_ *backend, err error) {
	b := &backend{role: memory.RoleAdmin}
	if b.config, err = a.load(); err != nil {
		return nil, err
	}
	dir, err := a.folder()
	if err != nil {
		return nil, err
	}
	// What git and stele.yaml say is needed in any case, and git takes longer than a database that is up.
	found := make(chan error, 1)
	go func() {
		var err error
		b.place, err = findPlace(ctx, dir)
		found <- err
	}()
	if b.config.Server != "" {
		err = b.openServer(ctx, a)
	} else {
		err = b.openDatabase(ctx, a)
	}
	if perr := <-found; err == nil {
		err = perr
	}
	if err == nil && b.remote == nil {
		b.user = b.place.user(ctx, b.config.User)
		b.org, err = b.organization(ctx)
	}
	if err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

// operator is the domain for whoever looks after the database as a whole: no tenant is chosen, so none has to exist.
func (a *app) operator(ctx context.Context) (*backend, error) {
	b := &backend{}
	var err error
	if b.config, err = a.load(); err != nil {
		return nil, err
	}
	if err := b.openDatabase(ctx, a); err != nil {
		b.close()
		return nil, err
	}
	a.opened = b
	return b, nil
}

// openServer asks a server who the token speaks for. Database and keys are the server's.
func (b *backend) openServer(ctx context.Context, a *app) error {
	remote, err := b.connect(a)
	if err != nil {
		return err
	}
	b.remote, b.service = remote, &seeing{Client: remote}
	told := a.tellWhenSlow("waiting for " + remote.URL())
	who, err := remote.Whoami(ctx)
	told.Stop()
	if err != nil {
		return err
	}
	b.identify(who)
	return nil
}

// connect makes the client of the configured server; nothing is sent.
func (b *backend) connect(a *app) (*client.Client, error) {
	return client.New(client.Options{URL: b.config.Server, Token: cmp.Or(b.config.Token, savedToken(b.config)), Insecure: b.config.Insecure, Program: "stele/" + thisBuild().Version,
		Retrying: a.tellOnce("the server does not answer; trying on")})
}

func (b *backend) identify(who client.Identity) {
	b.org, b.user, b.role = who.Organization.ID, who.User, who.Role
	if who.ProjectID != nil {
		b.bound = *who.ProjectID
	}
}

// organization gives the tenant to work in. Only the one that nobody had to name is made by itself: a misspelt name must not
// become a tenant.
func (b *backend) organization(ctx context.Context) (uuid.UUID, error) {
	if b.config.Organization == config.DefaultOrganization {
		return b.local.EnsureOrganization(ctx, config.DefaultOrganization)
	}
	return b.local.FindOrganization(ctx, b.config.Organization)
}

func (b *backend) openDatabase(ctx context.Context, a *app) error {
	pg := postgres.Config{URL: b.config.DatabaseURL, OwnerURL: b.config.DatabaseOwnerURL}
	if pg.URL == "" {
		cluster, err := newCluster(b.config)
		if err != nil {
			return err
		}
		b.cluster = cluster
		told := a.tellWhenSlow("starting the database")
		dsns, err := cluster.Start(ctx)
		told.Stop()
		if err != nil {
			return err
		}
		pg.URL, pg.OwnerURL, pg.BeforeConnect = dsns.App, dsns.Owner, cluster.Ensure
		pg.BeforeMigrate = func(ctx context.Context, _, _ int64) error {
			_, err := cluster.BackupBefore(ctx, "migrate")
			return err
		}
	}
	if b.quick {
		pg.OwnerURL, pg.BeforeMigrate = "", nil
	}
	db, err := postgres.Open(ctx, pg)
	if err != nil {
		return err
	}
	b.db, b.owner = db, pg.OwnerURL
	master, err := b.master(ctx, a)
	if err != nil {
		return err
	}
	ranking, err := memory.DefaultRanking().With(b.config.Ranking)
	if err != nil {
		return err
	}
	options := []store.Option{store.IndexMemory(b.config.IndexMemory * megabyte)}
	if file := b.config.MasterKeyFile; b.config.MasterKey == "" {
		options = append(options, store.ReloadMaster(func() (*secret.Master, error) { return secret.LoadMasterFile(file) }))
	}
	b.store = store.New(db, master, options...)
	b.embedder = embedding.None{}
	if !b.quick {
		if b.embedder, err = newEmbedder(b.config, a.logger(b.config.LogLevel)); err != nil {
			return err
		}
	}
	b.local = memory.New(b.store, memory.Options{Ranking: &ranking, Embedder: b.embedder, EmbedWait: b.config.EmbeddingWait, Branches: b.branches(),
		RewriteDoubt: b.config.RewriteDoubt, PromptsByWords: leaves(b.config) && !bool(b.config.HookEmbed)})
	b.domain = api.NewDomain(b.local, b.store)
	b.service = b.domain
	return nil
}

// master gives the master key. The first run makes one; where an organization exists already, a missing file is a lost or
// misplaced key, and a new one would only hide that until something is to be read.
func (b *backend) master(ctx context.Context, a *app) (*secret.Master, error) {
	c := b.config
	if c.MasterKey == "" {
		if c.MasterKeyFile == "" { // there is no home
			_, err := secret.DefaultMasterFile()
			return nil, err
		}
		master, err := secret.LoadMasterFile(c.MasterKeyFile)
		if !errors.Is(err, fs.ErrNotExist) {
			return master, err
		}
		tenants, err := store.New(b.db, nil).Organizations(ctx)
		if err != nil {
			return nil, err
		}
		// A process that made an organization meanwhile has made the file before.
		if _, err := os.Stat(c.MasterKeyFile); len(tenants) > 0 && errors.Is(err, fs.ErrNotExist) {
			return nil, problem.New(problem.Unavailable, c.MasterKeyFile, "the master key is missing, and the database holds memories that only it opens",
				"put the key back from your copy of it", "set "+secret.EnvFile+" to the file that holds it, or "+secret.EnvKey+" to the key itself")
		}
	}
	master, created, err := secret.LoadMaster(c.MasterKey, c.MasterKeyFile)
	if created {
		fmt.Fprintf(a.err, "stele: made a master key in %s; keep a copy apart from the data: without it nobody can read the memories\n", c.MasterKeyFile)
	}
	return master, err
}

// slow is when a person at a terminal wants to know what is going on.
const slow = time.Second

// tellWhenSlow says what is being waited for, to a person and once it takes long; stop the timer when it is over.
func (a *app) tellWhenSlow(what string) *time.Timer {
	return time.AfterFunc(slow, func() {
		if a.interactive && !a.json {
			fmt.Fprintf(a.err, "stele: %s…\n", what)
		}
	})
}

// tellOnce says something to a person the first time it happens.
func (a *app) tellOnce(what string) func(error) {
	var once sync.Once
	return func(reason error) {
		once.Do(func() {
			if a.interactive && !a.json {
				fmt.Fprintf(a.err, "stele: %s (%s)…\n", what, memory.Line(reason.Error()))
			}
		})
	}
}

// progress shows on a terminal how far long work is; clean takes that away.
func (a *app) progress(of, unit string) (show func(done, total int), clean func()) {
	if !a.interactive || a.json {
		return nil, func() {}
	}
	var last time.Time
	show = func(done, total int) {
		if now := time.Now(); done == total || now.Sub(last) > 100*time.Millisecond {
			last = now
			fmt.Fprintf(a.err, "\r\x1b[K%s: %d of %s", of, done, count(total, unit))
		}
	}
	return show, func() { fmt.Fprint(a.err, "\r\x1b[K") }
}

func (b *backend) close() {
	if closer, ok := b.embedder.(interface{ Close() }); ok {
		closer.Close()
	}
	if b.remote != nil {
		b.remote.Close()
	}
	if b.db != nil {
		b.db.Close()
	}
	if b.cluster != nil {
		// The server notices by the lock that ends with the process, too.
		_ = b.cluster.Close()
	}
}

func (a *app) close() {
	if a.opened != nil {
		a.opened.close()
	}
}

// newCluster is the embedded database of a configuration; nothing is started.
func newCluster(c config.Config) (*embedded.Cluster, error) {
	return embedded.New(embedded.Config{DataDir: c.DataDir, BinDir: c.PostgresBin, Idle: c.DatabaseIdle})
}

// text gives the words of a command: its arguments, or standard input for "-".
func (a *app) text(args []string) (string, error) {
	if len(args) != 1 || args[0] != "-" {
		return strings.Join(args, " "), nil
	}
	b, err := io.ReadAll(io.LimitReader(a.in, maxInput+1))
	if err != nil {
		return "", fmt.Errorf("reading standard input: %w", err)
	}
	return string(b), nil
}
