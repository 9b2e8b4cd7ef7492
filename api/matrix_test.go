package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stele-dev/stele/memory"
	"github.com/stele-dev/stele/review"
	"github.com/stele-dev/stele/session"
)

// The matrix: for every operation of the OpenAPI document, what each holder of a token gets. An operation without a row
// fails the test, so that a new one cannot be forgotten.

// statuses is an answer by holder.
type statuses map[string]int

// with changes some of them.
func (s statuses) with(changes statuses) statuses {
	out := maps.Clone(s)
	maps.Copy(out, changes)
	return out
}

// only gives the success to some holders and 403 to those who would see the project.
func (s statuses) only(ok int, holders ...string) statuses {
	out := maps.Clone(s)
	for h, status := range out {
		if status < 300 {
			out[h] = 403
		}
		if slices.Contains(holders, h) {
			out[h] = ok
		}
	}
	return out
}

var (
	// ofShop is who may work with the memories of shop.
	ofShop = statuses{
		nobody: 401, revoked: 401, ciToken: 403, ciCreating: 403, agentOfDepot: 404,
		agentToken: 200, agentOfShop: 200, reviewerToken: 200, adminToken: 200, adminOfShop: 200,
	}
	// anyone has a token.
	anyone = statuses{
		nobody: 401, revoked: 401, ciToken: 200, ciCreating: 200, agentOfDepot: 200,
		agentToken: 200, agentOfShop: 200, reviewerToken: 200, adminToken: 200, adminOfShop: 200,
	}
	// othersSession is what those get who are not the user of a session: nobody speaks for another's.
	othersSession = statuses{agentToken: 404, agentOfShop: 404, reviewerToken: 404, adminOfShop: 404}
	reviewers     = []string{reviewerToken, adminToken, adminOfShop}
	// withCI is who may know of the runs of shop; runners push them.
	withCI  = ofShop.with(statuses{ciToken: 200, ciCreating: 200})
	runners = append([]string{ciToken, ciCreating}, reviewers...)
)

// pushedRun is the least that is a run.
const pushedRun = `{"repository":"example.org/{new}","branch":"main","default_branch":"main","ancestors":["4b825dc642cb6eb9a060e54bf8d69288fbee4904"],
	"report":{"status":"checked","score":100,"commit":"4b825dc642cb6eb9a060e54bf8d69288fbee4904","input_hash":"1","engine_version":1}}`

// row is one operation. body may hold {…} placeholders in strings, as paths do.
type row struct {
	query string
	body  string
	want  statuses
	sees  []string // canaries that may appear
}

var created = ofShop.with(statuses{agentToken: 201, agentOfShop: 201, reviewerToken: 201, adminToken: 201, adminOfShop: 201})

