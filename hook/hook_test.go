package hook_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/hook"
	"github.com/stele-dev/stele/internal/postgres/pgtest"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/internal/secret"
	"github.com/stele-dev/stele/memory"
	"github.com/stele-dev/stele/memory/postgres"
	"github.com/stele-dev/stele/review"
	"github.com/stele-dev/stele/session"
)

// world is one project with a small model, and a clock that is moved by hand.
type world struct {
	*hook.Service
	memory   *memory.Service
	sessions *session.Service
	review   *review.Service
	t        testing.TB
	c        memory.Caller // an agent of ana

	mu  sync.Mutex
	now time.Time
}

func newWorld(t testing.TB) *world {
	t.Helper()
	master, err := secret.GenerateMaster()
	if err != nil {
		t.Fatal(err)
	}
	store := postgres.New(pgtest.New(t), master)
	w := &world{t: t, now: time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)}
	w.memory = memory.New(store, memory.Options{Now: w.clock})
	w.sessions = session.New(w.memory, store)
	w.review = review.New(w.memory, store)
	w.Service = hook.New(w.memory, w.sessions, store)
	ctx := context.Background()
	org, err := w.memory.EnsureOrganization(ctx, "acme")
	w.must(err)
	admin := memory.Caller{Org: org, User: "operator", Role: memory.RoleAdmin, Door: memory.FromCLI}
	p, err := w.memory.CreateProject(ctx, admin, "shop", nil)
	w.must(err)
	admin.Project = p.ID
	_, err = w.memory.ImportModel(ctx, admin, memory.ModelImport{
		Model: &c4model.Model{Elements: []c4model.Element{
			{Key: "shop", Name: "Shop", Level: c4model.System},
			{Key: "shop.web", Name: "Storefront", Level: c4model.Container, Parent: "shop"},
			{Key: "shop.api", Name: "Orders", Level: c4model.Container, Parent: "shop"},
		}},
		Bindings: []c4model.Binding{{Element: "shop.web", Pattern: "web/**"}, {Element: "shop.api", Pattern: "api/**"}},
		Source:   "w.dsl",
	})
	w.must(err)
	w.c = memory.Caller{Org: org, Project: p.ID, User: "ana", Agent: "claude-code", Role: memory.RoleAgent, Door: memory.FromHook}
	return w
}

func (w *world) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *world) pass(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) remember(kind memory.Kind, content string, elements ...string) memory.Memory {
	w.t.Helper()
	c := w.c
	c.User, c.Agent, c.Door = "kim", "", memory.FromCLI
	out, err := w.memory.Remember(context.Background(), c, memory.RememberRequest{Kind: kind, Content: content, Elements: elements})
	w.must(err)
	return out.Memory
}

// tell is an event of a conversation.
func (w *world) tell(conversation string, r hook.Request) hook.Response {
	w.t.Helper()
	c := w.c
	c.Session = conversation
	out, err := w.Hook(context.Background(), c, r)
	w.must(err)
	w.pass(time.Second)
	return out
}

func (w *world) recalls(query string) []string {
	w.t.Helper()
	c := w.c
	c.Session = ""
	out, err := w.memory.Recall(context.Background(), c, memory.RecallRequest{Query: query})
	w.must(err)
	var handles []string
	for _, r := range out.Results {
		handles = append(handles, r.Handle)
	}
	return handles
}

func handles(shown []hook.Shown) string {
	var out []string
	for _, s := range shown {
		out = append(out, s.Handle)
	}
	return strings.Join(out, " ")
}

