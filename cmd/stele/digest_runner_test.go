package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/stele-dev/stele/api"
	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/internal/config"
	"github.com/stele-dev/stele/internal/postgres/pgtest"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/internal/secret"
	"github.com/stele-dev/stele/memory"
	store "github.com/stele-dev/stele/memory/postgres"
)

// inbox is a webhook that keeps what it is sent; it answers with the statuses in turn, then with 200.
type inbox struct {
	*httptest.Server

	mu       sync.Mutex
	statuses []int
	bodies   []string
	ids      []string
	signed   bool
}

func newInbox(t *testing.T, statuses ...int) *inbox {
	t.Helper()
	in := &inbox{statuses: statuses}
	in.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		in.mu.Lock()
		defer in.mu.Unlock()
		in.bodies, in.ids, in.signed = append(in.bodies, string(body)), append(in.ids, r.Header.Get("Webhook-Id")), r.Header.Get("Webhook-Signature") != ""
		status := http.StatusOK
		if len(in.statuses) > 0 {
			status, in.statuses = in.statuses[0], in.statuses[1:]
		}
		w.WriteHeader(status)
	}))
	t.Cleanup(in.Close)
	return in
}

func digestsTest(t *testing.T, c config.Config) (*digests, *backend, *bytes.Buffer) {
	t.Helper()
	master, err := secret.GenerateMaster()
	if err != nil {
		t.Fatal(err)
	}
	s := store.New(pgtest.New(t), master)
	b := &backend{local: memory.New(s, memory.Options{}), store: s}
	b.domain = api.NewDomain(b.local, s)
	log := &bytes.Buffer{}
	d, err := newDigests(b, c, slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	d.pause = time.Millisecond
	return d, b, log
}

// Each project that somebody works with is told of once, without a word of a memory.
func TestDigestsAreSent(t *testing.T) {
	t.Parallel()
	in := newInbox(t, http.StatusServiceUnavailable)
	d, b, log := digestsTest(t, config.Config{DigestSchedule: "0 8 * * 1", DigestURL: in.URL + "/hooks/secret-part", DigestSecret: "s", DigestAllowPrivate: true})
	ctx := t.Context()
	org, err := b.local.EnsureOrganization(ctx, "acme")
	if err != nil {
		t.Fatal(err)
	}
	c := memory.Caller{Org: org, User: "kim", Role: memory.RoleAdmin, Door: memory.FromCLI}
	for _, name := range []string{"shop", "idle"} {
		p, err := b.local.CreateProject(ctx, c, name, nil)
		if err != nil {
			t.Fatal(err)
		}
		if name == "idle" {
			continue
		}
		c.Project = p.ID
		if _, err := b.local.ImportModel(ctx, c, memory.ModelImport{Model: &c4model.Model{Elements: []c4model.Element{{Key: "shop", Name: "Shop", Level: c4model.System}}}, Source: "w.dsl"}); err != nil {
			t.Fatal(err)
		}
		m, err := b.local.Remember(ctx, c, memory.RememberRequest{Kind: memory.Pitfall, Title: "Quince", Content: "Marmalade boils over.", Elements: []string{"shop"}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.local.Confirm(ctx, c, memory.ConfirmRequest{Memory: m.Memory.Handle, Note: "Only in copper."}); err != nil {
			t.Fatal(err)
		}
	}
	at := time.Now().UTC()
	d.send(ctx, at)
	if len(in.bodies) != 2 || in.bodies[0] != in.bodies[1] || in.ids[0] != in.ids[1] || !in.signed {
		t.Fatalf("%d messages %v, signed %v: %s", len(in.bodies), in.ids, in.signed, log)
	}
	var got digestMessage
	if err := json.Unmarshal([]byte(in.bodies[0]), &got); err != nil {
		t.Fatal(err)
	}
	if got.Type != "review.digest" || got.Project != "shop" || got.Data.Written != 1 || !strings.HasPrefix(got.Text, "# shop\n\n") || !strings.Contains(got.Text, "1 of 1 elements") {
		t.Errorf("%s", in.bodies[0])
	}
	for _, word := range []string{"Marmalade", "Quince", "copper"} {
		if strings.Contains(in.bodies[0], word) {
			t.Errorf("the digest tells %q: %s", word, in.bodies[0])
		}
	}
	if strings.Contains(log.String(), "secret-part") || !strings.Contains(log.String(), "sent a digest") {
		t.Errorf("the log: %s", log)
	}
}

// What is refused for good is not tried again, and the log names the setting and no secret.
func TestDigestsThatAreRefused(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		status  int
		private bool
		tries   int
		log     string
	}{
		"gone":   {http.StatusNotFound, true, 1, "STELE_DIGEST_URL"},
		"away":   {http.StatusBadGateway, true, digestTries, "status 502"},
		"inside": {http.StatusOK, false, 0, "STELE_DIGEST_ALLOW_PRIVATE=true allows it"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := newInbox(t, tc.status, tc.status, tc.status, tc.status)
			address := in.URL
			if !tc.private {
				address = strings.Replace(address, "http://", "https://", 1)
			}
			d, b, log := digestsTest(t, config.Config{DigestSchedule: "@weekly", DigestURL: address + "/hooks/secret-part", DigestAllowPrivate: tc.private})
			org, err := b.local.EnsureOrganization(t.Context(), "acme")
			if err != nil {
				t.Fatal(err)
			}
			c := memory.Caller{Org: org, User: "kim", Role: memory.RoleAdmin, Door: memory.FromCLI}
			p, err := b.local.CreateProject(t.Context(), c, "shop", nil)
			if err != nil {
				t.Fatal(err)
			}
			c.Project = p.ID
			if _, err := b.local.Remember(t.Context(), c, memory.RememberRequest{Content: "Marmalade boils over."}); err != nil {
				t.Fatal(err)
			}
			d.send(t.Context(), time.Now())
			if len(in.bodies) != tc.tries || !strings.Contains(log.String(), tc.log) || strings.Contains(log.String(), "secret-part") {
				t.Errorf("%d tries, log %s", len(in.bodies), log)
			}
		})
	}
}

func TestDigestSettings(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		config config.Config
		field  string
	}{
		{config.Config{DigestSchedule: "weekly", DigestURL: "https://chat.example.org/x"}, "STELE_DIGEST_SCHEDULE"},
		{config.Config{DigestSchedule: "0 8 * * 1"}, "STELE_DIGEST_URL"},
		{config.Config{DigestSchedule: "0 8 * * 1", DigestURL: "chat.example.org"}, "STELE_DIGEST_URL"},
		{config.Config{DigestSchedule: "0 8 * * 1", DigestURL: "http://chat.example.org"}, "STELE_DIGEST_URL"},
		{config.Config{DigestSchedule: "0 8 * * 1", DigestURL: "https://chat.example.org", DigestSecret: "whsec_!"}, "STELE_DIGEST_SECRET"},
	} {
		_, err := newDigests(nil, tc.config, nil)
		if p, ok := problem.As(err); !ok || p.Field != tc.field || len(p.Fixes) == 0 {
			t.Errorf("%+v: %v", tc.config, err)
		}
	}
	if d, err := newDigests(nil, config.Config{DigestURL: "https://chat.example.org"}, nil); d != nil || err != nil {
		t.Errorf("no schedule: %v, %v", d, err)
	}
}

// A digest tells of the time since the one before it.
func TestDigestsLookBackToTheOneBefore(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ schedule, now, want string }{
		{"0 8 * * 1", "2026-11-30T08:00:00.02Z", "2026-11-23T08:00:00Z"},
		{"0 8 * * 1,4", "2026-11-30T08:00:00Z", "2026-11-26T08:00:00Z"},
		{"0 8 * * 1,4", "2026-12-03T08:00:59Z", "2026-11-30T08:00:00Z"},
		{"0 0 1 1 *", "2027-01-01T00:00:00Z", "2026-12-01T00:00:00Z"}, // a year is too much for a digest
	} {
		schedule, err := cron.ParseStandard(tc.schedule)
		now, perr := time.Parse(time.RFC3339, tc.now)
		if err = errors.Join(err, perr); err != nil {
			t.Fatal(err)
		}
		if got := (&digests{schedule: schedule}).before(now.UTC()).Format(time.RFC3339); got != tc.want {
			t.Errorf("%s at %s: since %s, want %s", tc.schedule, tc.now, got, tc.want)
		}
	}
}
