package main

import (
	"bufio"
	"bytes"
	"context"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"

	"github.com/stele-dev/stele/api"
	"github.com/stele-dev/stele/internal/config"
	"github.com/stele-dev/stele/internal/postgres/pgtest"
	"github.com/stele-dev/stele/internal/secret"
	"github.com/stele-dev/stele/memory"
	store "github.com/stele-dev/stele/memory/postgres"
	"github.com/stele-dev/stele/review"
)

// served is a server on a database of its own, in the process of the test.
type served struct {
	url   string
	local api.Domain
	admin memory.Caller // who looks after its organization
}

func serveTest(tb testing.TB) served {
	tb.Helper()
	master, err := secret.GenerateMaster()
	if err != nil {
		tb.Fatal(err)
	}
	database := store.New(pgtest.New(tb), master)
	s := served{local: api.NewDomain(memory.New(database, memory.Options{}), database)}
	server, err := api.New(api.Options{Service: s.local, Version: "1.2"})
	if err != nil {
		tb.Fatal(err)
	}
	h := httptest.NewServer(server.Handler())
	tb.Cleanup(h.Close)
	org, err := s.local.EnsureOrganization(context.WithoutCancel(tb.Context()), "acme")
	if err != nil {
		tb.Fatal(err)
	}
	s.url, s.admin = h.URL, memory.Caller{Org: org, User: "operator", Role: memory.RoleAdmin, Door: memory.FromCLI}
	return s
}

// token makes one.
func (s served) token(tb testing.TB, r memory.TokenRequest) string {
	tb.Helper()
	made, err := s.local.CreateToken(context.WithoutCancel(tb.Context()), s.admin, r)
	if err != nil {
		tb.Fatal(err)
	}
	return made.Text
}

// nowhere is a database that nothing may reach for: what works all the same works without one.
const nowhere = "postgres://nobody@127.0.0.1:1/nothing"

// TestScriptsOnServer runs scripts that also run on a database, and those of testdata/server, against a server.
func TestScriptsOnServer(t *testing.T) {
	t.Parallel()
	p := scripts(func(tb testing.TB) map[string]string {
		tb.Helper()
		s := serveTest(tb)
		depot, err := s.local.CreateProject(tb.Context(), s.admin, "depot", nil)
		if err != nil {
			tb.Fatal(err)
		}
		return map[string]string{
			"STELE_SERVER": s.url, "STELE_DATABASE_URL": nowhere, "DEPOT": depot.ID.String(),
			"STELE_TOKEN": s.token(tb, memory.TokenRequest{Name: "kim", Role: memory.RoleAdmin}),
			"AGENT":       s.token(tb, memory.TokenRequest{Name: "lea"}),
			"BOUND":       s.token(tb, memory.TokenRequest{Name: "robin", Project: "depot"}),
			"CI":          s.token(tb, memory.TokenRequest{Name: "pipeline", Role: memory.RoleCI}),
		}
	})
	p.Condition = func(name string) (bool, error) { return name == "server", nil }
	own, err := filepath.Glob(filepath.Join("testdata", "server", "*.txtar"))
	if err != nil || len(own) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	p.Files = own
	for _, shared := range []string{"memories", "model", "terminal", "team", "export", "push", "sessions", "events"} {
		p.Files = append(p.Files, filepath.Join("testdata", "script", shared+".txtar"))
	}
	testscript.Run(t, p)
}

// remotely runs a command line against the server, in this process.
func remotely(t *testing.T, variables map[string]string, args ...string) (string, int) {
	t.Helper()
	out := &bytes.Buffer{}
	a := &app{
		in: strings.NewReader("Tea is hot."), out: bufio.NewWriter(out), err: out, width: defaultWidth,
		environment: config.Environment{Variables: variables}, dir: t.TempDir(),
	}
	defer a.close()
	code := a.run(t.Context(), args)
	return out.String(), code
}