var matrix = map[string]row{
	"whoami":             {want: anyone},
	"list-organizations": {want: anyone},

	"create-sign-in-link": {body: `{}`, want: anyone.only(201, agentToken, agentOfShop, agentOfDepot, reviewerToken, adminToken, adminOfShop)},

	"list-projects":  {want: anyone},
	"get-project":    {want: anyone.with(statuses{agentOfDepot: 404})},
	"set-project":    {body: `{"without_organization":false}`, want: ofShop.only(200, reviewers...)},
	"create-project": {body: `{"name":"{new}"}`, want: anyone.only(201, ciCreating, reviewerToken, adminToken)},
	"add-identities": {body: `{"identities":["remote:example.org/{new}"]}`, want: anyone.with(statuses{agentOfDepot: 404}).only(200, ciCreating, reviewerToken, adminToken)},

	"list-tokens":    {want: anyone.only(200, adminToken)},
	"create-token":   {body: `{"name":"{new}","role":"agent"}`, want: anyone.only(201, adminToken)},
	"revoke-token":   {want: anyone.only(200, adminToken)},
	"read-audit-log": {want: anyone.only(200, adminToken)},
	"doctor":         {want: anyone.only(200, adminToken)},

	"remember":         {body: `{"content":"A fact of {new}.","elements":["acme.shop"]}`, want: created},
	"import-memories":  {body: `{"records":[{"key":"{new}","content":"A fact of {new} from elsewhere."}]}`, want: ofShop},
	"list-memories":    {want: ofShop, sees: []string{"acme shop"}},
	"open-memories":    {body: `{"memories":["{memory}"]}`, want: ofShop},
	"get-memory":       {want: ofShop},
	"edit-memory":      {body: `{"tags":["x"]}`, want: ofShop},
	"confirm-memory":   {body: `{"holds":true}`, want: ofShop},
	"supersede-memory": {body: `{"content":"Another fact of {new}."}`, want: created},
	"retire-memory":    {body: `{}`, want: ofShop.only(200, reviewers...)},
	"erase-memory":     {body: `{}`, want: ofShop.only(200, reviewers...)},
	"restore-memory":   {body: `{}`, want: ofShop.only(409, reviewers...)}, // it is live
	"memory-history":   {want: ofShop},
	"memory-usage":     {want: ofShop},
	"memory-code":      {want: ofShop.with(statuses{agentToken: 404, agentOfShop: 404, reviewerToken: 404, adminToken: 404, adminOfShop: 404})}, // written against no commit
	"memory-timeline":  {want: ofShop, sees: []string{"acme shop"}},
	"timeline":         {query: "memory={memory}", want: ofShop, sees: []string{"acme shop"}},
	"undo-author":      {body: `{"author":"nobody at all","since":"2001-01-01T00:00:00Z","dry_run":true}`, want: ofShop.only(200, reviewers...)},

	"recall":            {body: `{"query":"stock cached"}`, want: ofShop, sees: []string{"acme shop"}},
	"find-context":      {body: `{"task":"stock cached"}`, want: ofShop, sees: []string{"acme shop"}},
	"impact":            {query: "element=acme.shop", want: ofShop, sees: []string{"acme shop"}},
	"plan":              {body: `{"task":"stock cached"}`, want: ofShop, sees: []string{"acme shop"}},
	"why":               {query: "path=shop/a.go", want: ofShop, sees: []string{"acme shop"}},
	"diagram":           {query: "element=acme.shop", want: ofShop, sees: []string{"acme shop"}},
	"knowledge-map":     {want: ofShop},
	"stats":             {want: ofShop},
	"start-session":     {body: `{"task":"{new}","elements":["acme.shop"]}`, want: created, sees: []string{"acme shop"}},
	"hook":              {body: `{"event":"prompt","conversation":"{new}","prompt":"stock cached"}`, want: ofShop, sees: []string{"acme shop"}},
	"list-sessions":     {want: ofShop, sees: []string{"acme shop"}},
	"get-session":       {want: ofShop, sees: []string{"acme shop"}},
	"heartbeat-session": {body: `{"summary":"half"}`, want: ofShop.only(200, adminToken).with(othersSession), sees: []string{"acme shop"}},
	"finish-session":    {body: `{"summary":"done","used_memories":[]}`, want: ofShop.only(200, adminToken).with(othersSession), sees: []string{"acme shop"}},
	"cancel-session":    {body: `{}`, want: ofShop.with(statuses{agentToken: 404, agentOfShop: 404}), sees: []string{"acme shop"}},
	"get-model":         {want: withCI, sees: []string{"acme shop"}},
	"list-elements":     {want: withCI},
	"list-bindings":     {want: withCI},
	"bind-element":      {body: `{"element":"acme.shop","patterns":["{new}/**"]}`, want: ofShop.only(200, reviewers...)},
	"get-binding-patch": {want: ofShop},
	"list-decisions":    {want: withCI, sees: []string{"acme shop"}},
	"import-model": {body: `{"model":{"elements":[{"key":"acme","name":"acme","level":"system"},{"key":"acme.shop","name":"shop","level":"container","parent":"acme"}]},"source":"w.dsl"}`,
		want: ofShop.only(200, reviewers...)},
	"import-decisions": {body: `{"decisions":[{"id":"9","title":"Nine"}],"source":"docs/adr"}`, want: ofShop.only(200, reviewers...)},

	"drift-watch":        {want: withCI.only(200, runners...)},
	"push-run":           {body: pushedRun, want: withCI.only(200, runners...)},
	"list-runs":          {want: withCI},
	"drift-history":      {want: withCI},
	"get-run":            {want: withCI},
	"run-drift":          {body: `{}`, want: ofShop.only(409, reviewers...)}, // the server knows no address to read from
	"drift-score":        {want: withCI},
	"get-drift-settings": {want: ofShop.only(200, reviewers...)},
	"set-drift-settings": {body: `{"tracked_branch":"main"}`, want: ofShop.only(200, reviewers...)},
	"get-held-model":     {want: ofShop.only(200, reviewers...)},
	"decide-held-model":  {body: `{"accept":false}`, want: ofShop.only(404, reviewers...)}, // none waits
	"review-queue":       {query: "all=true", want: ofShop},
	"review-group":       {want: ofShop},
	"decide-review":      {body: `{"action":"keep","group":"{group}"}`, want: created.only(201, reviewers...)}, // another author's
	"undo-review":        {body: `{}`, want: ofShop.only(200, reviewers...)},
	"review-history":     {want: ofShop},
	"review-digest":      {query: "titles=true", want: ofShop},
	"events":             {query: "after=0.0.0&limit=5", want: ofShop},
}

