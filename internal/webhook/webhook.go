// Package webhook posts JSON to an address that an operator chose, signed when there is a secret, and to no machine inside
// the network unless the operator allows it: what a server can reach is more than what its webhook should.
package webhook

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/stele-dev/stele/internal/problem"
)

// Bounds of one message.
const (
	// MaxBody is how large a message may be, in bytes.
	MaxBody = 256 << 10
	// Timeout is how long one may take, from looking up the name to the end of the answer.
	Timeout = 10 * time.Second

	maxAnswer      = 64 << 10 // bytes of an answer that are read, so that a connection can be used again; the rest is left
	maxHeaderBytes = 16 << 10
)

// Options of a Sender. URL is required.
type Options struct {
	// URL is where to post. It may hold a secret in its path, as those of chat services do, so it stands in no error.
	URL string
	// Secret is what messages are signed with; "" signs none. A text whsec_… is the base64 form of a key, any other text is the
	// key itself.
	Secret string
	// AllowPrivate allows machines that are not on the public internet, plain http, and the proxy of HTTPS_PROXY, which looks
	// up names by itself.
	AllowPrivate bool
	Program      string // User-Agent
}

// Sender posts messages to one address. It is safe for concurrent use.
type Sender struct {
	url     *url.URL
	key     []byte
	program string
	http    *http.Client
	timeout time.Duration
	now     func() time.Time
}