// onServer says of each command that works against a server how it is called there and what it prints. Commands are in
// the order of the life of a memory: each finds what those before it left.
var onServer = []struct {
	command string
	args    []string
	want    string // expression that the output fits
	code    int
}{
	{"project create", []string{"shop"}, `Made project shop`, exitDone},
	{"project list", nil, `  shop`, exitDone},
	{"project settings", []string{"--without-organization=false"}, `  shop\s+memories of the organization: told`, exitDone},
	{"init", []string{"--no-model"}, `Project shop`, exitDone},
	{"model check", []string{"MODEL"}, `Would import 1 system, 1 container`, exitDone},
	{"model import", []string{"MODEL"}, `Imported 1 system, 1 container`, exitDone},
	{"model show", nil, `API  container`, exitDone},
	{"adr import", []string{"ADRS"}, `1 decision: 1 added`, exitDone},
	{"remember", []string{"--kind", "pitfall", "--element", "shop.api", "--path", "api/tea.go", "--title", "Tea", "-"}, `Remembered m-`, exitDone},
	{"recall", []string{"how hot is tea"}, `Tea is hot`, exitDone},
	{"list", []string{"--since", "today"}, `Tea`, exitDone},
	{"get", []string{"Tea"}, `by kim`, exitDone},
	{"confirm", []string{"Tea"}, `Confirmed m-`, exitDone},
	{"edit", []string{"Tea", "--tag", "brew"}, `tags: brew`, exitDone},
	{"stats", nil, `memories +\d+ live(?s:.*)recall goes by words`, exitDone},
	{"changes", []string{"Tea"}, `written against no known commit`, exitNo},
	{"history", []string{"Tea"}, `by kim \(cli\)`, exitDone},
	{"history", []string{"Tea"}, `served to no session yet|served \d+ time`, exitDone},
	{"timeline", []string{"Tea"}, `> .*Tea`, exitDone},
	{"why", []string{"api/tea.go:3"}, `Tea is hot`, exitDone},
	{"context", []string{"make", "the", "API", "hotter"}, `shop.api`, exitDone},
	{"diagram", []string{"shop"}, `<svg (?s:.*)<title id="diagram-title">Containers of Shop</title>(?s:.*)API`, exitDone},
	{"impact", []string{"API"}, `shop.api(?s:.*)Tea`, exitDone},
	{"plan", []string{"make", "the", "API", "hotter"}, `1. shop.api(?s:.*)keep to`, exitDone},
	{"map", nil, `1 of 2 elements documented`, exitDone},
	{"export markdown", []string{"OUT"}, `Exported 1 memory`, exitDone},
	{"export json", []string{"-"}, `Tea is hot`, exitDone},
	{"import markdown", []string{"OUT"}, `Imported 0 memories \(1 known\)`, exitDone},
	{"sync", []string{"SYNC"}, `1 memory in .*: 1 written`, exitDone},
	{"import json", []string{"-"}, `it is no JSON export of Stele`, exitFailed},
	{"import memsearch", []string{"OUT"}, `there is no day of memsearch`, exitNo},
	{"import claude-mem", []string{"MODEL"}, `neither a database nor an export of claude-mem`, exitFailed},
	{"forget", []string{"Tea"}, `Retired m-`, exitDone},
	{"restore", []string{"HANDLE"}, `Restored m-`, exitDone},
	{"session start", []string{"--task", "brew", "--element", "shop.api"}, `Started work session ws-(?s:.*)Tea`, exitDone},
	{"session list", []string{"--mine"}, `ws-[a-z2-7]{7}  kim  since .*\n  brew`, exitDone},
	{"session heartbeat", []string{"SESSION", "--summary", "half"}, `on: shop.api`, exitDone},
	{"session show", []string{"SESSION"}, `shown, for \d+ tokens?:\s.*m-[a-z2-7]{7}  briefing  Tea`, exitDone},
	{"session finish", []string{"SESSION", "--used", "Tea", "--follow-up", "warm the cups"}, `cited: m-(?s:.*)left open: warm the cups`, exitDone},
	{"session cancel", []string{"SESSION"}, `is over \(finished\); start another one`, exitFailed},
	{"events", []string{"--limit", "1"}, `^20\S+ \d\d:\d\d  \w+ .* by kim \(cli\)`, exitDone},
	{"confirm", []string{"Tea", "--false", "--note", "it is cold"}, `Marked m-`, exitDone},
	{"review list", nil, `^1 group to look at, 1 item(?s:.*)g-[0-9a-f]{12}  disputed.*\n  it is cold`, exitDone},
	{"review show", []string{"GROUP"}, `DISPUTED: it is cold\n  Tea is hot`, exitDone},
	{"review snooze", []string{"Tea"}, `Put off: 1 memory, 1 item settled`, exitDone},
	{"review undo", []string{"DECISION"}, `Took back: snooze of 1 memory`, exitDone},
	{"review keep", []string{"Tea"}, `Kept as they are: 1 memory`, exitDone},
	{"review dispute", []string{"Tea", "--reason", "it is cold again"}, `Marked as disputed: 1 memory`, exitDone},
	{"review confirm", []string{"Tea"}, `Confirmed 1 memory`, exitDone},
	{"review edit", []string{"Tea", "--text", "-"}, `stands for them now: m-`, exitDone},
	{"review merge", []string{"Tea"}, `a merge is into one of the two, or into a new text`, exitFailed},
	{"review accept-binding", []string{"Tea"}, `nothing is open about what you named`, exitNo},
	{"review reattach", []string{"Tea", "--element", "shop"}, `Attached anew: 1 memory`, exitDone},
	{"review retire", []string{"Tea"}, `Retired 1 memory`, exitDone},
	{"review restore", []string{"HANDLE"}, `Restored 1 memory`, exitDone},
	{"review promote", []string{"Tea"}, `Promoted 1 memory`, exitDone},
	{"review history", nil, `promote of 1 memory(?s:.*)by kim \(cli\)`, exitDone},
	{"review digest", nil, `^## `, exitDone},
	{"org show", nil, `acme .*\n?you are kim, role admin`, exitDone},
	{"token create", []string{"--name", "sam"}, `STELE_TOKEN=stele_[a-z2-7]+\n +STELE_SERVER=http://`, exitDone},
	{"token list", nil, `sam, role agent`, exitDone},
	{"token revoke", []string{"sam"}, `Revoked token sam`, exitDone},
	{"audit", nil, `revoke_token`, exitDone},
	{"bind suggest", nil, `in no git repository`, exitFailed},
	{"bind accept", nil, `in no git repository`, exitFailed},
	{"bind set", []string{"shop.api", "api/**"}, `in no git repository`, exitFailed},
	{"bind none", []string{"shop.api", "bought"}, `in no git repository`, exitFailed},
	{"bind list", nil, `in no git repository`, exitFailed},
	{"check", nil, `not in a git repository`, exitFailed},
	{"bench staleness", nil, `not in a git repository`, exitFailed},
	{"drift score", nil, `Not checked`, exitNo},
	{"drift history", nil, `no run is stored yet`, exitDone},
	{"drift settings", []string{"--tracked-branch", "main"}, `tracked branch  main`, exitDone},
	{"model held", nil, `no model waits`, exitNo},
	{"model accept", nil, `no model waits`, exitNo},
	{"model reject", nil, `no model waits`, exitNo},
	{"drift run", nil, `not in a git repository`, exitFailed},
	{"model draft", nil, `not in a git repository`, exitFailed},
	{"drift show", []string{"3f9c2a"}, `not in a git repository`, exitFailed},
	{"drift waive", []string{"3f9c2a", "--reason", "soon"}, `not in a git repository`, exitFailed},
	{"drift ignore", []string{"examples/**"}, `not in a git repository`, exitFailed},
	{"doctor", nil, `ok +server +http://\S+ answers, stele 1\.2\s+ok +token +speaks for kim of organization acme, role admin`, exitDone},
	{"open", []string{"--print"}, `^http://\S+/sign-in\?link=stele_[a-z2-7]+`, exitDone},
	{"install", nil, `claude-code +(not )?found`, exitDone},
	{"uninstall", []string{"cursor"}, `HOME: there is no home folder`, exitFailed},
	{"hook log", nil, `No hook was called`, exitDone},
	{"statusline", nil, `^stele`, exitDone},
	{"turn", []string{"Tea"}, `came from no conversation`, exitNo},
	{"mcp", nil, `error`, exitDone}, // what is no message of the protocol is answered with an error
	{"config", nil, `token +\*+ · environment`, exitDone},
	{"version", nil, `^stele `, exitDone},
	{"completion", []string{"bash"}, `bash completion`, exitDone},
}