// fresh numbers what a cell makes, so that no cell meets what another left.
var fresh atomic.Int64

// fill puts what a cell needs into a text: an own memory of the project, an own token, a new name.
func (w *world) fill(n tenant, text string) string {
	w.t.Helper()
	ctx := context.Background()
	name := fmt.Sprintf("new-%d", fresh.Add(1))
	replace := []string{"{project}", "shop", "{new}", name, "{run}", n.run}
	if strings.Contains(text, "{memory}") {
		out, err := w.service.Remember(ctx, n.admin, memory.RememberRequest{Content: "A fact for " + name + ".", Separate: true})
		if err != nil {
			w.t.Fatal(err)
		}
		replace = append(replace, "{memory}", out.Memory.Handle)
	}
	if strings.Contains(text, "{session}") { // of the holder of the admin's token
		c := memory.Caller{Org: n.org, Project: n.shop.ID, User: adminToken, Role: memory.RoleAgent, Door: memory.FromAPI}
		started, err := w.service.StartSession(ctx, c, session.StartRequest{Task: "Work of " + name + ".", MaxTokens: new(int)})
		if err != nil {
			w.t.Fatal(err)
		}
		replace = append(replace, "{session}", started.SessionID)
	}
	if strings.Contains(text, "{group}") || strings.Contains(text, "{decision}") {
		group, _, decision := w.reviewed(n, name)
		replace = append(replace, "{group}", group, "{decision}", decision)
	}
	if strings.Contains(text, "{token}") {
		made, err := w.service.CreateToken(ctx, n.admin, memory.TokenRequest{Name: name})
		if err != nil {
			w.t.Fatal(err)
		}
		replace = append(replace, "{token}", made.ID.String())
	}
	return strings.NewReplacer(replace...).Replace(text)
}

// reviewed gives an open group of the review queue with its item, and a decision about another one.
func (w *world) reviewed(n tenant, name string) (group, item, decision string) {
	w.t.Helper()
	ctx := context.Background()
	must := func(err error) {
		w.t.Helper()
		if err != nil {
			w.t.Fatal(err)
		}
	}
	doubt := func(text string) memory.Memory {
		m, err := w.service.Remember(ctx, n.admin, memory.RememberRequest{Content: text, Separate: true})
		must(err)
		_, err = w.service.Confirm(ctx, n.admin, memory.ConfirmRequest{Memory: m.Memory.Handle, Note: "no"})
		must(err)
		return m.Memory
	}
	made, err := w.service.DecideReview(ctx, n.admin, review.DecideRequest{Action: review.Keep, Memories: []string{doubt("Settled is " + name + ".").Handle}})
	must(err)
	open := doubt("Doubtful is " + name + ".")
	queue, err := w.service.ReviewQueue(ctx, n.admin, review.QueueRequest{All: true, Reasons: []review.Reason{review.Disputed}, Limit: review.MaxLimit})
	must(err)
	at := slices.IndexFunc(queue.Items, func(i review.Item) bool { return i.Memory.ID == open.ID })
	return queue.Items[at].Group, queue.Items[at].ID, made.ID
}

// forbidden finds canaries in an answer that may not be there.
func forbidden(body string, sees ...string) []string {
	var out []string
	for _, tenant := range []string{"acme", "globex"} {
		for _, place := range []string{"shop", "depot", "personal"} {
			if strings.Contains(body, canary(tenant, place)) && !slices.Contains(sees, tenant+" "+place) {
				out = append(out, canary(tenant, place))
			}
		}
	}
	return out
}

func asJSON(r *http.Request) { r.Header.Set("Accept", "application/json") }

