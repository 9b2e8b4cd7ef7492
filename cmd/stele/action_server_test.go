package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/memory"
)

// known is what a server knows of the shop: a pitfall of each container, and their handles.
func known(t *testing.T, s served, name string) (api, stock string) {
	t.Helper()
	project, err := s.local.CreateProject(t.Context(), s.admin, name, nil)
	if err != nil {
		t.Fatal(err)
	}
	c := s.admin
	c.Project = project.ID
	_, err = s.local.ImportModel(t.Context(), c, memory.ModelImport{Model: &c4model.Model{Elements: []c4model.Element{
		{Key: "shop", Name: "Shop", Level: c4model.System},
		{Key: "shop.api", Name: "API", Level: c4model.Container, Parent: "shop", Properties: map[string]string{"path": "services/api"}},
		{Key: "shop.stock", Name: "Stock", Level: c4model.Container, Parent: "shop", Properties: map[string]string{"path": "services/stock"}},
	}, Relationships: []c4model.Relationship{{Source: "shop.api", Destination: "shop.stock"}}}})
	if err != nil {
		t.Fatal(err)
	}
	remember := func(element, title string) string {
		made, err := s.local.Remember(t.Context(), c, memory.RememberRequest{Kind: memory.Pitfall, Elements: []string{element}, Title: title, Content: "Confidential: " + title + " breaks on Sundays."})
		if err != nil {
			t.Fatal(err)
		}
		return made.Memory.Handle
	}
	return remember("shop.api", "Secret of the API"), remember("shop.stock", "Secret of the stock")
}

// A run of the tracked branch is stored and puts memories in doubt; one of a pull request says what it would do. Nothing of what
// a memory says is told.
func TestActionOnServer(t *testing.T) {
	t.Parallel()
	s := serveTest(t)
	api, stock := known(t, s, "acme/shop")
	token := s.token(t, memory.TokenRequest{Name: "pipeline", Role: memory.RoleCI, Project: "acme/shop", Tracked: true})
	repo := shop(t)
	base := repo.Head()
	r := newRunner(t, repo).with("server-url", s.url).with("token", token)
	first := r.push("refs/heads/main", zeros).run()
	first.want(t, exitDone, map[string]string{"score": "100", "doubted-memories": "0"})
	if first.outputs["run-id"] == "" {
		t.Fatalf("no run:\n%s", first.log)
	}
	again := r.run()
	again.want(t, exitDone, map[string]string{"run-id": first.outputs["run-id"]})

	repo.Branch("topic").Rename("services/stock", "services/store").Commit("Move the stock")
	head := repo.Head()
	r.env["GITHUB_SHA"] = head
	j := r.pull("acme/shop", base, head).run()
	j.want(t, exitDone, map[string]string{"doubted-memories": "1"}, "1 memory that this would put in doubt", stock)
	own := r.hub.by(bot)
	if len(own) != 1 || !strings.Contains(own[0].Body, stock) || !strings.Contains(own[0].Body, "on <code>shop.stock</code>") ||
		!strings.Contains(own[0].Body, "Known pitfalls") || strings.Contains(own[0].Body, api) {
		t.Fatalf("the comment: %+v\n%s", own, j.log)
	}
	told := fmt.Sprint(own, j.log, j.summary, j.outputs, readFile(t, j.outputs["report"]))
	if strings.Contains(told, "Confidential") || strings.Contains(told, "Secret of") {
		t.Errorf("what was told: %s", told)
	}
	if j = r.with("comment-titles", "true").run(); !strings.Contains(j.log, "may not read memories") || strings.Contains(fmt.Sprint(r.hub.by(bot)), "Secret of") {
		t.Errorf("titles for a token that may not read: %s", j.log)
	}
	r.with("comment-titles", "")

	// Who may read memories sees titles when asked for.
	reviewer := s.token(t, memory.TokenRequest{Name: "robin", Role: memory.RoleReviewer, Project: "acme/shop"})
	repo.Write("services/api/more.go", "package api\n").Commit("Grow the API")
	r.env["GITHUB_SHA"] = repo.Head()
	j = r.pull("acme/shop", base, repo.Head()).with("token", reviewer).run()
	own = r.hub.by(bot)
	if len(own) != 1 || !strings.Contains(own[0].Body, "Known pitfalls") || !strings.Contains(own[0].Body, api) || strings.Contains(own[0].Body, "Secret") {
		t.Errorf("without titles: %+v\n%s", own, j.log)
	}
	j = r.with("comment-titles", "true").run()
	own = r.hub.by(bot)
	if len(own) != 1 || !strings.Contains(own[0].Body, "Secret of the API") || !strings.Contains(own[0].Body, "Secret of the stock") || strings.Contains(own[0].Body, "Confidential") {
		t.Errorf("with titles: %+v\n%s", own, j.log)
	}

	// The merge does what was announced.
	repo.Checkout("main").Merge("topic")
	r.env["GITHUB_SHA"] = repo.Head()
	j = r.push("refs/heads/main", base).with("token", token).with("comment-titles", "").run()
	j.want(t, exitDone, map[string]string{"doubted-memories": "1"}, "1 memory in doubt", stock)
	c := s.admin
	found, err := s.local.FindProject(t.Context(), s.admin, "acme/shop")
	if err != nil {
		t.Fatal(err)
	}
	c.Project = found.ID
	got, err := s.local.Get(t.Context(), c, []string{stock, api})
	if err != nil || len(got) != 2 || len(got[0].Flags) == 0 || len(got[1].Flags) > 0 {
		t.Errorf("flags: %+v, %v", got, err)
	}
}