var quoted = regexp.MustCompile(`"([^"]+)"`)

// No command is forgotten: each works against a server, or says that it needs the database.
func TestEveryCommandKnowsOfServers(t *testing.T) {
	t.Parallel()
	s := serveTest(t)
	variables := map[string]string{
		"STELE_SERVER": s.url, "STELE_TOKEN": s.token(t, memory.TokenRequest{Name: "kim", Role: memory.RoleAdmin}),
		"STELE_PROJECT": "shop", "STELE_DATABASE_URL": nowhere, "STELE_DATA_DIR": t.TempDir(),
	}
	dir := t.TempDir()
	model, adrs := filepath.Join(dir, "workspace.dsl"), filepath.Join(dir, "adr")
	writeFile(t, model, "workspace {\n  !identifiers hierarchical\n  model {\n    shop = softwareSystem \"Shop\" {\n      api = container \"API\" \"makes tea\" \"Go\"\n    }\n  }\n}\n")
	writeFile(t, filepath.Join(adrs, "0001-brew.md"), "# 1. Brew\n\n## Status\n\nAccepted\n\n## Context\n\nTea.\n")
	known := map[string]bool{}
	for _, tc := range onServer {
		known[tc.command] = true
		args := strings.Fields(tc.command)
		for _, arg := range tc.args {
			switch arg {
			case "SESSION":
				out, _ := remotely(t, variables, "session", "list", "--all", "--json")
				arg = regexp.MustCompile(`ws-[a-z2-7]{7}`).FindString(out)
			case "MODEL":
				arg = model
			case "ADRS":
				arg = adrs
			case "SYNC":
				arg = filepath.Join(dir, "sync")
			case "OUT":
				arg = filepath.Join(dir, "out")
			case "HANDLE":
				shop, err := s.local.FindProject(t.Context(), s.admin, "shop")
				if err != nil {
					t.Fatal(err)
				}
				c := s.admin
				c.Project = shop.ID
				page, err := s.local.List(t.Context(), c, memory.ListRequest{Status: memory.Retired})
				if err != nil || len(page.Memories) != 1 {
					t.Fatalf("retired: %v, %v", page.Memories, err)
				}
				arg = page.Memories[0].Handle
			case "GROUP", "DECISION":
				shop, err := s.local.FindProject(t.Context(), s.admin, "shop")
				if err != nil {
					t.Fatal(err)
				}
				c := s.admin
				c.Project = shop.ID
				queue, err := s.local.ReviewQueue(t.Context(), c, review.QueueRequest{All: true})
				if err != nil {
					t.Fatal(err)
				}
				decided, err := s.local.ReviewHistory(t.Context(), c, review.HistoryRequest{})
				if err != nil {
					t.Fatal(err)
				}
				if arg == "GROUP" {
					arg = queue.Groups[0].ID
				} else {
					arg = decided.Decisions[0].ID
				}
			}
			args = append(args, arg)
		}
		if out, code := remotely(t, variables, args...); code != tc.code || !regexp.MustCompile(tc.want).MatchString(out) {
			t.Errorf("stele %s: exit code %d, want %d and %s in\n%s", tc.command, code, tc.code, tc.want, out)
		}
	}
	a, _ := offline(nil)
	root := a.root()
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			visit(sub)
		}
		if c.HasSubCommands() || c.Hidden {
			return
		}
		name := strings.TrimPrefix(c.CommandPath(), root.Name()+" ")
		if _, needs := c.Annotations[atDatabase]; !needs {
			if !known[name] {
				t.Errorf("whether stele %s works against a server is not known: add it to onServer, or make it needsDatabase", name)
			}
			return
		}
		args := strings.Fields(name)
		for c.Args != nil && c.Args(c, args[strings.Count(name, " ")+1:]) != nil && len(args) < 6 {
			args = append(args, "x")
		}
		if err := c.ValidateRequiredFlags(); err != nil {
			for _, flag := range quoted.FindAllStringSubmatch(err.Error(), -1) {
				args = append(args, "--"+flag[1], "x")
			}
		}
		out, code := remotely(t, variables, args...)
		if want := "server: stele " + name + " works on the database itself, and commands go to a server; run it where the database is"; code != exitFailed || !strings.Contains(out, want) {
			t.Errorf("stele %s: exit code %d, want %q in\n%s", name, code, want, out)
		}
	}
	visit(root)
}

