package main

import (
	"context"
	"fmt"
	"math"
	"net"
	"net/netip"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/api/client"
	"github.com/stele-dev/stele/doctor"
	"github.com/stele-dev/stele/embedding"
	"github.com/stele-dev/stele/internal/config"
	"github.com/stele-dev/stele/internal/postgres"
	"github.com/stele-dev/stele/internal/postgres/installation"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/internal/secret"
	"github.com/stele-dev/stele/memory"
)

// local are the probes where commands work on the database.
func (x *examination) local(bool) []doctor.Probe {
	d := &databaseProbes{backend: func() *backend { return x.backend }, blamed: func(id string) error { return x.blamed[id] }}
	return slices.Concat(
		[]doctor.Probe{
			{ID: "server", Name: "server", Needs: []string{"settings"}, Run: x.findServer},
			{ID: "database", Name: "database", Needs: []string{"settings"}, Limit: time.Minute, Run: x.openDatabase},
		},
		d.below(),
		doctor.Organization(x.health, x.now, "schema"),
		d.around(),
		[]doctor.Probe{{ID: "project", Name: "project", Needs: []string{"keys"}, Run: x.project}},
	)
}

// serverProbes are what a server asks of itself besides what it knows of an organization. Where the database is one of the
// operator's own it may hold other organizations, and its size and the room that is left are for none of them.
func serverProbes(b *backend) []doctor.Probe {
	d := &databaseProbes{backend: func() *backend { return b }, blamed: func(string) error { return nil }}
	probes := append([]doctor.Probe{{ID: "database", Name: "database", Run: func(ctx context.Context) doctor.Finding {
		if err := b.db.Ping(ctx); err != nil {
			return doctor.Failed(err)
		}
		return doctor.Good("it answers")
	}}}, d.below()...)
	for _, p := range d.around() {
		if b.cluster != nil || p.ID == "embeddings" {
			probes = append(probes, p)
		}
	}
	return probes
}

// openDatabase opens the database as every command does. What fails behind the connection is for later probes to tell.
func (x *examination) openDatabase(ctx context.Context) doctor.Finding {
	b := &backend{config: x.config, role: memory.RoleAdmin}
	x.backend, x.opened = b, b // the app closes it
	err := b.openDatabase(ctx, x.app)
	if id := whose(x.config, err); id != "" {
		x.blame(id, err)
		return doctor.Good("it answers")
	}
	if err != nil {
		return doctor.Failed(err)
	}
	if dir, err := x.folder(); err == nil {
		if b.place, err = findPlace(ctx, dir); err != nil {
			x.blame("project", err)
			b.place = &place{dir: dir}
		}
	}
	b.user = b.place.user(ctx, x.config.User)
	if b.org, err = b.organization(ctx); err != nil {
		x.blame("keys", err)
	}
	if b.cluster == nil {
		return doctor.Good("a server of your own answers")
	}
	s, err := b.cluster.Status(ctx)
	if err != nil {
		return doctor.Good("the embedded database in %s answers", x.config.DataDir)
	}
	return doctor.Good("the embedded database in %s answers (%s)", s.DataDir, doctor.Size(s.SizeBytes))
}

// whose gives the id of the probe that is to tell why a database could be reached and not be opened; "" for none.
func whose(c config.Config, err error) string {
	p, ok := problem.As(err)
	switch {
	case !ok:
		return ""
	case p.Code == problem.Forbidden && p.Field == config.Prefix+"DATABASE_URL":
		return "roles"
	case p.Field == config.Prefix+"DATABASE_OWNER_URL" && p.Code == problem.Unavailable:
		return "schema"
	case p.Field == secret.EnvKey || c.MasterKeyFile != "" && p.Field == c.MasterKeyFile:
		return "keys"
	}
	return ""
}

// health is how the organization stands that commands work in here.
func (x *examination) health(ctx context.Context) (memory.Health, error) {
	if err := x.blamed["keys"]; err != nil {
		return memory.Health{}, err
	}
	return x.backend.local.Health(ctx, x.backend.caller())
}

// databaseProbes ask a database that was opened. What they learn on the way is kept for those after them.
type databaseProbes struct {
	backend func() *backend
	blamed  func(id string) error // what opening failed with, where that is this probe's to tell
	about   postgres.Condition
}

