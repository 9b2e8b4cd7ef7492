package webhook

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stele-dev/stele/internal/problem"
)

func TestPublic(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]bool{
		"8.8.8.8": true, "1.1.1.1": true, "172.15.0.1": true, "172.32.0.1": true, "100.63.255.255": true, "100.128.0.1": true, "2606:4700::1111": true,
		"2a00::1": true, "::ffff:8.8.8.8": true,
		"127.0.0.1": false, "127.8.9.1": false, "10.1.2.3": false, "172.16.0.1": false, "172.31.255.255": false, "192.168.1.1": false, "169.254.169.254": false,
		"0.0.0.0": false, "0.1.2.3": false, "100.64.0.1": false, "198.18.0.1": false, "224.0.0.1": false, "240.0.0.1": false, "255.255.255.255": false,
		"192.0.2.1": false, "::": false, "::1": false, "fe80::1": false, "fe80::1%eth0": false, "fc00::1": false, "fd00:ec2::254": false, "ff02::1": false,
		"::ffff:127.0.0.1": false, "::ffff:10.0.0.1": false, "::127.0.0.1": false, "64:ff9b::a00:1": false, "2002:7f00:1::": false, "2001:db8::1": false,
		"2001:0:1::1": false, "fec0::1": false,
	} {
		if got := public(netip.MustParseAddr(address)); got != want {
			t.Errorf("%s: %v, want %v", address, got, want)
		}
	}
}

// receiver counts what it is sent and answers with a status.
type receiver struct {
	*httptest.Server

	status int
	to     string
	seen   atomic.Int32
	last   atomic.Pointer[http.Request]
	body   atomic.Pointer[string]
}

func receive(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{status: http.StatusNoContent}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		text, err := io.ReadAll(q.Body)
		if err != nil {
			t.Error(err)
		}
		body := string(text)
		r.body.Store(&body)
		r.last.Store(q)
		r.seen.Add(1)
		if r.to != "" {
			w.Header().Set("Location", r.to)
		}
		w.WriteHeader(r.status)
	}))
	t.Cleanup(r.Close)
	return r
}