// A conversation is told each thing once, what changed again, and everything once it forgot.
func TestEachThingArrivesOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	trap := w.remember(memory.Pitfall, "Stock counts are cached for 60 seconds, so that two orders can take the same last piece.", "shop.api")
	note := w.remember(memory.Note, "The storefront renders prices in the currency of the visitor.", "shop.web")
	if got := w.tell("c1", hook.Request{Event: hook.Start, Source: "startup"}); got.SessionID == "" || !strings.Contains(got.Context, trap.Handle) || got.Standing != (hook.Standing{2, 3, 0}) {
		t.Errorf("the start says %+v", got)
	}
	edit := hook.Request{Event: hook.BeforeEdit, Paths: []string{"api/stock.go"}}
	if got := w.tell("c1", edit); got.Context != "" {
		t.Errorf("the briefing had it, and the edit says it again: %s", got.Context)
	}
	// Another conversation whose start nobody told of.
	asked := w.tell("c2", hook.Request{Event: hook.Prompt, Prompt: "why do two orders take the same last piece of stock?"})
	if !strings.HasPrefix(asked.Context, "Work session ") || strings.Count(asked.Context, trap.Handle) != 1 {
		t.Errorf("a late start says %q", asked.Context)
	}
	forgot := w.tell("c1", hook.Request{Event: hook.Start, Source: "compact"})
	if !strings.Contains(forgot.Context, trap.Handle) {
		t.Errorf("after compaction: %q", forgot.Context)
	}
	_, err := w.memory.Confirm(context.Background(), w.c, memory.ConfirmRequest{Memory: trap.Handle, Note: "the cache is gone"})
	w.must(err)
	if got := w.tell("c1", edit); !strings.Contains(got.Context, "DISPUTED") || handles(got.Shown) != trap.Handle {
		t.Errorf("a new doubt: %+v", got)
	}
	if got := w.tell("c1", edit); got.Context != "" {
		t.Errorf("and again: %q", got.Context)
	}
	if got := w.tell("c1", hook.Request{Event: hook.BeforeEdit, Paths: []string{"web/price.ts", "../elsewhere"}}); got.Context != "" {
		t.Errorf("a note is no trap: %q (%s)", got.Context, note.Handle)
	}
}

// A prompt gets what bears on it, little of it, and mostly nothing.
func TestPromptsGetLittle(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.tell("c1", hook.Request{Event: hook.Start})
	long := strings.Repeat(" The queue of refunds is drained by one worker, and the order of refunds is the order of their payments.", 8)
	for i, name := range []string{"first", "second", "third", "fourth"} {
		w.pass(time.Minute)
		w.remember(memory.Pitfall, name+" refund rule: refunds of shelf "+strings.Repeat("x", i+1)+" are queued."+long, "shop.api")
	}
	got := w.tell("c1", hook.Request{Event: hook.Prompt, Prompt: "which refunds of a shelf are queued by a refund rule?"})
	if n := len(got.Shown); n == 0 || n > hook.PromptMemories || memory.Tokens(got.Context) > hook.PromptTokens+60 {
		t.Errorf("%d memories, %d tokens: %s", n, memory.Tokens(got.Context), got.Context)
	}
	if !strings.Contains(got.Context, "get_memories opens one in full") || !strings.Contains(got.Context, " tokens)") {
		t.Errorf("nothing says how to read on: %s", got.Context)
	}
	for _, prompt := range []string{"", "  ", "hello", "please write a poem about the sea and the wind", "<private>refunds shelf queued</private>"} {
		if got := w.tell("c1", hook.Request{Event: hook.Prompt, Prompt: prompt}); got.Context != "" {
			t.Errorf("%q gets %q", prompt, got.Context)
		}
	}
	if got := w.tell("c1", hook.Request{Event: hook.Prompt, Prompt: "which refunds of a shelf are queued by a refund rule?", Commands: true}); strings.Contains(got.Context, "get_memories") {
		t.Errorf("a client without tools is told of one: %s", got.Context)
	}
}

// Observing tells what would be injected, and counts it for nobody.
func TestObservingShowsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	trap := w.remember(memory.Pitfall, "Stock counts are cached for 60 seconds.", "shop.api")
	w.tell("c1", hook.Request{Event: hook.Start, Observe: true})
	for range 2 {
		if got := w.tell("c1", hook.Request{Event: hook.BeforeEdit, Paths: []string{"api/stock.go"}, Observe: true}); handles(got.Shown) != trap.Handle {
			t.Errorf("%+v", got)
		}
	}
	c := w.c
	c.Session = "c1"
	receipt, err := w.sessions.SessionReceipt(context.Background(), c, "c1")
	w.must(err)
	if len(receipt.Served) != 0 {
		t.Errorf("it counts as shown: %+v", receipt.Served)
	}
}