// below are what an organization rests on.
func (d *databaseProbes) below() []doctor.Probe {
	return []doctor.Probe{
		{ID: "roles", Name: "roles", Needs: []string{"database"}, Run: d.roles},
		{ID: "schema", Name: "schema", Needs: []string{"roles"}, Run: d.schema},
		{ID: "postgres", Name: "PostgreSQL", Needs: []string{"schema"}, Run: d.postgres},
		{ID: "pgvector", Name: "pgvector", Needs: []string{"postgres"}, Run: d.pgvector},
		{ID: "clock", Name: "clock", Needs: []string{"postgres"}, Run: d.clock},
	}
}

// around are what works beside it.
func (d *databaseProbes) around() []doctor.Probe {
	return []doctor.Probe{
		{ID: "embeddings", Name: "encoder", Needs: []string{"keys"}, Limit: time.Minute, Run: func(ctx context.Context) doctor.Finding {
			return encodes(ctx, d.backend().embedder, d.backend().config)
		}},
		{ID: "storage", Name: "storage", Needs: []string{"postgres"}, Run: d.storage},
		{ID: "backup", Name: "backup", Needs: []string{"database"}, Run: func(ctx context.Context) doctor.Finding { return backedUp(ctx, d.backend(), time.Now()) }},
		{ID: "disk", Name: "disk", Needs: []string{"database"}, Run: func(context.Context) doctor.Finding {
			return disk(d.backend().config, d.backend().cluster != nil)
		}},
	}
}

// roles says whether row-level security binds the service. That it is no superuser, bypasses nothing and owns nothing was
// asked of every connection before it was used.
func (d *databaseProbes) roles(ctx context.Context) doctor.Finding {
	if err := d.blamed("roles"); err != nil {
		return doctor.Failed(err)
	}
	if d.blamed("schema") != nil {
		return doctor.Good("connected as %s, which is no superuser and owns nothing", postgres.AppRole)
	}
	if err := d.backend().db.Verify(ctx); err != nil {
		return doctor.Bad("restore the schema from a backup: stele db restore FILE", "the schema does not keep organizations apart: %v", err)
	}
	return doctor.Good("connected as %s, which is no superuser and owns nothing; row-level security is forced on every table of an organization", postgres.AppRole)
}

func (d *databaseProbes) schema(ctx context.Context) doctor.Finding {
	if err := d.blamed("schema"); err != nil {
		return doctor.Failed(err)
	}
	v, err := d.backend().db.Version(ctx)
	if err != nil {
		return doctor.Failed(err)
	}
	if err := v.Serves(); err != nil {
		return doctor.Failed(err)
	}
	return doctor.Good("%s", migrated(v))
}

func (d *databaseProbes) postgres(ctx context.Context) doctor.Finding {
	var err error
	if d.about, err = d.backend().db.Condition(ctx); err != nil {
		return doctor.Failed(err)
	}
	if d.about.Number < installation.MinMajor*10000 {
		return doctor.Bad("move the database to a newer server: stele db backup, stele db restore",
			"PostgreSQL %s is older than %d, the oldest that is supported", d.about.Server, installation.MinMajor)
	}
	if d.about.Recovering {
		return doctor.Bad("set STELE_DATABASE_URL to the primary", "PostgreSQL %s is a standby, which takes no writes", d.about.Server)
	}
	return doctor.Good("%s, answers in %s", d.about.Server, d.about.RoundTrip.Round(10*time.Microsecond))
}

func (d *databaseProbes) pgvector(context.Context) doctor.Finding {
	switch {
	case d.about.Vector == "":
		return doctor.Bad("CREATE EXTENSION vector, as an administrator of the database", "the extension is not in the database")
	case !installation.VersionAtLeast(d.about.Vector, installation.MinVectorVersion):
		return doctor.Bad("ALTER EXTENSION vector UPDATE, as an administrator of the database",
			"%s is older than %s, the oldest that is supported", d.about.Vector, installation.MinVectorVersion)
	}
	return doctor.Good("%s", d.about.Vector)
}

// clockSkew is from when on two clocks that differ are worth a word: the order of what two machines write becomes wrong to
// a person who reads it.
const clockSkew = 5 * time.Second

// clock compares this machine's with the database's. Times that are stored are this machine's.
func (d *databaseProbes) clock(context.Context) doctor.Finding {
	skew := d.about.Now.Sub(d.about.Asked)
	if away := time.Duration(math.Abs(float64(skew))); away > clockSkew+d.about.RoundTrip/2 {
		return doctor.Doubtful("synchronise both clocks, such as by: timedatectl set-ntp true", "the clocks of this machine and of the database differ by %s", away.Round(time.Second))
	}
	return doctor.Good("that of the database agrees")
}

func (d *databaseProbes) storage(ctx context.Context) doctor.Finding {
	index, err := d.backend().db.IndexBytes(ctx)
	if err != nil {
		return doctor.Failed(err)
	}
	return doctor.Good("the database takes %s, %s of it what memories are found by", doctor.Size(d.about.Bytes), doctor.Size(index))
}