func TestMatrix(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, op := range w.document() {
		r, ok := matrix[op.id]
		if !ok {
			t.Errorf("%s %s (%s) has no row in the matrix", op.method, op.path, op.id)
			continue
		}
		for holder, want := range r.want {
			// The memory or token of a cell is used in path, query and body alike.
			all := w.fill(w.acme, op.path+"\n"+r.query+"\n"+r.body)
			parts := strings.SplitN(all, "\n", 3)
			path := parts[0]
			if parts[1] != "" {
				path += "?" + parts[1]
			}
			var body any
			if parts[2] != "" {
				body = parts[2]
			}
			got := w.send(w.acme.tokens[holder], op.method, path, body, asJSON)
			if got.status != want {
				t.Errorf("%s as %s: %d, want %d: %.300s", op.id, holder, got.status, want, got.body)
			}
			sees := r.sees
			if got.status >= 300 || holder == ciToken || holder == ciCreating {
				sees = nil
			}
			if leaked := forbidden(got.body, sees...); leaked != nil {
				t.Errorf("%s as %s tells %v: %.500s", op.id, holder, leaked, got.body)
			}
		}
		// A token of another organization meets nothing of this one: what it names there does not exist for it.
		if strings.Contains(op.path, "{memory}") || strings.Contains(op.path, "{token}") || strings.Contains(op.path, "{session}") {
			parts := strings.SplitN(w.fill(w.acme, op.path+"\n"+r.query+"\n"+r.body), "\n", 3)
			var body any
			if parts[2] != "" {
				body = strings.ReplaceAll(parts[2], "acme", "globex")
			}
			got := w.send(w.globex.tokens[adminToken], op.method, parts[0]+"?"+parts[1], body, asJSON)
			if got.status != 404 || forbidden(got.body) != nil {
				t.Errorf("%s from another organization: %d %.300s", op.id, got.status, got.body)
			}
		}
	}
	for id := range matrix {
		if !slices.ContainsFunc(w.document(), func(o operation) bool { return o.id == id }) {
			t.Errorf("the row %s is about no operation", id)
		}
	}
}

// foreign gives identifiers of a kind that belong to another organization.
func foreign(n tenant, kind string) []string {
	switch kind {
	case "project":
		return []string{n.shop.ID.String(), n.shop.Identities[0]}
	case "memory":
		return []string{n.memory.Handle, n.memory.ID.String(), n.memory.Title, n.personal.Handle, n.personal.ID.String(), n.other.Handle}
	case "element":
		return []string{"globex", "globex.shop"}
	case "token":
		return []string{n.tokenIDs[agentToken].String()}
	case "run":
		return []string{n.run}
	case "session":
		return []string{n.session}
	case "group":
		return []string{n.group}
	case "item":
		return []string{n.item}
	case "decision":
		return []string{n.decision}
	}
	return nil
}

// alone makes a foreign identifier all that is wrong with a decision of the review queue: it is about a group, items or memories, and
// what else it takes depends on the action.
func (w *world) alone(argument string, fields map[string]any) {
	targets := []string{"group", "items", "item", "memories", "memory", "decision"}
	if fields["action"] == nil {
		return
	}
	if slices.Contains(targets, argument) || argument == "into" {
		for _, target := range targets {
			delete(fields, target)
		}
	}
	switch argument {
	case "elements", "element":
		fields["action"] = "reattach"
	case "decision":
		fields["action"] = "undo"
	case "into":
		fields["action"], fields["memories"] = "merge", []string{w.fill(w.acme, "{memory}"), w.fill(w.acme, "{memory}")}
	}
}

// plain are arguments that name nothing another tenant has. An argument that is neither here nor marked in the document
// fails the test: whoever adds one decides which it is.
var plain = []string{
	"Idempotency-Key", "If-Match", "Last-Event-ID", "Stele-Agent", "Stele-Door", "Stele-Session",
	"accept", "action", "after", "all", "expected", "per_group", "titles", "until", "agent_name", "ancestors", "anchor", "asked", "commands", "as_of", "author", "badge", "batch", "before", "bindings", "branch", "changed", "clone_url", "closes", "content", "create_projects", "cursor", "decisions", "default_branch", "depth", "dry_run", "edited", "event", "everywhere", "guard", "exclusive", "expires", "explain", "follow_ups",
	"holds", "identities", "include_expired", "kind", "kinds", "limit", "line", "max_tokens", "model", "name", "note", "observe", "origin", "outcome", "owners",
	"path", "paths", "patterns", "progress", "prompt", "propose", "query", "reason", "records", "report", "repository", "revision", "role", "said", "schedule", "scope", "seen", "separate", "since", "source", "state", "status", "summary", "tags",
	"task", "title", "tracked", "tracked_branch", "user", "verdicts", "view", "why", "without_organization", "worktree",
	"used_memories", // what is no memory known here is told as unmatched: TestForeignCitations
}

