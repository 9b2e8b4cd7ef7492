package auth

import (
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"

	"golang.org/x/time/rate"

	"github.com/stele-dev/stele/internal/problem"
)

// Limits bound what callers can ask. Zero values mean the defaults.
type Limits struct {
	// PerToken is the requests a token may send a second, lasting; default 50: an agent sends one every few seconds, and a
	// client that replays a backlog is slowed before it crowds out others.
	PerToken rate.Limit
	// Burst is how many a token may send at once; default 100.
	Burst int
	// Failures is how many requests with a wrong token an address may send at once, one more every 6 s; default 10. Guessing
	// 192 random bits is hopeless anyway: the limit keeps guesses off the database.
	Failures int
	// Streams is how many streams a token may hold open; default 16.
	Streams int
}

func (l Limits) withDefaults() Limits {
	if l.PerToken == 0 {
		l.PerToken = 50
	}
	if l.Burst == 0 {
		l.Burst = 100
	}
	if l.Failures == 0 {
		l.Failures = 10
	}
	if l.Streams == 0 {
		l.Streams = 16
	}
	return l
}

// failureRate is how fast an address that sent wrong tokens may send more: one every 6 s.
const failureRate = rate.Limit(1.0 / 6)

// Config of a Gate.
type Config struct {
	Tokens  Authenticator
	Limits  Limits
	Proxies []netip.Prefix // whose X-Forwarded-For is believed
	Log     *slog.Logger
	// Count is told of every request that was refused: no_token, wrong_token, too_many. May be nil.
	Count func(reason string)
}

// Gate lets requests with a valid token through, as fast as their limits allow. It is safe for concurrent use.
type Gate struct {
	Config
	tokens   *buckets // by token id
	failures *buckets // by address
	streams  *counters
	known    *recent // hashes of tokens that were valid lately
}

// NewGate makes a gate.
func NewGate(c Config) *Gate {
	c.Limits = c.Limits.withDefaults()
	if c.Count == nil {
		c.Count = func(string) {}
	}
	return &Gate{Config: c, tokens: newBuckets(c.Limits.PerToken, c.Limits.Burst), failures: newBuckets(failureRate, c.Limits.Failures),
		streams: newCounters(c.Limits.Streams), known: newRecent()}
}

// Wrap puts the gate before a handler.
func (g *Gate) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := bearer(r)
		if err != nil {
			g.refuse(w, r, "no_token", err)
			return
		}
		address := g.Address(r)
		// Who holds a token that was valid a moment ago is not locked out by others who guess from the same address.
		if !g.known.has(text) && !g.failures.left(address) {
			g.refuse(w, r, "too_many", problem.New(problem.TooMany, "", "too many wrong tokens came from this address", "wait a minute and send a valid one"))
			return
		}
		c, t, err := g.Tokens.Authenticate(r.Context(), text)
		if err != nil {
			if problem.Is(err, problem.Unauthenticated) {
				g.failures.take(address)
				g.known.forget(text)
				g.Log.WarnContext(r.Context(), "a token was refused", "address", address)
				g.refuse(w, r, "wrong_token", err)
				return
			}
			g.refuse(w, r, "", err)
			return
		}
		g.known.add(text)
		if !g.tokens.take(t.ID.String()) {
			g.refuse(w, r, "too_many", problem.New(problem.TooMany, "", "this token sends more requests than the limit", "slow down, and wait as long as Retry-After says"))
			return
		}
		next.ServeHTTP(w, r.WithContext(WithCaller(r.Context(), c, t)))
	})
}

// Stream counts a stream of the caller; done gives it back.
func (g *Gate) Stream(r *http.Request) (done func(), err error) {
	_, t, err := CallerFrom(r.Context())
	if err != nil {
		return nil, err
	}
	if !g.streams.take(t.ID.String()) {
		g.Count("too_many")
		return nil, problem.New(problem.TooMany, "", "this token holds as many streams as it may", "close one of them")
	}
	return func() { g.streams.give(t.ID.String()) }, nil
}

// Admitted tells whether the token of a request is still valid: a stream outlives the moment at which it was let through.
func (g *Gate) Admitted(r *http.Request) error {
	text, err := bearer(r)
	if err == nil {
		_, _, err = g.Tokens.Authenticate(r.Context(), text)
	}
	return err
}

func (g *Gate) refuse(w http.ResponseWriter, r *http.Request, reason string, err error) {
	if reason != "" {
		g.Count(reason)
	}
	p, ok := problem.As(err)
	if !ok {
		if r.Context().Err() != nil {
			return // nobody waits for an answer
		}
		g.Log.ErrorContext(r.Context(), "a token could not be looked up", "error", err)
		p = problem.New(problem.Unavailable, "", "the token cannot be looked up now", "try again in a moment")
	}
	Refuse(w, p)
}

// Address is where a request comes from: the peer, or what the nearest proxy that is believed says. IPv6 counts by /64, the
// smallest part of the network that one owner has.
func (g *Gate) Address(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return host
	}
	forwarded := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(forwarded) - 1; i >= 0 && g.believed(addr); i-- {
		next, err := netip.ParseAddr(strings.TrimSpace(forwarded[i]))
		if err != nil {
			break
		}
		addr = next
	}
	addr = addr.Unmap()
	if addr.Is6() {
		if p, err := addr.WithZone("").Prefix(64); err == nil {
			return p.String()
		}
	}
	return addr.String()
}

func (g *Gate) believed(addr netip.Addr) bool {
	addr = addr.Unmap()
	for _, p := range g.Proxies {
		if p.Contains(addr) {
			return true
		}
	}
	return false
}