// The project is the repository's; a token that may makes it.
func TestActionFindsItsProject(t *testing.T) {
	t.Parallel()
	s := serveTest(t)
	named, err := s.local.CreateProject(t.Context(), s.admin, "named", nil)
	if err != nil {
		t.Fatal(err)
	}
	may := s.token(t, memory.TokenRequest{Name: "maker", Role: memory.RoleCI, CreateProjects: true})
	mayNot := s.token(t, memory.TokenRequest{Name: "pipeline", Role: memory.RoleCI})
	repo := shop(t)
	run := func(token, project string) job {
		return newRunner(t, repo).push("refs/heads/main", zeros).with("server-url", s.url).with("token", token).with("project", project).run()
	}
	if j := run(mayNot, ""); j.code != exitDone || j.outputs["run-id"] != "" || !strings.Contains(j.log, `::warning title=Stele%3A server::project: there is no project "acme/shop"`) {
		t.Errorf("exit code %d\n%s", j.code, j.log)
	}
	if j := run(may, ""); j.outputs["run-id"] == "" {
		t.Errorf("no project was made:\n%s", j.log)
	}
	made, err := s.local.FindProject(t.Context(), s.admin, "remote:github.com/acme/shop")
	if err != nil || made.Name != "acme/shop" {
		t.Errorf("the project: %+v, %v", made, err)
	}
	if j := run(mayNot, ""); j.outputs["run-id"] == "" {
		t.Errorf("the project is not found:\n%s", j.log)
	}
	if j := run(mayNot, "named"); j.outputs["run-id"] == "" {
		t.Errorf("the named project is not found:\n%s", j.log)
	}
	c := s.admin
	c.Project = named.ID
	if runs, err := s.local.DriftHistory(t.Context(), c, memory.RunQuery{}); err != nil || len(runs) != 1 || runs[0].Repository != "github.com/acme/shop" {
		t.Errorf("runs: %+v, %v", runs, err)
	}
}

// A server that is away, or that does not know the token, is a warning.
func TestActionOutlivesTheServer(t *testing.T) {
	t.Parallel()
	s := serveTest(t)
	repo := tea(shop(t))
	for name, set := range map[string]func(r *runner){
		"a wrong token":       func(r *runner) { r.with("server-url", s.url).with("token", "stele_wrong") },
		"plain http":          func(r *runner) { r.with("server-url", "http://stele.example.org").with("token", "stele_wrong") },
		"not even an address": func(r *runner) { r.with("server-url", "stele").with("token", "stele_wrong") },
	} {
		r := newRunner(t, repo).push("refs/heads/main", zeros)
		set(r)
		j := r.run()
		j.want(t, exitDone, map[string]string{"status": "checked", "run-id": ""}, "The Stele server could not be asked")
		if !strings.Contains(j.log, "::warning title=Stele%3A server::") {
			t.Errorf("%s: %s", name, j.log)
		}
	}
	// Without a token, such as in what a bot proposes, nothing is asked.
	j := newRunner(t, repo).push("refs/heads/main", zeros).with("server-url", s.url).run()
	j.want(t, exitDone, map[string]string{"run-id": ""}, "There is no token for the Stele server, so nothing is sent to it")
	if strings.Contains(j.log, "::warning title=Stele%3A server") {
		t.Errorf("the log: %s", j.log)
	}
}

// A repository that the model of a server describes takes it from there. Where nobody may be asked, it is as if there were none.
func TestActionTakesTheModelOfTheServer(t *testing.T) {
	t.Parallel()
	s := serveTest(t)
	known(t, s, "acme/shop")
	token := s.token(t, memory.TokenRequest{Name: "pipeline", Role: memory.RoleCI})
	repo := shop(t).Remove("docs").Remove("stele.yaml").Commit("Keep the model elsewhere")
	r := newRunner(t, repo).push("refs/heads/main", zeros).with("model", "server")
	r.run().want(t, exitDone, map[string]string{"status": "not_checked"}, "the model is on the server, and no server is named")
	r.with("server-url", s.url).with("token", token)
	j := r.run()
	j.want(t, exitDone, map[string]string{"status": "checked", "total-elements": "3"})
	if j.outputs["run-id"] == "" {
		t.Errorf("the run was not sent:\n%s", j.log)
	}
	repo = repo.Branch("topic").Write("README.md", "Shop.\n").Commit("Describe")
	newRunner(t, repo).pull("mallory/shop", repo.Head(), repo.Head()).with("model", "server").with("server-url", s.url).with("token", token).run().
		want(t, exitDone, map[string]string{"status": "not_checked"}, "comes from a fork")
}