// Identifiers of another tenant, and of another project, in every argument that takes one: "not found", and not a word.
func TestForeignIdentifiers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	admin := w.acme.tokens[adminToken]
	asked := 0
	ask := func(op operation, what, path string, body any) {
		t.Helper()
		asked++
		got := w.send(admin, op.method, path, body, asJSON)
		if got.status != 404 {
			t.Errorf("%s with %s: %d %.300s", op.id, what, got.status, got.body)
		}
		if leaked := forbidden(got.body); leaked != nil {
			t.Errorf("%s with %s tells %v: %.300s", op.id, what, leaked, got.body)
		}
	}
	for _, op := range w.document() {
		r := matrix[op.id]
		fill := func() (path, query, body string) {
			parts := strings.SplitN(w.fill(w.acme, op.path+"\n"+r.query+"\n"+r.body), "\n", 3)
			return parts[0], parts[1], parts[2]
		}
		for _, p := range op.parameters {
			kind := p.Stele
			if kind == "" {
				kind = p.Schema.Stele
			}
			if kind == "" && !slices.Contains(plain, p.Name) {
				t.Errorf("%s: is %s an identifier?", op.id, p.Name)
			}
			for _, id := range foreign(w.globex, kind) {
				path, query, body := fill()
				var sent any
				if body != "" {
					sent = body
				}
				if p.In == "path" {
					at := strings.Split(op.path, "/")
					now := strings.Split(path, "/")
					for i, segment := range at {
						if segment == "{"+p.Name+"}" {
							now[i] = url.PathEscape(id)
						}
					}
					ask(op, p.Name+"="+id, strings.Join(now, "/")+"?"+query, sent)
					continue
				}
				values, err := url.ParseQuery(query)
				if err != nil {
					t.Fatal(err)
				}
				values.Set(p.Name, id)
				ask(op, p.Name+"="+id, path+"?"+values.Encode(), sent)
			}
		}
		if op.body == nil {
			continue
		}
		for name, s := range op.body.Properties {
			kind, list := s.Stele, false
			if kind == "" && s.Items != nil && s.Items.Stele != "" {
				kind, list = s.Items.Stele, true
			}
			if kind == "" && !slices.Contains(plain, name) {
				t.Errorf("%s: is %s an identifier?", op.id, name)
			}
			for _, id := range foreign(w.globex, kind) {
				path, query, body := fill()
				var fields map[string]any
				if err := json.Unmarshal([]byte(body), &fields); err != nil {
					t.Fatalf("%s: %v", op.id, err)
				}
				w.alone(name, fields)
				fields[name] = id
				if list {
					fields[name] = []string{id}
				}
				ask(op, name+"="+id, path+"?"+query, fields)
			}
		}
	}
	if asked < 100 {
		t.Errorf("only %d questions were asked: the document marks too few identifiers", asked)
	}
}