func sender(t *testing.T, o Options) *Sender {
	t.Helper()
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// The signature is that of the example in the specification of Standard Webhooks.
func TestSendSigns(t *testing.T) {
	t.Parallel()
	r := receive(t)
	s := sender(t, Options{URL: r.URL, Secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", AllowPrivate: true, Program: "stele/1"})
	s.now = func() time.Time { return time.Unix(1614265330, 0) }
	if err := s.Send(t.Context(), "msg_p5jXN8AQM9LWM0D4loKWxJek", []byte(`{"test": 2432232314}`)); err != nil {
		t.Fatal(err)
	}
	h := r.last.Load().Header
	for name, want := range map[string]string{
		"webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek", "webhook-timestamp": "1614265330", "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
		"content-type": "application/json", "user-agent": "stele/1",
	} {
		if got := h.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if got := *r.body.Load(); got != `{"test": 2432232314}` {
		t.Errorf("it arrived as %q", got)
	}
	bare := sender(t, Options{URL: r.URL, AllowPrivate: true})
	if err := bare.Send(t.Context(), "1", nil); err != nil || r.last.Load().Header.Get("Webhook-Signature") != "" {
		t.Errorf("without a secret: %v, %q", err, r.last.Load().Header.Get("Webhook-Signature"))
	}
}

// What is inside the network is refused when it is connected to, by whatever name: here, before a byte is sent.
func TestSendRefusesTheInside(t *testing.T) {
	t.Parallel()
	r := receive(t)
	u, err := url.Parse(r.URL)
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"127.0.0.1", "localhost", "127.1", "[::ffff:127.0.0.1]"} {
		s := sender(t, Options{URL: "https://" + host + ":" + u.Port() + "/T0/secret-part"})
		err := s.Send(t.Context(), "1", []byte("{}"))
		if err == nil || strings.Contains(err.Error(), "secret-part") {
			t.Errorf("%s: %v", host, err)
		}
		if host != "127.1" && !problem.Is(err, problem.Invalid) { // no name of a machine, where it is not taken for an address
			t.Errorf("%s: %v", host, err)
		}
	}
	if n := r.seen.Load(); n != 0 {
		t.Errorf("%d messages arrived", n)
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	inside := receive(t)
	for _, tc := range []struct {
		status int
		to     string
		want   problem.Code
	}{
		{200, "", ""},
		{204, "", ""},
		{301, inside.URL, problem.Invalid},
		{302, inside.URL, problem.Invalid},
		{307, inside.URL, problem.Invalid},
		{308, inside.URL, problem.Invalid},
		{401, "", problem.Invalid},
		{404, "", problem.Invalid},
		{429, "", problem.Unavailable},
		{500, "", problem.Unavailable},
		{503, "", problem.Unavailable},
	} {
		r := receive(t)
		r.status, r.to = tc.status, tc.to
		err := sender(t, Options{URL: r.URL + "/secret-part", AllowPrivate: true}).Send(t.Context(), "1", []byte("{}"))
		if tc.want == "" && err != nil || tc.want != "" && !problem.Is(err, tc.want) {
			t.Errorf("%d: %v, want %q", tc.status, err, tc.want)
		}
		if err != nil && strings.Contains(err.Error(), "secret-part") {
			t.Errorf("%d: %v", tc.status, err)
		}
		if n := r.seen.Load(); n != 1 {
			t.Errorf("%d: it was sent %d times", tc.status, n)
		}
	}
	if n := inside.seen.Load(); n != 0 {
		t.Errorf("%d messages were sent on", n)
	}
}

// An address that never answers is given up, and the error tells no more of it than its host.
func TestSilence(t *testing.T) {
	t.Parallel()
	done := make(chan struct{})
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-done:
		}
	}))
	t.Cleanup(silent.Close)
	t.Cleanup(func() { close(done) })
	s := sender(t, Options{URL: silent.URL + "/secret-part", AllowPrivate: true})
	s.timeout = 50 * time.Millisecond
	if err := s.Send(t.Context(), "1", []byte("{}")); !problem.Is(err, problem.Unavailable) || strings.Contains(err.Error(), "secret-part") ||
		!strings.Contains(err.Error(), "within 50ms") {
		t.Errorf("silence: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	gone := sender(t, Options{URL: "http://127.0.0.1:1/secret-part", AllowPrivate: true})
	if err := gone.Send(ctx, "1", []byte("{}")); !problem.Is(err, problem.Unavailable) || strings.Contains(err.Error(), "secret-part") {
		t.Errorf("interrupted: %v", err)
	}
	if err := gone.Send(t.Context(), "1", make([]byte, MaxBody+1)); !problem.Is(err, problem.TooLarge) {
		t.Errorf("a large message: %v", err)
	}
}

func TestNew(t *testing.T) {
	t.Parallel()
	for _, bad := range []Options{
		{}, {URL: "chat.example.org/x"}, {URL: "ftp://chat.example.org"}, {URL: "https://"}, {URL: "https://kim:pass@chat.example.org"}, {URL: "http://chat.example.org"},
		{URL: "https://chat.example.org", Secret: "whsec_!"}, {URL: "https://chat.example.org", Secret: "whsec_"}, {URL: "https://chat.example.org:port"},
	} {
		if _, err := New(bad); !problem.Is(err, problem.Invalid) || strings.Contains(err.Error(), "pass@") {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	for _, good := range []Options{{URL: "https://chat.example.org/x?y=1"}, {URL: " http://10.0.0.1 ", AllowPrivate: true}, {URL: "https://10.0.0.1", Secret: "plain"}} {
		if s := sender(t, good); s.Host() == "" {
			t.Errorf("%+v: no host", good)
		}
	}
}