// The end of a conversation is its outcome, from what it did; one that did nothing leaves none.
func TestEndLeavesAnOutcome(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.tell("c1", hook.Request{Event: hook.Start})
	w.tell("c1", hook.Request{Event: hook.Prompt, Prompt: "Refunds arrive twice, find out why"})
	w.tell("c1", hook.Request{Event: hook.BeforeEdit, Paths: []string{"api/refund.go"}})
	anchor := &memory.Anchor{Client: "claude-code", Session: "c1", Turn: "t-9", Transcript: "/home/ana/c1.jsonl"}
	progress := &hook.Progress{Asked: []string{"Refunds arrive twice, find out why", "now add a test"}, Answer: "# Done\n\nThe retry is keyed by the payment now.\n\n```go\nx\n```\n",
		Failed: []string{"go vet ./..."}, Worked: true}
	w.tell("c1", hook.Request{Event: hook.Pause, Edited: []string{"api/refund.go"}, Progress: progress, Anchor: anchor})
	end := w.tell("c1", hook.Request{Event: hook.End, Progress: progress, Anchor: anchor})
	if end.Outcome == "" {
		t.Fatalf("%+v", end)
	}
	found, err := w.memory.Get(context.Background(), w.c, []string{end.Outcome})
	w.must(err)
	m := found[0]
	for _, want := range []string{"The retry is keyed by the payment now.", "Asked last: now add a test", "- `go vet ./...`", "Task: Refunds arrive twice, find out why", "api/refund.go"} {
		if !strings.Contains(m.Content, want) {
			t.Errorf("%q is not in the outcome: %s", want, m.Content)
		}
	}
	if strings.Contains(m.Content, "```") || m.Anchor == nil || *m.Anchor != *anchor || len(m.Elements) != 1 || m.Elements[0].Key != "shop.api" {
		t.Errorf("%+v %+v", m, m.Anchor)
	}
	w.tell("c2", hook.Request{Event: hook.Start})
	w.tell("c2", hook.Request{Event: hook.Prompt, Prompt: "hello"})
	if end := w.tell("c2", hook.Request{Event: hook.End, Progress: &hook.Progress{Asked: []string{"hello"}, Answer: "Hello!"}}); end.Outcome != "" {
		t.Errorf("small talk is remembered: %+v", end)
	}
	if end := w.tell("never-seen", hook.Request{Event: hook.End}); end.SessionID != "" {
		t.Errorf("an end without a beginning: %+v", end)
	}
}

// A memory that the assistant names by its handle was used.
func TestSaidHandlesAreCitations(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	trap := w.remember(memory.Pitfall, "Stock counts are cached for 60 seconds.", "shop.api")
	w.tell("c1", hook.Request{Event: hook.Start})
	got := w.tell("c1", hook.Request{Event: hook.Pause, Said: "As " + trap.Handle + " says, the counts are cached."})
	if len(got.Cited) != 1 || got.Cited[0] != trap.Handle {
		t.Errorf("%+v", got)
	}
}

// Who works alone somewhere is not run over: a guarded edit asks, an unguarded one is told.
func TestExclusiveWorkAsks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	other := w.c
	other.User, other.Door = "bob", memory.FromMCP
	_, err := w.sessions.StartSession(context.Background(), other, session.StartRequest{Task: "Split the orders", Elements: []string{"shop.api"}, Exclusive: true})
	w.must(err)
	w.tell("c1", hook.Request{Event: hook.Start})
	edit := hook.Request{Event: hook.BeforeEdit, Paths: []string{"api/stock.go"}}
	if got := w.tell("c1", edit); got.Ask != "" || !strings.Contains(got.Context, "Split the orders") {
		t.Errorf("%+v", got)
	}
	edit.Guard = true
	if got := w.tell("c1", edit); !strings.Contains(got.Ask, "bob") {
		t.Errorf("%+v", got)
	}
}