// The same for the tools of agents, from their schemas.
func TestForeignIdentifiersInTools(t *testing.T) {
	t.Parallel()
	w := newWorld(t, full)
	agent := w.acme.tokens[adminToken]
	// What each tool needs so that the foreign identifier is all that is wrong.
	needs := map[string]map[string]any{
		"remember": {"content": "x"}, "confirm_memory": {"memory": "{memory}"}, "get_memories": {"memory": "{memory}"}, "timeline": {"memory": "{memory}"},
		"find_relevant_context": {"task": "x"}, "impact_of": {"element": "acme.shop"}, "plan_work": {"task": "x"}, "forget_memory": {"memory": "{memory}"}, "restore_memory": {"memory": "{memory}"}, "recall": {"query": "stock"}, "knowledge_map": {},
		"get_drift_score": {}, "get_drift_details": {}, "get_drift_history": {}, "review_queue": {}, "resolve_review": {"action": "keep", "memory": "{memory}"},
		"start_work_session": {"task": "x"}, "heartbeat_work_session": {"sessionId": "{session}"}, "finish_work_session": {"sessionId": "{session}"}, "list_work_sessions": {},
	}
	kinds := map[string]string{"projectId": "project", "projects": "project", "element": "element", "memory": "memory", "supersedes": "memory", "run": "run", "sessionId": "session",
		"group": "group", "item": "item", "decision": "decision", "into": "memory"}
	plainArguments := []string{"content", "kind", "title", "why", "paths", "tags", "expires", "scope", "separate", "query", "limit", "maxTokens",
		"includeExpired", "depth", "asOf", "holds", "note", "task", "reason", "erase", "before",
		"agentName", "action", "all", "cursor", "expected", "until", "exclusive", "summary", "decisions", "followUps", "closes", "outcome", "edited",
		"usedMemories", // what is no memory known here is told as unmatched: TestForeignCitations
	}
	var list struct {
		Result struct {
			Tools []struct {
				Name        string `json:"name"`
				InputSchema struct {
					Properties map[string]struct {
						Type any `json:"type"`
					} `json:"properties"`
				} `json:"inputSchema"`
			} `json:"tools"`
		} `json:"result"`
	}
	if err := json.Unmarshal([]byte(w.rpc(agent, "/mcp/p/shop", "tools/list", nil)), &list); err != nil {
		t.Fatal(err)
	}
	if len(list.Result.Tools) < len(needs) {
		t.Fatalf("%d tools", len(list.Result.Tools))
	}
	asked := 0
	for _, tool := range list.Result.Tools {
		base, ok := needs[tool.Name]
		if !ok {
			t.Errorf("the tool %s is not known here", tool.Name)
		}
		for name, p := range tool.InputSchema.Properties {
			kind := kinds[name]
			if kind == "" && !slices.Contains(plainArguments, name) {
				t.Errorf("%s: is %s an identifier?", tool.Name, name)
			}
			for _, id := range foreign(w.globex, kind) {
				arguments := map[string]any{}
				for k, v := range base {
					if s, ok := v.(string); ok {
						v = w.fill(w.acme, s)
					}
					arguments[k] = v
				}
				w.alone(name, arguments)
				arguments[name] = id
				if p.Type == "array" {
					arguments[name] = []string{id}
				}
				path := "/mcp/p/shop"
				if name == "projectId" {
					path = "/mcp"
				}
				asked++
				got := w.rpc(agent, path, "tools/call", map[string]any{"name": tool.Name, "arguments": arguments})
				if !strings.Contains(got, `"isError":true`) || !strings.Contains(got, "not_found") {
					t.Errorf("%s with %s=%s: %.400s", tool.Name, name, id, got)
				}
				if leaked := forbidden(got); leaked != nil {
					t.Errorf("%s with %s=%s tells %v", tool.Name, name, id, leaked)
				}
			}
		}
	}
	for _, uri := range []string{"stele://memory/" + w.globex.memory.Handle, "stele://element/globex.shop"} {
		got := w.rpc(agent, "/mcp/p/shop", "resources/read", map[string]any{"uri": uri})
		if !strings.Contains(got, `"error"`) || forbidden(got) != nil {
			t.Errorf("%s: %.300s", uri, got)
		}
	}
	if asked < 30 {
		t.Errorf("only %d questions were asked", asked)
	}
}

// rpc makes one MCP request of the stateful revision and gives the answer.
func (w *world) rpc(token, path, method string, params map[string]any) string {
	w.t.Helper()
	got := w.send(token, http.MethodPost, path, map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params}, func(r *http.Request) {
		r.Header.Set("Accept", "application/json, text/event-stream")
		r.Header.Set("Mcp-Protocol-Version", "2025-11-25")
	})
	return got.body
}

// Tools by role, over HTTP.
func TestToolsByRole(t *testing.T) {
	t.Parallel()
	w := newWorld(t, full)
	call := func(holder, path, tool string, arguments map[string]any) string {
		return w.rpc(w.acme.tokens[holder], path, "tools/call", map[string]any{"name": tool, "arguments": arguments})
	}
	for _, holder := range []string{ciToken, ciCreating} {
		if got := call(holder, "/mcp/p/shop", "recall", map[string]any{"query": "stock"}); !strings.Contains(got, "forbidden") || forbidden(got) != nil {
			t.Errorf("%s: %s", holder, got)
		}
	}
	if got := call(agentToken, "/mcp/p/shop", "recall", map[string]any{"query": "stock"}); len(forbidden(got, "acme shop")) > 0 || !strings.Contains(got, canary("acme", "shop")) {
		t.Errorf("an agent in shop: %s", got)
	}
	if got := call(agentToken, "/mcp", "recall", map[string]any{"query": "stock"}); !strings.Contains(got, w.acme.depot.ID.String()) || forbidden(got) != nil {
		t.Errorf("without a project the projects should be listed: %s", got)
	}
	if got := call(agentOfDepot, "/mcp", "recall", map[string]any{"query": "stock"}); len(forbidden(got, "acme depot")) > 0 || !strings.Contains(got, canary("acme", "depot")) {
		t.Errorf("a token of one project needs to name none: %s", got)
	}
	if got := call(agentOfDepot, "/mcp/p/shop", "recall", map[string]any{"query": "stock"}); !strings.Contains(got, "not_found") || forbidden(got) != nil {
		t.Errorf("a token of depot in shop: %s", got)
	}
	if got := call(agentToken, "/mcp/p/shop", "forget_memory", map[string]any{"memory": w.acme.memory.Handle}); !strings.Contains(got, "forbidden") {
		t.Errorf("an agent forgets another's memory: %s", got)
	}
}

