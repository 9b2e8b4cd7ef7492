package github_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stele-dev/stele/drift/github"
	"github.com/stele-dev/stele/internal/problem"
)

const secret = "between us"

func signed(event, body, key string) http.Header {
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte(body))
	h := http.Header{}
	h.Set("X-Github-Event", event)
	h.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	return h
}

func TestParsePush(t *testing.T) {
	t.Parallel()
	const body = `{"ref":"refs/heads/main","after":"4b825dc642cb6eb9a060e54bf8d69288fbee4904","repository":{"html_url":"https://GitHub.com/Acme/Shop"}}`
	p, ok, err := github.ParsePush(signed("push", body, secret), []byte(body), secret)
	if err != nil || !ok || p != (github.Push{Repository: "github.com/acme/shop", Branch: "main", Commit: "4b825dc642cb6eb9a060e54bf8d69288fbee4904"}) {
		t.Fatalf("%+v %v %v", p, ok, err)
	}
	for name, refused := range map[string]http.Header{
		"another secret": signed("push", body, "guessed"), "another body": signed("push", body+" ", secret), "no signature": {"X-Github-Event": {"push"}},
		"the old kind of signature": {"X-Github-Event": {"push"}, "X-Hub-Signature": {"sha1=00"}},
	} {
		if _, _, err := github.ParsePush(refused, []byte(body), secret); !problem.Is(err, problem.Unauthenticated) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, err := github.ParsePush(signed("push", body, ""), []byte(body), ""); !problem.Is(err, problem.Unauthenticated) {
		t.Errorf("a server without a secret believes everybody: %v", err)
	}
	for name, c := range map[string][2]string{
		"a ping":           {"ping", `{"zen":"x"}`},
		"a tag":            {"push", `{"ref":"refs/tags/v1","repository":{"html_url":"https://github.com/a/b"}}`},
		"a deleted branch": {"push", `{"ref":"refs/heads/x","deleted":true,"repository":{"html_url":"https://github.com/a/b"}}`},
	} {
		if _, ok, err := github.ParsePush(signed(c[0], c[1], secret), []byte(c[1]), secret); ok || err != nil {
			t.Errorf("%s: %v %v", name, ok, err)
		}
	}
	for name, c := range map[string][2]string{"no JSON": {"push", "ref="}, "no repository": {"push", `{"ref":"refs/heads/x"}`}, "an unknown event": {"nonsense", `{}`}} {
		if _, _, err := github.ParsePush(signed(c[0], c[1], secret), []byte(c[1]), secret); !problem.Is(err, problem.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestContains(t *testing.T) {
	t.Parallel()
	answers := map[string]string{
		"/repos/acme/shop/compare/main...on":     `{"status":"behind","ahead_by":0,"behind_by":3}`,
		"/repos/acme/shop":                       `{"default_branch":"main"}`,
		"/repos/acme/shop/compare/x:main...on":   `{"status":"identical","ahead_by":0}`,
		"/repos/acme/shop/compare/main...tip":    `{"status":"identical","ahead_by":0}`,
		"/repos/acme/shop/compare/main...beyond": `{"status":"ahead","ahead_by":1}`,
		"/repos/acme/shop/compare/main...aside":  `{"status":"diverged","ahead_by":2,"behind_by":1}`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer tok" {
			http.Error(w, "{}", http.StatusUnauthorized)
			return
		}
		answer, ok := answers[r.URL.Path]
		if !ok {
			http.Error(w, "{}", http.StatusNotFound)
			return
		}
		_, _ = w.Write([]byte(answer))
	}))
	defer server.Close()
	c, err := github.NewClient("tok", server.URL, http.DefaultTransport)
	if err != nil {
		t.Fatal(err)
	}
	for commit, want := range map[string]bool{"on": true, "tip": true, "beyond": false, "aside": false, "unknown": false} {
		if got, err := c.Contains(t.Context(), "127.0.0.1/acme/shop", "main", commit); err != nil || got != want {
			t.Errorf("%s: %v, %v", commit, got, err)
		}
	}
	for _, name := range []string{"elsewhere", "example.org/acme/shop", "127.0.0.1/acme", "127.0.0.1/acme/shop/x", "127.0.0.1//shop"} {
		if ok, err := c.Contains(t.Context(), name, "main", "on"); ok || err == nil {
			t.Errorf("%s, which is no repository of this host: %v, %v", name, ok, err)
		}
	}
	if ok, err := c.Contains(t.Context(), "127.0.0.1/acme/shop", "x:main", "on"); ok || err == nil {
		t.Errorf("a branch of a fork: %v, %v", ok, err)
	}
	if branch, err := c.DefaultBranch(t.Context(), "127.0.0.1/acme/shop"); branch != "main" || err != nil {
		t.Errorf("default branch %q, %v", branch, err)
	}
	stranger, err := github.NewClient("", server.URL, http.DefaultTransport)
	if err != nil {
		t.Fatal(err)
	}
	if ok, err := stranger.Contains(t.Context(), "127.0.0.1/acme/shop", "main", "on"); ok || err == nil {
		t.Errorf("whoever may not see is told %v, %v", ok, err)
	}
}