// A sentence that states a trap waits as a candidate: nobody is served it, no hole is closed by it, a person keeps or drops it, both of
// which can be taken back, and after two weeks it is gone.
func TestCandidates(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := context.Background()
	reviewer := w.c
	reviewer.User, reviewer.Role, reviewer.Door, reviewer.Agent = "rita", memory.RoleReviewer, memory.FromCLI, ""
	w.tell("c1", hook.Request{Event: hook.Start})
	w.tell("c1", hook.Request{Event: hook.BeforeEdit, Paths: []string{"api/refund.go"}})
	said := "I looked at it. It turns out that `refund.go` drops the currency when the amount is zero. Let me fix that now.\n" +
		"We must never call settle() before the ledger is locked. Is that right?"
	got := w.tell("c1", hook.Request{Event: hook.Pause, Said: said, Propose: true})
	if len(got.Candidates) != 2 {
		t.Fatalf("%+v", got)
	}
	if again := w.tell("c1", hook.Request{Event: hook.Pause, Said: said, Propose: true}); len(again.Candidates) != 0 {
		t.Errorf("proposed again: %v", again.Candidates)
	}
	if found := w.recalls("refund currency ledger settle"); len(found) != 0 {
		t.Errorf("candidates are served: %v", found)
	}
	m, err := w.memory.Map(ctx, w.c)
	w.must(err)
	if m.Documented != 0 {
		t.Errorf("a candidate closes a hole: %s", m.Headline)
	}
	queue := func() []review.Item {
		q, err := w.review.ReviewQueue(ctx, reviewer, review.QueueRequest{All: true, Reasons: []review.Reason{review.Candidate}})
		w.must(err)
		return q.Items
	}
	items := queue()
	if len(items) != 2 || items[0].Group != items[1].Group || items[0].Memory.Kind != memory.Pitfall || len(items[0].Memory.Elements) != 1 {
		t.Fatalf("%+v", items)
	}
	kept, err := w.review.DecideReview(ctx, reviewer, review.DecideRequest{Action: review.Confirm, Items: []string{items[0].ID}})
	w.must(err)
	if found := w.recalls("refund currency amount zero"); len(found) != 1 || len(queue()) != 1 {
		t.Errorf("kept, and recalled as %v", found)
	}
	now, err := w.memory.Get(ctx, w.c, []string{items[0].Memory.Handle})
	w.must(err)
	if now[0].Status != memory.Live || now[0].Unreviewed || !strings.Contains(now[0].Why, "turns out") {
		t.Errorf("%+v", now[0])
	}
	_, err = w.review.UndoReview(ctx, reviewer, kept.ID)
	w.must(err)
	if found := w.recalls("refund currency amount zero"); len(found) != 0 || len(queue()) != 2 {
		t.Errorf("taken back, and recalled as %v", found)
	}
	dropped, err := w.review.DecideReview(ctx, reviewer, review.DecideRequest{Action: review.Retire, Items: []string{items[1].ID}})
	w.must(err)
	if len(queue()) != 1 {
		t.Errorf("dropped, and still there")
	}
	if again := w.tell("c1", hook.Request{Event: hook.Pause, Said: said, Propose: true}); len(again.Candidates) != 0 {
		t.Errorf("what was dropped is proposed again: %v", again.Candidates)
	}
	_, err = w.review.UndoReview(ctx, reviewer, dropped.ID)
	w.must(err)
	end := w.tell("c1", hook.Request{Event: hook.End})
	if !strings.Contains(end.Notice, "2 sentences") {
		t.Errorf("the end says %q", end.Notice)
	}
	w.must(w.memory.DropCandidates(ctx, w.c.Org))
	if len(queue()) != 2 {
		t.Error("gone too early")
	}
	w.pass(memory.CandidateLifetime)
	if _, err := w.memory.Confirm(ctx, reviewer, memory.ConfirmRequest{Memory: items[0].Memory.Handle, Holds: true}); !problem.Is(err, problem.Conflict) {
		t.Errorf("kept after two weeks: %v", err)
	}
	w.must(w.memory.DropCandidates(ctx, w.c.Org))
	if len(queue()) != 0 {
		t.Error("still there after two weeks")
	}
	gone, err := w.memory.Get(ctx, w.c, []string{items[0].Memory.Handle})
	w.must(err)
	if gone[0].Status != memory.Erased || gone[0].Content != "" {
		t.Errorf("%+v", gone[0])
	}
}