// New makes a sender; nothing is sent yet. Errors are problems of the field url or secret.
func New(o Options) (*Sender, error) {
	const example = "write it as https://chat.example.org/hooks/…"
	u, err := url.Parse(strings.TrimSpace(o.URL))
	switch {
	case err != nil, u.Hostname() == "", u.Scheme != "http" && u.Scheme != "https":
		return nil, problem.Invalidf("url", "it is not the address of a webhook").Fix(example)
	case u.User != nil:
		return nil, problem.Invalidf("url", "it holds a user or a password, which would be sent along").Fix("leave them out; a secret signs messages")
	case u.Scheme == "http" && !o.AllowPrivate:
		return nil, problem.Invalidf("url", "plain http would show the message to everyone on the way").Fix(example).Because(ErrPrivate)
	}
	key := []byte(o.Secret)
	if text, is := strings.CutPrefix(o.Secret, "whsec_"); is {
		if key, err = base64.StdEncoding.DecodeString(text); err != nil || len(key) == 0 {
			return nil, problem.Invalidf("secret", "what follows whsec_ is no base64").Fix("copy the secret anew")
		}
	}
	dialer := &net.Dialer{Timeout: Timeout}
	transport := &http.Transport{
		DialContext: dialer.DialContext, TLSHandshakeTimeout: Timeout, ForceAttemptHTTP2: true, MaxIdleConns: 1, IdleConnTimeout: time.Minute,
		MaxResponseHeaderBytes: maxHeaderBytes,
	}
	if o.AllowPrivate {
		transport.Proxy = http.ProxyFromEnvironment
	} else {
		dialer.Control = publicOnly // it sees the address that is connected to, whatever name it was looked up by
	}
	return &Sender{url: u, key: key, program: o.Program, timeout: Timeout, now: time.Now, http: &http.Client{
		Transport: transport,
		// The operator chose an address, and not whatever it sends messages on to.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// Close ends idle connections.
func (s *Sender) Close() { s.http.CloseIdleConnections() }

// Host is the host that messages go to, for logs: what else is in the address may be secret.
func (s *Sender) Host() string { return s.url.Host }

// Send posts one message of JSON, once. id names the message; sent again under the same id it is the same message. The headers
// are those of Standard Webhooks 1.0: webhook-id, webhook-timestamp and, with a secret, webhook-signature, an HMAC-SHA256 over id,
// timestamp and body. Errors are problems: TooLarge, Unavailable when it may arrive later, Invalid when it will not.
func (s *Sender) Send(ctx context.Context, id string, body []byte) error {
	if len(body) > MaxBody {
		return problem.New(problem.TooLarge, "", fmt.Sprintf("the message has %d bytes, more than %d", len(body), MaxBody))
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url.String(), bytes.NewReader(body))
	if err != nil {
		return problem.Invalidf("url", "it is not the address of a webhook")
	}
	stamp := strconv.FormatInt(s.now().Unix(), 10)
	r.Header = http.Header{"Content-Type": {"application/json"}, "User-Agent": {s.program}, "Webhook-Id": {id}, "Webhook-Timestamp": {stamp}}
	if len(s.key) > 0 {
		r.Header.Set("Webhook-Signature", "v1,"+sign(s.key, id, stamp, body))
	}
	res, err := s.http.Do(r)
	if err != nil {
		return s.failure(ctx, err)
	}
	defer res.Body.Close()
	_, _ = io.CopyN(io.Discard, res.Body, maxAnswer) // what it says is nobody's business
	switch {
	case res.StatusCode < http.StatusMultipleChoices:
		return nil
	case res.StatusCode < http.StatusBadRequest:
		return problem.Invalidf("url", "%s sends messages on to another address, which is not followed", s.url.Host).Fix("set the address that it leads to")
	case res.StatusCode >= http.StatusInternalServerError, res.StatusCode == http.StatusTooManyRequests, res.StatusCode == http.StatusRequestTimeout:
		return problem.New(problem.Unavailable, "url", fmt.Sprintf("%s answers with status %d", s.url.Host, res.StatusCode))
	}
	return problem.Invalidf("url", "%s answers with status %d", s.url.Host, res.StatusCode).Fix("see what it takes, and whether the webhook is still there")
}

// ErrPrivate is the cause of a refusal of what is not on the public internet.
var ErrPrivate = errors.New("the address is not on the public internet")

// failure says why nothing was answered. What net/http says quotes the address, which may be secret.
func (s *Sender) failure(ctx context.Context, err error) error {
	if errors.Is(err, ErrPrivate) {
		return problem.Invalidf("url", "%s is inside the network: private, loopback and link-local addresses are refused", s.url.Host).
			Fix("give an address outside, or allow those of the network").Because(ErrPrivate)
	}
	reason := "it cannot be reached"
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		reason = fmt.Sprintf("it did not answer within %s", s.timeout)
	} else if inner, ok := errors.AsType[*url.Error](err); ok {
		reason = inner.Err.Error()
	}
	return problem.New(problem.Unavailable, "url", s.url.Host+": "+reason)
}

// sign is the signature of Standard Webhooks, version v1, in base64.
func sign(key []byte, id, stamp string, body []byte) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + stamp + "."))
	mac.Write(body)
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// publicOnly refuses connections to what is not on the public internet.
func publicOnly(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil || !public(at.Addr()) {
		return ErrPrivate
	}
	return nil
}

// special are blocks of the IANA registries of special-purpose addresses that netip does not tell apart: networks of carriers,
// protocols and documentation, and those that stand for IPv4 addresses in other words.
var special = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"), netip.MustParsePrefix("192.0.2.0/24"),
	netip.MustParsePrefix("192.88.99.0/24"), netip.MustParsePrefix("198.18.0.0/15"), netip.MustParsePrefix("198.51.100.0/24"),
	netip.MustParsePrefix("203.0.113.0/24"), netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("2001::/23"), netip.MustParsePrefix("2001:db8::/32"), netip.MustParsePrefix("2002::/16"), netip.MustParsePrefix("3fff::/20"),
}

// globalIPv6 is what is given out of IPv6 for the public internet.
var globalIPv6 = netip.MustParsePrefix("2000::/3")

// public tells whether an address is one of the public internet.
func public(a netip.Addr) bool {
	a = a.Unmap()
	if !a.IsGlobalUnicast() || a.IsPrivate() || a.Is6() && !globalIPv6.Contains(a) {
		return false
	}
	for _, block := range special {
		if block.Contains(a) {
			return false
		}
	}
	return true
}
