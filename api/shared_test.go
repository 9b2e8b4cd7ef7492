package api_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"testing"

	"github.com/stele-dev/stele/api"
	"github.com/stele-dev/stele/drift"
	"github.com/stele-dev/stele/drift/github"
	"github.com/stele-dev/stele/memory"
)

func TestWebhookBelievesOnlyWhatIsSigned(t *testing.T) {
	t.Parallel()
	const secret = "between us"
	var pushed []github.Push
	w := newWorld(t, func(o *api.Options) {
		o.Webhook = api.Webhook{Secret: secret, Pushed: func(_ context.Context, p github.Push) (int, error) { pushed = append(pushed, p); return 1, nil }}
	})
	const body = `{"ref":"refs/heads/main","after":"1","repository":{"html_url":"https://github.com/acme/shop"}}`
	signed := func(key string) func(*http.Request) {
		return func(r *http.Request) {
			mac := hmac.New(sha256.New, []byte(key))
			mac.Write([]byte(body))
			r.Header.Set("X-Github-Event", "push")
			r.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
		}
	}
	if got := w.send("", http.MethodPost, "/v1/webhooks/github", body, signed(secret)); got.status != http.StatusAccepted || len(pushed) != 1 {
		t.Fatalf("%d %s, %v", got.status, got.body, pushed)
	}
	if got := w.send("", http.MethodPost, "/v1/webhooks/github", body, signed("guessed")); got.status != http.StatusUnauthorized || len(pushed) != 1 {
		t.Errorf("another secret: %d %s", got.status, got.body)
	}
	if got := w.send("", http.MethodPost, "/v1/webhooks/github", strings.Repeat("a", 9<<20), signed(secret)); got.status != http.StatusRequestEntityTooLarge {
		t.Errorf("too large: %d %.200s", got.status, got.body)
	}
	bare := newWorld(t)
	if got := bare.send("", http.MethodPost, "/v1/webhooks/github", body, signed("")); got.status != http.StatusNotFound {
		t.Errorf("a server without a secret: %d %s", got.status, got.body)
	}
}

func TestBadgesNeedTheirSecret(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := context.Background()
	c := w.acme.admin
	c.Project = w.acme.shop.ID
	on := true
	settings, err := w.service.ChangeDriftSettings(ctx, c, memory.DriftSettingsChange{Badge: &on})
	if err != nil {
		t.Fatal(err)
	}
	score, coverage := 93, 50
	commit := strings.Repeat("ab", 20)
	_, err = w.service.PushRun(ctx, c, memory.RunPush{
		Repository: "example.org/shop", Branch: "main", DefaultBranch: "main", Ancestors: []string{commit}, Tracked: true,
		Report: drift.Report{Status: drift.Checked, Score: &score, Coverage: &coverage, Passed: 93, Weight: 100, Commit: commit, InputHash: "1", EngineVersion: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	base := "/v1/badges/" + w.acme.org.String() + "/" + w.acme.shop.ID.String() + "/"
	for what, want := range map[string]string{"score.svg": "93", "coverage.svg": "50"} {
		got := w.send("", http.MethodGet, base+settings.Badge+"/"+what, "")
		if got.status != http.StatusOK || !strings.Contains(got.body, ">"+want+"<") || !strings.HasPrefix(got.body, "<svg") {
			t.Errorf("%s: %d %s", what, got.status, got.body)
		}
	}
	for _, path := range []string{
		base + "guessed/score.svg", base + settings.Badge + "/other.svg", base + settings.Badge + "/score.png", "/v1/badges/x/y/z/score.svg",
		"/v1/badges/" + w.globex.org.String() + "/" + w.acme.shop.ID.String() + "/" + settings.Badge + "/score.svg",
		"/v1/badges/" + w.acme.org.String() + "/" + w.acme.depot.ID.String() + "//score.svg",
	} {
		if got := w.send("", http.MethodGet, path, ""); got.status != http.StatusNotFound && got.status != http.StatusUnauthorized {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
	off := false
	if _, err := w.service.ChangeDriftSettings(ctx, c, memory.DriftSettingsChange{Badge: &off}); err != nil {
		t.Fatal(err)
	}
	if got := w.send("", http.MethodGet, base+settings.Badge+"/score.svg", ""); got.status != http.StatusNotFound {
		t.Errorf("after it was switched off: %d", got.status)
	}
}