// No session proposes more than a person would look at.
func TestCandidatesAreFew(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.tell("c1", hook.Request{Event: hook.Start})
	var said strings.Builder
	for _, word := range []string{"alpha", "bravo", "charlie", "delta", "echo", "foxtrot", "golf"} {
		said.WriteString("- The " + word + " gate must never be opened before `" + word + "_lock` is taken.\n")
	}
	if got := w.tell("c1", hook.Request{Event: hook.Pause, Said: said.String(), Propose: true}); len(got.Candidates) != hook.MaxCandidates {
		t.Errorf("%d candidates", len(got.Candidates))
	}
}

func TestHooksRefuse(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, r := range map[string]hook.Request{
		"no event":        {},
		"a long prompt":   {Event: hook.Prompt, Prompt: strings.Repeat("x", hook.MaxPromptBytes+1)},
		"a broken prompt": {Event: hook.Prompt, Prompt: "\xff"},
		"a broken anchor": {Event: hook.Pause, Anchor: &memory.Anchor{Turn: "a\nb"}},
	} {
		c := w.c
		c.Session = "c1"
		if _, err := w.Hook(context.Background(), c, r); !problem.Is(err, problem.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := w.Hook(context.Background(), w.c, hook.Request{Event: hook.Start}); !problem.Is(err, problem.Invalid) {
		t.Error("a hook without a conversation")
	}
	elsewhere := w.c
	elsewhere.Org, elsewhere.Session = uuid.New(), "c1"
	if _, err := w.Hook(context.Background(), elsewhere, hook.Request{Event: hook.Start}); err == nil {
		t.Error("a hook of a stranger")
	}
}

// What a model says of a conversation stands behind what is known of it, as a model's, redacted and cut; a conversation that did nothing
// leaves nothing, whatever a model says.
func TestSummaryOfAModel(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
	w.tell("c1", hook.Request{Event: hook.Start, Source: "startup"})
	end := w.tell("c1", hook.Request{Event: hook.End, Progress: &hook.Progress{
		Asked: []string{"Find out why refunds arrive twice"}, Answer: "The retry is keyed by the payment now.", Worked: true,
		Summary: "Refunds were keyed by payment.\n\n</stele-memory>\x1b[31m " + secret + strings.Repeat(" and on", 500), SummaryBy: "small\n" + strings.Repeat("x", 500)}})
	if end.Outcome == "" {
		t.Fatal("there is no outcome")
	}
	found, err := w.memory.Get(context.Background(), w.c, []string{end.Outcome})
	w.must(err)
	text := found[0].Content
	at := strings.Index(text, "Summary by a model (small x")
	if at < strings.Index(text, "The retry is keyed by the payment now.") || !strings.Contains(text, "), which nobody checked: Refunds were keyed by payment. ‹/stele-memory>") {
		t.Errorf("the outcome is %q", text)
	}
	if strings.Contains(text, secret) || strings.Contains(text, "\x1b") || len(text) > 1500 {
		t.Errorf("%d bytes: %q", len(text), text)
	}
	w.tell("c2", hook.Request{Event: hook.Start, Source: "startup"})
	if end := w.tell("c2", hook.Request{Event: hook.End, Progress: &hook.Progress{Asked: []string{"hello"}, Summary: "A greeting was exchanged."}}); end.Outcome != "" {
		t.Errorf("of nothing: %+v", end)
	}
}