// A server that is away keeps an agent from nothing but the memory: the program starts, and lists its tools.
func TestAgentWithoutServer(t *testing.T) {
	t.Parallel()
	variables := map[string]string{"STELE_SERVER": "http://127.0.0.1:1", "STELE_TOKEN": "stele_x", "STELE_DATABASE_URL": nowhere}
	out := &bytes.Buffer{}
	a := &app{
		in: strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"tester","version":"1"}}}` +
			"\n" + `{"jsonrpc":"2.0","id":2,"method":"tools/list"}` + "\n"),
		out: bufio.NewWriter(out), err: out, width: defaultWidth, environment: config.Environment{Variables: variables}, dir: t.TempDir(),
	}
	defer a.close()
	if code := a.run(t.Context(), []string{"mcp"}); code != exitDone || !strings.Contains(out.String(), "find_relevant_context") {
		t.Errorf("exit code %d, %s", code, out)
	}
}

// An agent's writes through stdio and a server name its program, its token and its connection.
func TestAgentOnServer(t *testing.T) {
	t.Parallel()
	s := serveTest(t)
	shop, err := s.local.CreateProject(t.Context(), s.admin, "shop", nil)
	if err != nil {
		t.Fatal(err)
	}
	child := serve(t, program(t), "STELE_SERVER="+s.url, "STELE_TOKEN="+s.token(t, memory.TokenRequest{Name: "kim"}), "STELE_PROJECT=shop", "STELE_DATABASE_URL="+nowhere,
		"XDG_CONFIG_HOME="+t.TempDir(), "HOME="+t.TempDir())
	child.hello()
	if got := child.call("remember", map[string]any{"content": "Stock is cached for 60 seconds.", "kind": "pitfall"}); !strings.Contains(got, "Stored m-") {
		t.Errorf("remember: %s", got)
	}
	// What this connection was served and says again is an echo: the server knows the connection.
	child.call("recall", map[string]any{"query": "stock"})
	if got := child.call("remember", map[string]any{"content": "Stock is cached for 60 seconds.", "kind": "pitfall"}); !strings.Contains(got, "Nothing changed") {
		t.Errorf("an echo: %s", got)
	}
	if got := child.call("remember", map[string]any{"content": "x", "kind": "trap"}); !strings.Contains(got, "kind") {
		t.Errorf("a wrong kind: %s", got)
	}
	child.end()
	c := s.admin
	c.Project = shop.ID
	page, err := s.local.List(t.Context(), c, memory.ListRequest{})
	if err != nil || len(page.Memories) != 1 || page.Memories[0].Author != "tester/kim" || page.Memories[0].Origin != memory.FromMCP {
		t.Errorf("got %+v, %v", page.Memories, err)
	}
	if page, err := s.local.AuditLog(t.Context(), s.admin, memory.AuditRequest{}); err != nil || len(page.Lines) == 0 || page.Lines[0].Subject == uuid.Nil || !strings.HasPrefix(page.Lines[0].Session, "c-") {
		t.Errorf("the trail: %+v, %v", page.Lines, err)
	}
}

func writeFile(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
