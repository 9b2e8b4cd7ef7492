package web_test

import (
	"context"
	"testing"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/api"
	"github.com/stele-dev/stele/drift/since"
	"github.com/stele-dev/stele/internal/git"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

const (
	then  = "1111111111111111111111111111111111111111"
	today = "2222222222222222222222222222222222222222"
)

// What the code said when a memory was written stands beside what it says now, without a word of it being markup.
func TestCodeThenAndNow(t *testing.T) {
	t.Parallel()
	var asked []memory.CodeSpan
	w := newWorld(t, func(o *api.Options) {
		o.Code = func(_ context.Context, _ uuid.UUID, span memory.CodeSpan) (since.Changes, error) {
			asked = append(asked, span)
			if span.Patterns[0] == "api/lost.go" {
				return since.Changes{}, problem.New(problem.NotFound, "", "the repository here does not have it", "fetch")
			}
			return since.Changes{
				From: git.Commit{ID: then, Subject: "Begin"}, To: git.Commit{ID: today, Subject: "Now"}, Commits: []git.Commit{{ID: today, Author: "Bo <b>", Subject: "Rewrite"}},
				Files: []since.File{{Path: "api/stock.go", State: since.Changed, More: 3, Lines: []since.Line{{Sign: '@', Text: "-1 +1"}, {Sign: '-', Text: "\told <script>alert(1)</script>"}, {Sign: '+', Text: "new \u202e text"}}}},
			}, nil
		}
	})
	w.run(w.acme, today, []string{then})
	m := w.remember(w.acme, memory.RememberRequest{Content: "stock is cached", Elements: []string{"shop.api"}, Seen: &memory.Seen{Commit: then}})
	v := w.visit(w.acme, memory.RoleAgent)
	v.get("/p/shop/memories/"+m.Handle+"/code").shows(t, "api/stock.go", "    old &lt;script&gt;alert(1)&lt;/script&gt;", "Bo &lt;b&gt;", "3 more lines", "!<script>alert", "!\u202e")
	if len(asked) != 1 || asked[0].From != then || asked[0].To != today || len(asked[0].Patterns) != 1 || asked[0].Patterns[0] != "api/**" {
		t.Errorf("%+v", asked)
	}
	v.get("/p/shop/memories/"+m.Handle).shows(t, "/memories/"+m.Handle+"/code")

	lost := w.remember(w.acme, memory.RememberRequest{Content: "nothing is lost", Paths: []string{"api/lost.go"}, Seen: &memory.Seen{Commit: then}})
	v.get("/p/shop/memories/"+lost.Handle+"/code").shows(t, "the repository here does not have it")
	unseen := w.remember(w.acme, memory.RememberRequest{Content: "nobody looked", Scope: memory.Organization})
	v.get("/p/shop/memories/"+unseen.Handle+"/code").shows(t, "is about no files that are known")
	if n := len(asked); n != 2 {
		t.Errorf("asked %d times", n)
	}
	if got := w.visit(w.globex, memory.RoleAdmin).get("/p/shop/memories/" + m.Handle + "/code"); got.status != 404 {
		t.Errorf("another organization gets %d", got.status)
	}
	if n := len(asked); n != 2 {
		t.Error("the repository was asked for a stranger")
	}
}

// A server that reads no repository says where to look.
func TestCodeElsewhere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.remember(w.acme, memory.RememberRequest{Content: "stock is cached", Elements: []string{"shop.api"}, Seen: &memory.Seen{Commit: then}})
	w.visit(w.acme, memory.RoleAgent).get("/p/shop/memories/"+m.Handle+"/code").shows(t, "stele changes "+m.Handle)
}
