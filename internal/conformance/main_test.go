package main

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPassesOnWithToken(t *testing.T) {
	t.Parallel()
	var got *http.Request
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r
		w.WriteHeader(http.StatusForbidden)
	}))
	defer server.Close()
	target, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://evil.example.com/mcp/p/shop?x=1", http.NoBody)
	r.Header.Set("Origin", "http://evil.example.com")
	r.Header.Set("Mcp-Method", "tools/list")
	w := httptest.NewRecorder()
	withToken(target, "secret").ServeHTTP(w, r)
	if w.Code != http.StatusForbidden {
		t.Errorf("status %d", w.Code)
	}
	if diff := cmp.Diff(map[string]string{
		"host": "evil.example.com", "path": "/mcp/p/shop?x=1", "origin": "http://evil.example.com", "method": "tools/list", "authorization": "Bearer secret",
		"forwarded": "",
	}, map[string]string{
		"host": got.Host, "path": got.RequestURI, "origin": got.Header.Get("Origin"), "method": got.Header.Get("Mcp-Method"),
		"authorization": got.Header.Get("Authorization"), "forwarded": got.Header.Get("X-Forwarded-For"),
	}); diff != "" {
		t.Error(diff)
	}
}

func TestRefusesToStart(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ server, token string }{{"http://127.0.0.1:7420", ""}, {"127.0.0.1", "x"}} {
		if err := run(t.Context(), tc.server, tc.token); err == nil {
			t.Errorf("%+v: it starts", tc)
		}
	}
}
