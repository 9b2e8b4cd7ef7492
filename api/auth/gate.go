package auth

import (
	"crypto/sha256"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"

	"golang.org/x/time/rate"

	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
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
	known    *recent[string] // ids of tokens that were valid lately
	refused  *recent[error]  // how tokens were refused a moment ago
}

// NewGate makes a gate.
func NewGate(c Config) *Gate {
	c.Limits = c.Limits.withDefaults()
	if c.Count == nil {
		c.Count = func(string) {}
	}
	return &Gate{Config: c, tokens: newBuckets(c.Limits.PerToken, c.Limits.Burst), failures: newBuckets(failureRate, c.Limits.Failures),
		streams: newCounters(c.Limits.Streams), known: newRecent[string](knownFor), refused: newRecent[error](refusedFor)}
}

// Wrap puts the gate before a handler.
func (g *Gate) Wrap(next http.Handler) http.Handler {
	return g.WrapBy(bearer, func(w http.ResponseWriter, _ *http.Request, err error) {
		p, _ := problem.As(err)
		Refuse(w, p)
	}, next)
}

// WrapBy is Wrap where requests say otherwise who asks, and whoever is not let through is answered otherwise. The error that
// refused is given is a *problem.Error.
func (g *Gate) WrapBy(reads func(*http.Request) (string, error), refused func(http.ResponseWriter, *http.Request, error), next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := reads(r)
		reason := "no_token"
		if err == nil {
			var c memory.Caller
			var t memory.Token
			if c, t, reason, err = g.admit(r, text); err == nil {
				next.ServeHTTP(w, r.WithContext(WithCaller(r.Context(), c, t)))
				return
			}
		}
		if p := g.refusal(r, reason, err); p != nil {
			refused(w, r, p)
		}
	})
}

// admit finds out who holds a token, as far as the limits allow. reason is what a refusal counts as; "" for a fault.
func (g *Gate) admit(r *http.Request, text string) (c memory.Caller, t memory.Token, reason string, err error) {
	hash := sha256.Sum256([]byte(text))
	// What was refused a moment ago is refused now. A client that goes on with a revoked token costs no lookup, and does
	// not use up what its address may send for the others there.
	if err, is := g.refused.get(hash); is {
		return c, t, "wrong_token", err
	}
	// Who holds a token that was valid a moment ago is not locked out by others who guess from the same address, and is
	// told to slow down before the lookup.
	id, known := g.known.get(hash)
	if known && !g.tokens.take(id) {
		return c, t, "too_many", errTooFast()
	}
	address, wrong := g.Address(r), false
	if !known {
		end, left, err := g.failures.reserve(r.Context(), address)
		if err != nil {
			return c, t, "", err
		}
		if !left {
			return c, t, "too_many", problem.New(problem.TooMany, "", "too many wrong tokens came from this address", "wait a minute and send a valid one")
		}
		defer func() { end(wrong) }()
	}
	c, t, err = g.Tokens.Authenticate(r.Context(), text)
	wrong = problem.Is(err, problem.Unauthenticated)
	switch {
	case wrong:
		g.known.forget(hash)
		g.refused.add(hash, err)
		g.Log.WarnContext(r.Context(), "a token was refused", "address", address)
		return c, t, "wrong_token", err
	case err != nil:
		return c, t, "", err
	}
	g.known.add(hash, t.ID.String())
	if !known && !g.tokens.take(t.ID.String()) {
		return c, t, "too_many", errTooFast()
	}
	return c, t, "", nil
}

func errTooFast() error {
	return problem.New(problem.TooMany, "", "this token sends more requests than the limit", "slow down, and wait as long as Retry-After says")
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
func (g *Gate) Admitted(r *http.Request) error { return g.AdmittedBy(bearer, r) }

// AdmittedBy is Admitted where requests say otherwise who asks.
func (g *Gate) AdmittedBy(reads func(*http.Request) (string, error), r *http.Request) error {
	text, err := reads(r)
	if err == nil {
		_, _, err = g.Tokens.Authenticate(r.Context(), text)
	}
	return err
}

// refusal counts one that is not let through and says why, nil when nobody waits for an answer.
func (g *Gate) refusal(r *http.Request, reason string, err error) *problem.Error {
	if reason != "" {
		g.Count(reason)
	}
	p, ok := problem.As(err)
	if !ok {
		if r.Context().Err() != nil {
			return nil //nolint:nilerr // nobody waits for an answer
		}
		g.Log.ErrorContext(r.Context(), "a token could not be looked up", "error", err)
		p = problem.New(problem.Unavailable, "", "the token cannot be looked up now", "try again in a moment")
	}
	return p
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
