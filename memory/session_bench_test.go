package memory_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/memory"
	"github.com/stele-dev/stele/session"
)

// BenchmarkStartSession starts work sessions with a briefing among 20,000 memories on 500 elements, half of which have work under
// way. It reports the median and the 95th percentile.
func BenchmarkStartSession(b *testing.B) {
	w := newWorld(b, nil)
	ctx := context.Background()
	im := memory.ModelImport{Model: &c4model.Model{Elements: []c4model.Element{{Key: "city", Name: "City", Level: c4model.System}}}, Source: "city.dsl"}
	for i := range 499 {
		parent, level := "city", c4model.Container
		if i >= 20 {
			parent, level = fmt.Sprintf("city.e%d", i%20), c4model.Component
		}
		im.Model.Elements = append(im.Model.Elements, c4model.Element{Key: fmt.Sprintf("%s.e%d", parent, i), Name: fmt.Sprintf("Element %d", i), Level: level, Parent: parent})
		im.Bindings = append(im.Bindings, c4model.Binding{Element: fmt.Sprintf("%s.e%d", parent, i), Pattern: fmt.Sprintf("src/e%d/**", i)})
	}
	_, err := w.ImportModel(ctx, w.c, im)
	w.must(err)
	l := w.load(20_000, 7)
	sessions := session.New(w.Service, w.h.store)
	for i := range 20 {
		c := w.c
		c.User, c.Session = fmt.Sprint("other", i), fmt.Sprint("other", i)
		e := l.elements[1+i*7]
		_, err := sessions.StartSession(ctx, c, session.StartRequest{Task: "elsewhere", Elements: []string{e.Key}})
		w.must(err)
		_, err = sessions.FinishSession(ctx, c, session.FinishRequest{Summary: "did something " + fmt.Sprint(i), FollowUps: []string{"do more " + fmt.Sprint(i)}})
		w.must(err)
		_, err = sessions.StartSession(ctx, c, session.StartRequest{Task: "elsewhere", Elements: []string{e.Key}})
		w.must(err)
	}
	questions := l.questions(200)
	var times []time.Duration
	b.ResetTimer()
	for n := 0; b.Loop(); n++ {
		c := w.c
		c.User, c.Session = "starter", fmt.Sprint("client", n)
		began := time.Now()
		out, err := sessions.StartSession(ctx, c, session.StartRequest{Task: questions[n%len(questions)], Elements: []string{l.elements[1+n%(len(l.elements)-1)].Key}})
		w.must(err)
		times = append(times, time.Since(began))
		if out.Briefing == "" {
			b.Fatal("no briefing")
		}
		b.StopTimer()
		_, err = sessions.CancelSession(ctx, c, out.SessionID)
		w.must(err)
		b.StartTimer()
	}
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(times[len(times)*95/100].Microseconds())/1000, "p95-ms")
}