// unsaved is how old the newest backup may be: they are taken each night that somebody works.
const unsaved = 8 * 24 * time.Hour

func backedUp(ctx context.Context, b *backend, now time.Time) doctor.Finding {
	if b.cluster == nil {
		return doctor.Unasked("they are taken by whoever runs the server of the database; stele db backup takes one")
	}
	s, err := b.cluster.Status(ctx)
	if err != nil {
		return doctor.Failed(err)
	}
	verified := "none was ever verified"
	if s.Verified != nil {
		verified = "one was verified " + memory.Ago(now.Sub(*s.Verified))
	}
	switch {
	case s.LastBackup == nil:
		return doctor.Doubtful("stele db backup --verify", "there is none yet; one is taken each night")
	case now.Sub(*s.LastBackup) > unsaved:
		return doctor.Doubtful("stele db backup --verify", "the newest was taken %s; %s", memory.Ago(now.Sub(*s.LastBackup)), verified)
	}
	return doctor.Good("the newest was taken %s; %s", memory.Ago(now.Sub(*s.LastBackup)), verified)
}

// The built-in encoder is of English, and its gate refuses what it would only guess at.
const (
	englishSentence = "The stock of the shop is counted every morning before it opens."
	foreignSentence = "Перед открытием магазина каждое утро считают товар."
)

// encodes has a sentence encoded, as a recall would.
func encodes(ctx context.Context, p embedding.Provider, c config.Config) doctor.Finding {
	if p.Model() == "" {
		return doctor.Unasked("none is configured, so recall goes by words")
	}
	if w, ok := p.(interface {
		Warm(ctx context.Context) error
	}); ok {
		if err := w.Warm(ctx); err != nil {
			return doctor.Failed(err)
		}
	}
	began := time.Now()
	vectors, err := p.Embed(ctx, []string{englishSentence})
	took := time.Since(began)
	switch {
	case err != nil:
		return doctor.Failed(err)
	case len(vectors) != 1 || len(vectors[0]) == 0:
		return doctor.Bad("choose another with STELE_EMBEDDING_PROVIDER, or none", "%s gave no vector of an English sentence", p.Model())
	}
	about := fmt.Sprintf("%s gives vectors of %d dimensions, a sentence in %s", p.Model(), len(vectors[0]), took.Round(100*time.Microsecond))
	if c.EmbeddingProvider != builtin {
		return doctor.Good("%s", about)
	}
	if vectors, err = p.Embed(ctx, []string{foreignSentence}); err != nil || len(vectors) != 1 || vectors[0] != nil {
		return doctor.Bad("report this as a fault of stele", "%s; its gate lets through a sentence that is not English", about)
	}
	return doctor.Good("%s; other languages than English are found by words", about)
}

// findServer looks whether a server runs on this machine: commands do not need one here.
func (x *examination) findServer(ctx context.Context) doctor.Finding {
	address := "http://" + reachable(x.config.Addr)
	// The question needs no token, and whoever listens there is to get none.
	c, err := client.New(client.Options{URL: address, Token: "none", Program: "stele/" + thisBuild().Version})
	if err != nil {
		return doctor.Unasked("none is set, and %s is no address to look for one", address)
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	version, err := c.Version(ctx)
	if err != nil || version == "" {
		return doctor.Unasked("none is set, and none answers at %s; commands work on the database", address)
	}
	return versions(fmt.Sprintf("commands work on the database; %s answers", address), version)
}

// reachable is an address on which a server listens as one to ask it at.
func reachable(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return addr
	}
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}

// project says which project commands are about here.
func (x *examination) project(ctx context.Context) doctor.Finding {
	if err := x.blamed["project"]; err != nil {
		return doctor.Failed(err)
	}
	b := x.backend
	c, err := b.Caller(ctx, x.app.project, false)
	if err != nil {
		return doctor.Failed(err)
	}
	if c.Project == uuid.Nil {
		return doctor.Good("none here yet; the first thing remembered here makes it, or stele init")
	}
	p, err := b.FindProject(ctx, c, c.Project.String())
	if err != nil {
		return doctor.Failed(err)
	}
	m, err := b.Map(ctx, c)
	if err != nil {
		return doctor.Failed(err)
	}
	if m.Total == 0 {
		return doctor.Doubtful("stele model import PATH", "%s (%s) has no architecture model", p.Name, p.ID)
	}
	return doctor.Good("%s (%s): %s", p.Name, p.ID, m.Headline)
}
