package memory_test

import (
	"context"
	"testing"
	"time"

	"github.com/stele-dev/stele/drift"
	"github.com/stele-dev/stele/memory"
)

// The map says how each element stands: the worst of the latest tracked run of each repository.
func TestMapTellsDrift(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	_, err := w.ImportModel(context.Background(), w.c, shopModel())
	w.must(err)
	states := func() map[string]memory.DriftState {
		t.Helper()
		m, err := w.Map(context.Background(), w.c)
		w.must(err)
		out := map[string]memory.DriftState{}
		for _, e := range m.Elements {
			out[e.Key] = e.Drift
		}
		return out
	}
	if s := states()["shop.api"]; s.State != "unknown" || s.Since != nil {
		t.Errorf("before any run: %+v", s)
	}
	push := func(n int, repository string, tracked bool, change func(*drift.Report)) {
		t.Helper()
		w.now = w.now.Add(time.Minute)
		_, err := w.push(n, func(p *memory.RunPush) {
			p.Repository, p.Tracked = repository, tracked
			change(&p.Report)
		})
		w.must(err)
	}
	push(1, "example.org/shop", true, func(r *drift.Report) {
		r.Elements, r.Unbound = map[string]drift.Tally{"Shop.API": {Score: 100, Passed: 1, Weight: 1}}, []string{"shop.web"}
	})
	if s := states(); s["shop.api"].State != "matched" || s["shop"].State != "matched" || s["shop.web"].State != "unbound" {
		t.Errorf("a run without findings: %+v", s)
	}
	broken := gone(w, "shop.api", 2)
	push(2, "example.org/shop", true, func(r *drift.Report) {
		r.Findings = []drift.Finding{{Fingerprint: "f", Check: drift.LanguageMismatch, Element: "shop.web", Subject: "Go"}, broken}
	})
	s := states()
	if got := s["shop.api"]; got.State != "missing" || got.Since == nil || !got.Since.Equal(broken.Since.Time) {
		t.Errorf("files that are gone: %+v", got)
	}
	if got := s["shop.web"]; got.State != "drifted" || got.Since != nil {
		t.Errorf("another finding: %+v", got)
	}
	push(3, "example.org/shop", false, func(r *drift.Report) {
		r.Elements = map[string]drift.Tally{"shop.api": {Score: 100, Passed: 1, Weight: 1}}
	})
	push(3, "example.org/pages", true, func(r *drift.Report) {
		r.Elements, r.Unbound = map[string]drift.Tally{"shop.web": {Score: 100, Passed: 1, Weight: 1}}, []string{"shop.api"}
	})
	if s := states(); s["shop.api"].State != "missing" || s["shop.web"].State != "drifted" {
		t.Errorf("a proposal changes nothing, and another repository makes nothing better: %+v", s)
	}
	push(4, "example.org/shop", true, func(r *drift.Report) { r.Unbound = []string{"shop.web", "shop.api"} })
	if s := states(); s["shop.api"].State != "unbound" || s["shop.web"].State != "matched" {
		t.Errorf("what one repository does not have the other may: %+v", s)
	}
}
