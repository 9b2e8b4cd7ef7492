package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/time/rate"

	"github.com/stele-dev/stele/api"
	"github.com/stele-dev/stele/api/auth"
	"github.com/stele-dev/stele/api/mcp"
	"github.com/stele-dev/stele/internal/config"
	"github.com/stele-dev/stele/internal/loopback"
	"github.com/stele-dev/stele/internal/postgres/embedded"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

func (a *app) serveCommand() *cobra.Command {
	profile := string(mcp.Coding)
	var addr string
	var probe bool
	c := &cobra.Command{
		Use: "serve", Short: "Serve REST and MCP over HTTP", Args: cobra.NoArgs,
		Long: "Serve REST at /v1, MCP at /mcp and the documentation at /docs until it is\n" +
			"interrupted. Every request needs a token: see stele token create. On the\n" +
			"embedded database the first start makes one for this machine, in a file that\n" +
			"only you can read.",
		Example: "  stele serve\n  stele serve --addr 0.0.0.0:7420",
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.load()
			if err != nil {
				return err
			}
			c.Addr = cmp.Or(addr, c.Addr)
			if probe {
				return a.probe(cmd.Context(), c.Addr)
			}
			return a.serve(cmd.Context(), c, mcp.Profile(profile))
		},
	}
	c.Flags().StringVar(&addr, "addr", "", "address to listen on (default 127.0.0.1:7420)")
	c.Flags().StringVar(&profile, "profile", profile, "set of MCP tools: coding or full")
	c.Flags().BoolVar(&probe, "probe", false, "ask a running server whether it is ready; for health checks of containers")
	a.completeFlag(c, "profile", fixed(string(mcp.Coding), string(mcp.Full)))
	return c
}

func (a *app) serve(ctx context.Context, c config.Config, profile mcp.Profile) error {
	proxies, err := prefixes(c.Proxies)
	if err != nil {
		return err
	}
	// The address first: that it is taken is known at once, and starting a database for nothing takes a while.
	l, err := listen(ctx, c.Addr, "STELE_ADDR", "choose another address with --addr")
	if err != nil {
		return err
	}
	defer l.Close()
	var metrics net.Listener
	if c.MetricsAddr != "" {
		if metrics, err = listen(ctx, c.MetricsAddr, "STELE_METRICS_ADDR", "choose another address"); err != nil {
			return err
		}
		defer metrics.Close()
	}
	// Every tenant is served, so none is chosen and none has to exist.
	b, err := a.operator(ctx)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewJSONHandler(a.err, &slog.HandlerOptions{Level: serverLevel(c)}))
	boundMemory(c)
	// A leak between tenants would be worse than no service.
	if err := b.db.Verify(ctx); err != nil {
		return err
	}
	if err := b.store.CheckKeys(ctx); err != nil {
		return err
	}
	runner := newDriftRunner(b, log)
	digests, err := newDigests(b, c, log)
	if err != nil {
		return err
	}
	server, err := api.New(api.Options{ //nolint:contextcheck // each request brings its own
		Service: b.domain, Webhook: api.Webhook{Secret: c.GitHubWebhookSecret, Pushed: runner.Pushed}, RunDrift: runner.Queue, Code: runner.code, Profile: profile,
		Version: thisBuild().Version, Log: log, Metrics: append(api.PoolMetrics(b.db.Stat), api.IndexMetrics(b.store.IndexStats)...),
		Hosts: fields(c.Hosts), Proxies: proxies, Limits: auth.Limits{PerToken: rate.Limit(c.Rate), Burst: int(2 * c.Rate)},
		Doctor: serverProbes(b),
		Ready: []api.Check{
			{Name: "database", Run: b.db.Ping},
			{Name: "schema", Run: b.db.CheckSchema},
			{Name: "keys", Run: b.store.CheckKeys, Every: keysEvery},
		},
	})
	if err != nil {
		return err
	}
	if b.cluster != nil {
		if err := a.localToken(ctx, b); err != nil {
			return err
		}
		withdraw, err := b.cluster.Announce(ctx, embedded.Server{URL: "http://" + reachable(l.Addr().String()), Organization: b.config.Organization})
		if err != nil {
			log.WarnContext(ctx, "hooks of this machine do not find this server", "error", err)
		} else {
			defer withdraw()
		}
	}
	work, stop := context.WithCancel(ctx)
	var background sync.WaitGroup
	background.Go(func() { b.elected(work, log, runner) })
	background.Go(func() { runner.work(work) })
	background.Go(func() { b.warm(work, log) })
	background.Go(func() {
		b.store.KeepIndexes(work, func(err error) { log.WarnContext(work, "recall asks the database", "error", err) })
	})
	if digests != nil {
		background.Go(func() { digests.elected(work) })
	}
	if metrics != nil {
		background.Go(func() {
			if err := server.ServeMetrics(work, metrics); err != nil {
				log.ErrorContext(work, "metrics are not served any more", "error", err)
			}
		})
		a.say("stele: metrics at http://%s/metrics\n", metrics.Addr())
	}
	defer background.Wait()
	defer stop()
	a.say("stele: serving http://%s (REST /v1, MCP /mcp, documentation /docs)\n", l.Addr())
	return server.Serve(ctx, l)
}

const megabyte = 1 << 20

// besideIndexes is what a busy server takes beside the indexes it holds, with what the garbage collector leaves for a while.
const besideIndexes = 100 * megabyte