// Widening a recall to another project shows what is there to those who may know it.
func TestFurtherProjects(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	body := memory.RecallRequest{Query: "stock cached", Projects: []string{"depot"}}
	got := w.send(w.acme.tokens[agentToken], http.MethodPost, "/v1/projects/shop/recall", body)
	if got.status != 200 || !strings.Contains(got.body, canary("acme", "depot")) || forbidden(got.body, "acme shop", "acme depot") != nil {
		t.Errorf("%d %.300s", got.status, got.body)
	}
	for _, holder := range []string{agentOfShop, adminOfShop} {
		got := w.send(w.acme.tokens[holder], http.MethodPost, "/v1/projects/shop/recall", body)
		if got.status != 404 || forbidden(got.body) != nil {
			t.Errorf("%s: %d %.300s", holder, got.status, got.body)
		}
	}
}

// A handler that forgets everything it should check, mounted by mistake or by haste, still shows nothing of another
// tenant: the database shows rows of the caller's organization only, and the domain checks every caller.
func TestAHandlerThatForgets(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := context.Background()
	// It takes the identifiers of the request for granted: no look-up of the project, no role.
	for _, ref := range []string{w.globex.memory.Handle, w.globex.memory.ID.String(), w.globex.memory.Title, w.globex.personal.Handle} {
		c := memory.Caller{Org: w.acme.org, Project: w.globex.shop.ID, User: "root of globex", Role: memory.RoleAdmin}
		for name, err := range map[string]error{
			"get":     second(w.service.Get(ctx, c, []string{ref})),
			"history": second(w.service.History(ctx, c, ref)),
			"confirm": second(w.service.Confirm(ctx, c, memory.ConfirmRequest{Memory: ref, Holds: true})),
			"erase":   second(w.service.Forget(ctx, c, memory.ForgetRequest{Memory: ref, Erase: true})),
		} {
			if err == nil || forbidden(err.Error()) != nil {
				t.Errorf("%s %s: %v", name, ref, err)
			}
		}
		all, err := w.service.Recall(ctx, c, memory.RecallRequest{})
		if err != nil || len(all.Results) > 0 {
			t.Errorf("recall: %d results, %v", len(all.Results), err)
		}
		list, err := w.service.List(ctx, c, memory.ListRequest{Status: "all"})
		if err != nil || len(list.Memories) > 0 {
			t.Errorf("list: %d memories, %v", len(list.Memories), err)
		}
		log, err := w.service.AuditLog(ctx, c, memory.AuditRequest{Since: new(time.Time)})
		if text, jerr := json.Marshal(log); err != nil || jerr != nil || strings.Contains(string(text), w.globex.memory.ID.String()) {
			t.Errorf("audit: %v %v", err, jerr)
		}
	}
	// What it tries to write into the project of another tenant has nowhere to go.
	c := memory.Caller{Org: w.acme.org, Project: w.globex.shop.ID, User: "u", Role: memory.RoleAdmin}
	if out, err := w.service.Remember(ctx, c, memory.RememberRequest{Content: "planted"}); err == nil {
		found, rerr := w.service.List(ctx, w.globex.admin, memory.ListRequest{Status: "all"})
		if rerr != nil || slices.ContainsFunc(found.Memories, func(m memory.Memory) bool { return m.Handle == out.Memory.Handle || m.Content == "planted" }) {
			t.Error("a memory was planted in another tenant's project")
		}
	}
}

func second[T any](_ T, err error) error { return err }
