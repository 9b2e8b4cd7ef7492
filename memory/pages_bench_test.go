package memory_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stele-dev/stele/api"
	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/memory"
)

// BenchmarkPages asks for pages of a project with 1,000 elements and 20,000 memories, of which 400 are disputed. It reports the median,
// the 95th percentile, and the bytes that a browser is sent, compressed.
func BenchmarkPages(b *testing.B) {
	w := newWorld(b, nil)
	ctx := context.Background()
	im := memory.ModelImport{Model: &c4model.Model{Elements: []c4model.Element{{Key: "city", Name: "City", Level: c4model.System}}}, Source: "city.dsl"}
	for i := range 999 {
		parent, level := "city", c4model.Container
		if i >= 40 {
			parent, level = fmt.Sprintf("city.e%d", i%40), c4model.Component
		}
		key := fmt.Sprintf("%s.e%d", parent, i)
		im.Model.Elements = append(im.Model.Elements, c4model.Element{Key: key, Name: fmt.Sprintf("Element %d", i), Level: level, Parent: parent, Technology: "Go"})
		im.Bindings = append(im.Bindings, c4model.Binding{Element: key, Pattern: fmt.Sprintf("src/e%d/**", i)})
		if i > 40 {
			im.Model.Relationships = append(im.Model.Relationships, c4model.Relationship{Source: key, Destination: "city.e" + fmt.Sprint(i*7%40), Description: "asks"})
		}
	}
	_, err := w.ImportModel(ctx, w.c, im)
	w.must(err)
	l := w.load(20_000, 7)
	o := api.Options{Service: api.NewDomain(w.Service, w.h.store), Version: "bench"}
	o.Limits.PerToken, o.Limits.Burst = 1e6, 1e6
	server, err := api.New(o)
	w.must(err)
	site := httptest.NewServer(server.Handler())
	defer site.Close()
	token, err := w.CreateToken(ctx, w.c, memory.TokenRequest{Name: "bench", Role: memory.RoleAdmin})
	w.must(err)
	jar, err := cookiejar.New(nil)
	w.must(err)
	browser := &http.Client{Jar: jar}
	form, err := http.NewRequestWithContext(ctx, http.MethodPost, site.URL+"/sign-in", strings.NewReader(url.Values{"token": {token.Text}}.Encode()))
	w.must(err)
	form.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	in, err := browser.Do(form)
	w.must(err)
	in.Body.Close()
	listed, err := w.List(ctx, w.c, memory.ListRequest{Limit: 100, Kinds: []memory.Kind{memory.Pitfall}})
	w.must(err)
	for _, m := range listed.Memories {
		_, err := w.Confirm(ctx, w.c, memory.ConfirmRequest{Memory: m.Handle, Note: "not any more"})
		w.must(err)
	}
	question := l.questions(1)[0]
	for _, page := range []struct{ name, path string }{
		{"map", "/"}, {"element", "/elements/city.e3"}, {"memory", "/memories/" + listed.Memories[0].Handle}, {"recall", "/recall?q=" + url.QueryEscape(question)},
		{"review", "/review?all=1"}, {"drift", "/drift"}, {"sessions", "/sessions"}, {"live", "/live"}, {"settings", "/settings"}, {"diagram", "/diagrams/city"},
	} {
		b.Run(page.name, func(b *testing.B) {
			var times []time.Duration
			size := 0
			for b.Loop() {
				r, err := http.NewRequestWithContext(ctx, http.MethodGet, site.URL+"/p/shop"+page.path, nil)
				w.must(err)
				r.Header.Set("Accept-Encoding", "gzip") // set by hand: nothing unpacks it
				began := time.Now()
				res, err := browser.Do(r)
				w.must(err)
				body, err := io.ReadAll(res.Body)
				w.must(err)
				res.Body.Close()
				times = append(times, time.Since(began))
				if size = len(body); res.StatusCode != http.StatusOK || !strings.HasPrefix(res.Request.URL.Path, "/p/") {
					b.Fatalf("%s: %d at %s", page.path, res.StatusCode, res.Request.URL)
				}
			}
			slices.Sort(times)
			b.ReportMetric(float64(times[len(times)/2].Microseconds())/1000, "p50-ms")
			b.ReportMetric(float64(times[len(times)*95/100].Microseconds())/1000, "p95-ms")
			b.ReportMetric(float64(size)/1000, "kB")
		})
	}
}