// boundMemory has the garbage collector work harder before the indexes and their garbage take twice their bound. Who sets GOMEMLIMIT
// decides.
func boundMemory(c config.Config) {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(int64(c.IndexMemory)*megabyte + besideIndexes)
	}
}

func listen(ctx context.Context, addr, setting, fix string) (net.Listener, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, problem.New(problem.Unavailable, setting, fmt.Sprintf("cannot listen on %s: %v", addr, reasonOf(err)), "stop what listens there, or "+fix).Because(err)
	}
	return l, nil
}

// serverLevel is how much a server logs. A command says nothing as long as all is well; a server tells of each request,
// unless somebody says otherwise.
func serverLevel(c config.Config) slog.Level {
	if c.IsSet("log_level") {
		return c.LogLevel
	}
	return slog.LevelInfo
}

// say writes a line for the person who started the program, not for the log.
func (a *app) say(format string, args ...any) {
	if !a.json {
		fmt.Fprintf(a.err, format, args...)
	}
}

// fields are the names in a list separated by commas or spaces.
func fields(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
}

func prefixes(list string) ([]netip.Prefix, error) {
	var out []netip.Prefix
	for _, f := range fields(list) {
		p, err := netip.ParsePrefix(f)
		if err != nil {
			addr, aerr := netip.ParseAddr(f)
			if aerr != nil {
				return nil, problem.Invalidf("STELE_PROXIES", "%q is no network", f).Fix("write 10.0.0.0/8 or an address, separated by commas")
			}
			p = netip.PrefixFrom(addr, addr.BitLen())
		}
		out = append(out, p)
	}
	return out, nil
}

// reasonOf is what the system says, without the address that is told already.
func reasonOf(err error) error {
	for next := errors.Unwrap(err); next != nil; next = errors.Unwrap(err) {
		err = next
	}
	return err
}

// keysEvery is how often the keys are checked: up to a hundred transactions, for what an operator changes by hand.
const keysEvery = 30 * time.Second

// localToken makes the token of this machine when there is none: the embedded database belongs to one person, who should
// not have to administer it. It is never printed.
func (a *app) localToken(ctx context.Context, b *backend) error {
	path, err := localTokenFile(b.config)
	if err != nil {
		return err
	}
	if text, err := os.ReadFile(path); err == nil {
		if _, _, err := b.local.Authenticate(ctx, strings.TrimSpace(string(text))); err == nil {
			return nil
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return problem.New(problem.Unavailable, path, "the token of this machine cannot be read", "make the file readable for you, or remove it").Because(err)
	}
	// It is for the organization in which the commands of this machine work.
	dir, err := a.folder()
	if err != nil {
		return err
	}
	b.role, b.user = memory.RoleAdmin, (&place{dir: dir}).user(ctx, b.config.User)
	if b.org, err = b.organization(ctx); err != nil {
		return err
	}
	// The token has the name of the person, so that what they write through it and what they wrote before are of one author.
	made, err := b.local.CreateToken(ctx, b.caller(), memory.TokenRequest{Name: b.user, Role: memory.RoleAdmin})
	if problem.Is(err, problem.Conflict) { // its file was lost, or the token was made for another machine
		made, err = b.local.CreateToken(ctx, b.caller(), memory.TokenRequest{Name: b.user + " " + time.Now().UTC().Format(time.DateTime), Role: memory.RoleAdmin})
	}
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return problem.New(problem.Unavailable, path, "the folder of the token cannot be made", "make it, or set STELE_CONFIG to a file in another folder").Because(err)
	}
	if err := writePrivate(path, made.Text+"\n"); err != nil {
		return problem.New(problem.Unavailable, path, "the token of this machine cannot be written", "make the folder writable for you").Because(err)
	}
	a.say("stele: the token of this machine is in %s; the commands find it there\n", path)
	return nil
}

// writePrivate writes a file that only its owner can read, whole or not at all.
func writePrivate(path, text string) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".token-*") // made with mode 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // gone already when all went well
	_, err = f.WriteString(text)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	return err
}

// localTokenFile is where the token of this machine is kept: beside the master key, never in a repository.
func localTokenFile(c config.Config) (string, error) {
	if c.MasterKeyFile == "" {
		return "", problem.Invalidf("STELE_MASTER_KEY_FILE", "there is no configuration folder to keep the token of this machine in").Fix("set it to a file in a folder of your own")
	}
	return filepath.Join(filepath.Dir(c.MasterKeyFile), "local.token"), nil
}

// savedToken is the token of this machine for a server on this machine; "" when there is none.
func savedToken(c config.Config) string {
	u, err := url.Parse(c.Server)
	if err != nil {
		return ""
	}
	if !loopback.Is(u.Hostname()) {
		return "" // it is for nobody else to see
	}
	path, err := localTokenFile(c)
	if err != nil {
		return ""
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "" // whoever lacks a token is told what to do
	}
	return strings.TrimSpace(string(text))
}

// probeTimeout bounds a health check.
const probeTimeout = 5 * time.Second

// probe asks the server on an address whether it is ready. A server that listens everywhere is asked on this machine.
func (a *app) probe(ctx context.Context, addr string) error {
	if _, _, err := net.SplitHostPort(addr); err != nil {
		return problem.Invalidf("STELE_ADDR", "%q is not host:port", addr).Fix("write 127.0.0.1:7420")
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+reachable(addr)+"/readyz", nil)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return problem.New(problem.Unavailable, "", "no server answers on "+addr, "start one with stele serve").Because(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		fmt.Fprintln(a.err, "stele: the server is not ready; its log says why")
		return errNo
	}
	return nil
}
