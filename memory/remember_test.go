package memory_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stele-dev/stele/embedding/embedtest"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
	"github.com/stele-dev/stele/memory/postgres"
)

func TestRememberRefusesWithAFix(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	agent := w.c
	agent.Role, agent.Door = memory.RoleAgent, memory.FromMCP
	for name, tc := range map[string]struct {
		c     memory.Caller
		r     memory.RememberRequest
		code  problem.Code
		words []string
	}{
		"empty":            {w.c, memory.RememberRequest{Content: "  \n"}, problem.Invalid, []string{"content", "empty"}},
		"all private":      {w.c, memory.RememberRequest{Content: "<private>all of it</private>"}, problem.Invalid, []string{"content", "private"}},
		"too long":         {w.c, memory.RememberRequest{Content: strings.Repeat("x ", 8193)}, problem.Invalid, []string{"16385", "16384"}},
		"bad utf-8":        {w.c, memory.RememberRequest{Content: "a\xff\xfeb"}, problem.Invalid, []string{"content", "UTF-8"}},
		"long title":       {w.c, memory.RememberRequest{Content: "x", Title: strings.Repeat("t", 201)}, problem.Invalid, []string{"title", "200"}},
		"unknown kind":     {w.c, memory.RememberRequest{Content: "x", Kind: "idea"}, problem.Invalid, []string{"idea", "pitfall"}},
		"session outcome":  {w.c, memory.RememberRequest{Content: "x", Kind: memory.SessionOutcome}, problem.Invalid, []string{"session_outcome", "finish"}},
		"unknown scope":    {w.c, memory.RememberRequest{Content: "x", Scope: "team"}, problem.Invalid, []string{"team"}},
		"org by an agent":  {agent, memory.RememberRequest{Content: "x", Scope: memory.Organization}, problem.Forbidden, []string{"reviewer"}},
		"unknown element":  {w.c, memory.RememberRequest{Content: "x", Elements: []string{"shop.auth"}}, problem.NotFound, []string{"shop.auth", "shop.api.auth"}},
		"ambiguous name":   {w.c, memory.RememberRequest{Content: "x", Elements: []string{"Auth"}}, problem.Ambiguous, []string{"shop.api.auth", "shop.web.auth"}},
		"path outside":     {w.c, memory.RememberRequest{Content: "x", Paths: []string{"../etc/passwd"}}, problem.Invalid, []string{"paths", "leaves"}},
		"absolute path":    {w.c, memory.RememberRequest{Content: "x", Paths: []string{"/etc/passwd"}}, problem.Invalid, []string{"absolute"}},
		"broken glob":      {w.c, memory.RememberRequest{Content: "x", Paths: []string{"a/[b"}}, problem.Invalid, []string{"glob"}},
		"too many paths":   {w.c, memory.RememberRequest{Content: "x", Paths: numbered("p%d.go", 21)}, problem.Invalid, []string{"21", "20"}},
		"too many tags":    {w.c, memory.RememberRequest{Content: "x", Tags: numbered("t%d", 11)}, problem.Invalid, []string{"11", "10"}},
		"expired":          {w.c, memory.RememberRequest{Content: "x", Expires: "2029-12-31"}, problem.Invalid, []string{"expires", "future"}},
		"no time":          {w.c, memory.RememberRequest{Content: "x", Expires: "soon"}, problem.Invalid, []string{"expires", "3d"}},
		"nothing replaced": {w.c, memory.RememberRequest{Content: "x", Supersedes: "m-aaaaaaa"}, problem.NotFound, []string{"supersedes", "m-aaaaaaa"}},
	} {
		if _, err := w.Remember(context.Background(), tc.c, tc.r); !problem.Is(err, tc.code) {
			t.Errorf("%s: %v, want a problem of code %s", name, err, tc.code)
		} else {
			wants(t, err, tc.code, tc.words...)
		}
	}
	list, err := w.List(context.Background(), w.c, memory.ListRequest{Status: "all"})
	w.must(err)
	if len(list.Memories) != 0 {
		t.Errorf("refused texts left %d memories", len(list.Memories))
	}
}

func numbered(format string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf(format, i)
	}
	return out
}

func TestRememberCleansWhatItStores(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	key := "AKIA" + "IOSFODNN7EXAMPLE"
	out := w.remember(memory.RememberRequest{Content: "deploys use " + key + " <private>my salary</private> daily", Why: "set " + key, Tags: []string{"#Deploy", "deploy", " "}})
	m := out.Memory
	for _, text := range []string{m.Content, m.Why} {
		if strings.Contains(text, key) || strings.Contains(text, "salary") {
			t.Errorf("stored %q", text)
		}
	}
	if len(out.Redacted) == 0 || out.Redacted[0].Count != 2 {
		t.Errorf("redacted %+v, want the key twice", out.Redacted)
	}
	if !slices.Equal(m.Tags, []string{"Deploy"}) {
		t.Errorf("tags %q, want Deploy alone", m.Tags)
	}
	if len(out.Warnings) == 0 || !strings.Contains(strings.Join(out.Warnings, " "), "private") {
		t.Errorf("warnings %q do not tell of the private part", out.Warnings)
	}
}

func TestRememberSaysWhatItAttachedTo(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	m := w.remember(memory.RememberRequest{Content: "the token is checked twice", Paths: []string{"api/auth/mw.go", "./web/"}}).Memory
	var got []string
	for _, e := range m.Elements {
		got = append(got, e.Key+" "+e.Reason)
	}
	if want := []string{"shop.api.auth by api/auth/mw.go", "shop.web by web/**"}; !slices.Equal(got, want) {
		t.Errorf("attached %q, want %q", got, want)
	}
	out := w.remember(memory.RememberRequest{Content: "orders are placed once"})
	if len(out.Warnings) != 1 || !strings.Contains(out.Warnings[0], "shop.api") {
		t.Errorf("warnings %q do not offer the element the words are about", out.Warnings)
	}
}

// Vectors decide when both sides have one: the same facts merge, another number does not, and what is near is offered.
func TestRememberByVector(t *testing.T) {
	t.Parallel()
	w := newWorld(t, &embedtest.Provider{})
	first := w.remember(memory.RememberRequest{Content: "The client retries 3 times before it gives up", Elements: []string{"shop.api"}}).Memory
	w.now = w.now.Add(time.Hour)

	again := w.remember(memory.RememberRequest{Content: "the client retries 3 times before it gives up!", Title: "Retries", Why: "the network drops"})
	if !again.Deduplicated || again.Memory.Handle != first.Handle {
		t.Fatalf("a restatement became %+v", again)
	}
	if again.Restated == nil || again.Restated.Yours == again.Restated.Existing {
		t.Errorf("the merge is not explained: %+v", again.Restated)
	}
	m := w.get(first.Handle)
	if m.Confirmations != 1 || !m.ConfirmedAt.Equal(w.now) || m.Title != "Retries" || m.Why == "" || len(m.Elements) != 1 {
		t.Errorf("after the restatement: %+v", m)
	}

	other := w.remember(memory.RememberRequest{Content: "The client retries 4 times before it gives up"})
	if other.Deduplicated || len(other.SimilarTo) != 1 || other.SimilarTo[0].Handle != first.Handle || other.SimilarTo[0].Differs == "" {
		t.Errorf("another number: %+v", other)
	}
	elsewhere := w.remember(memory.RememberRequest{Content: "The client retries 3 times before it gives up", Elements: []string{"shop.web"}})
	if elsewhere.Deduplicated || len(elsewhere.SimilarTo) == 0 {
		t.Errorf("attached elsewhere: %+v", elsewhere)
	}
	if sep := w.remember(memory.RememberRequest{Content: "The client retries 3 times before it gives up", Separate: true}); sep.Deduplicated {
		t.Error("separate was merged")
	}
}

func TestRememberWithADeadProvider(t *testing.T) {
	t.Parallel()
	p := &embedtest.Provider{}
	w := newWorld(t, p)
	p.Down.Store(true)
	first := w.remember(memory.RememberRequest{Content: "sessions live in redis"}).Memory
	p.Down.Store(false)
	// The stored text has no vector, so words decide: equal text merges, most words shared is offered.
	if out := w.remember(memory.RememberRequest{Content: "Sessions live in Redis."}); !out.Deduplicated || out.Memory.Handle != first.Handle {
		t.Errorf("equal text without a vector: %+v", out)
	}
	out := w.remember(memory.RememberRequest{Content: "sessions live in redis mostly"})
	if out.Deduplicated || len(out.SimilarTo) != 1 || out.SimilarTo[0].Overlap < 0.6 {
		t.Errorf("most words shared: %+v", out)
	}
}

func TestEchoChangesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	m := w.remember(memory.RememberRequest{Content: "logs rotate at midnight"}).Memory
	w.now = w.now.Add(time.Hour)
	c := w.c
	c.Session = "s1"
	_, err := w.Get(context.Background(), c, []string{m.Handle})
	w.must(err)
	out, err := w.Remember(context.Background(), c, memory.RememberRequest{Content: "logs rotate at midnight", Title: "Rotation"})
	w.must(err)
	if !out.Deduplicated || !out.Echo {
		t.Fatalf("a served memory said back: %+v", out)
	}
	if after := w.get(m.Handle); after.Confirmations != 0 || after.Title != "" || !after.ConfirmedAt.Equal(m.ConfirmedAt) {
		t.Errorf("an echo changed the memory: %+v", after)
	}
}

// A restatement never clears a doubt; only confirm does.
func TestDoubtOutlivesRestatement(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	m := w.remember(memory.RememberRequest{Content: "uploads go to disk"}).Memory
	_, err := w.Confirm(context.Background(), w.c, memory.ConfirmRequest{Memory: m.Handle, Holds: false, Note: "they go to a bucket now"})
	w.must(err)
	w.remember(memory.RememberRequest{Content: "uploads go to disk"})
	after := w.get(m.Handle)
	if len(after.Flags) != 1 || after.Flags[0].Flag != "disputed" || after.Flags[0].Reason != "they go to a bucket now" {
		t.Errorf("flags after a restatement: %+v", after.Flags)
	}
	after, err = w.Confirm(context.Background(), w.c, memory.ConfirmRequest{Memory: m.Handle, Holds: true})
	w.must(err)
	if len(after.Flags) != 0 {
		t.Errorf("flags after a confirmation: %+v", after.Flags)
	}
}

func TestSupersede(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	ctx := context.Background()
	old := w.remember(memory.RememberRequest{Content: "timeout is 5 s", Title: "Timeout", Kind: memory.Pitfall, Elements: []string{"shop.api"}}).Memory
	linker := w.remember(memory.RememberRequest{Content: "see [[" + old.Handle + "]] and [[Timeout]], not `[[Code]]`", Elements: []string{"shop"}}).Memory
	successor := w.remember(memory.RememberRequest{Content: "timeout is 10 s", Title: "Timeout", Supersedes: "timeout"}).Memory
	if successor.Kind != memory.Pitfall || len(successor.Elements) != 1 || successor.Elements[0].Key != "shop.api" {
		t.Errorf("the successor did not inherit kind and elements: %+v", successor)
	}
	for _, l := range w.get(linker.Handle).Links {
		if l.Target != successor.Handle {
			t.Errorf("link %q leads to %q, want the live successor", l.Text, l.Target)
		}
	}
	_, err := w.Remember(ctx, w.c, memory.RememberRequest{Content: "timeout is 20 s", Supersedes: old.Handle})
	wants(t, err, problem.Conflict, successor.Handle)
	_, err = w.Confirm(ctx, w.c, memory.ConfirmRequest{Memory: old.Handle, Holds: true})
	wants(t, err, problem.Conflict, successor.Handle)
	_, err = w.Remember(ctx, w.c, memory.RememberRequest{Content: "timeouts are logged", Title: "TIMEOUT"})
	wants(t, err, problem.Conflict, successor.Handle, "supersedes")
	_, err = w.Remember(ctx, w.c, memory.RememberRequest{Content: "x", Supersedes: successor.Handle, Scope: memory.Personal})
	wants(t, err, problem.Invalid, "scope")
}

// A name nobody bears yet attaches itself the moment somebody writes it; elements and decisions are found as well.
func TestLinksResolveWhenRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	m := w.remember(memory.RememberRequest{Content: "see [[Retry policy]], [[Orders]], [[shop.web]], [[Auth]] and [[ADR-4]]", Elements: []string{"shop"}}).Memory
	want := []memory.Link{
		{Text: "Retry policy"},
		{Text: "Orders", Kind: "element", Target: "shop.api", Title: "Orders"},
		{Text: "shop.web", Kind: "element", Target: "shop.web", Title: "Storefront"},
		{Text: "Auth", Note: "ambiguous: shop.api.auth, shop.web.auth"},
		{Text: "ADR-4", Kind: "decision", Target: "ADR-4", Title: "Queue the orders"},
	}
	if !slices.Equal(m.Links, want) {
		t.Errorf("links %+v\nwant  %+v", m.Links, want)
	}
	p := w.remember(memory.RememberRequest{Content: "back off and try again", Title: "retry  POLICY"}).Memory
	if got := w.get(m.Handle).Links[0]; got.Target != p.Handle || got.Kind != "memory" {
		t.Errorf("the link leads to %+v, want %s", got, p.Handle)
	}
}

func TestConfirmRefusesWhatTheSessionDidNotSee(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	ctx := context.Background()
	m := w.remember(memory.RememberRequest{Content: "indexes are rebuilt nightly"}).Memory
	c := w.c
	c.Session = "s1"
	_, err := w.Get(ctx, c, []string{m.Handle})
	w.must(err)
	w.now = w.now.Add(time.Minute)
	tags := []string{"search"}
	_, err = w.Edit(ctx, w.c, memory.EditRequest{Memory: m.Handle, Tags: &tags})
	w.must(err)
	_, err = w.Confirm(ctx, c, memory.ConfirmRequest{Memory: m.Handle, Holds: true})
	wants(t, err, problem.Stale, "indexes are rebuilt nightly", "revision 2")
	_, err = w.Get(ctx, c, []string{m.Handle})
	w.must(err)
	if _, err = w.Confirm(ctx, c, memory.ConfirmRequest{Memory: m.Handle, Holds: true}); err != nil {
		t.Errorf("after reading it again: %v", err)
	}
	_, err = w.Edit(ctx, w.c, memory.EditRequest{Memory: m.Handle, Revision: 1, Tags: &tags})
	wants(t, err, problem.Stale, "revision")
}

// A dispute that arrives while a session reads what it will confirm was not shown to it, whatever the clocks say.
func TestConfirmIsNotLost(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	ctx := context.Background()
	m := w.remember(memory.RememberRequest{Content: "the mirror is read only"}).Memory
	w.now = w.now.Add(time.Hour)
	_, err := w.Confirm(ctx, w.c, memory.ConfirmRequest{Memory: m.Handle, Holds: false, Note: "I wrote to it"})
	w.must(err)
	// What the session was shown is from before the dispute, and it is recorded after it.
	w.must(w.h.store.Impress(ctx, w.c.Org, "s1", w.now.Add(time.Hour), []memory.Impression{{Memory: m.ID, Revision: 1, Door: memory.DoorRecall}}))
	c := w.c
	c.Session = "s1"
	_, err = w.Confirm(ctx, c, memory.ConfirmRequest{Memory: m.Handle, Holds: true})
	wants(t, err, problem.Stale, "doubt")
	_, err = w.Get(ctx, c, []string{m.Handle})
	w.must(err)
	if after, err := w.Confirm(ctx, c, memory.ConfirmRequest{Memory: m.Handle, Holds: true}); err != nil || len(after.Flags) != 0 {
		t.Errorf("after reading it again: %+v, %v", after.Flags, err)
	}
}

// Sixteen writers that state the same fact at once leave one memory with fifteen confirmations.
func TestSixteenWritersOneFact(t *testing.T) {
	t.Parallel()
	for name, provider := range map[string]*embedtest.Provider{"words": nil, "vectors": {}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, nil)
			if provider != nil {
				w = newWorld(t, provider)
			}
			// A second Store stands for a second process: it shares nothing with the first but the database.
			other := memory.New(postgres.New(w.h.database.DB, w.h.master), memory.Options{Embedder: w.provider})
			var group sync.WaitGroup
			errs := make([]error, 16)
			for i := range errs {
				s := []*memory.Service{w.Service, other}[i%2]
				group.Go(func() {
					c := w.c
					c.User, c.Session = fmt.Sprintf("u%d", i), fmt.Sprintf("s%d", i)
					_, errs[i] = s.Remember(context.Background(), c, memory.RememberRequest{Content: "the queue holds 100 orders", Elements: []string{"shop.api"}})
				})
			}
			group.Wait()
			for _, err := range errs {
				w.must(err)
			}
			list, err := w.List(context.Background(), w.c, memory.ListRequest{Status: "all"})
			w.must(err)
			if len(list.Memories) != 1 || list.Memories[0].Confirmations != 15 {
				t.Errorf("%d memories, the first with %d confirmations", len(list.Memories), list.Memories[0].Confirmations)
			}
		})
	}
}

func TestImportedRecordIsTakenOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	c := w.c
	c.Door = memory.FromImport
	then := w.now.Add(-1000 * time.Hour)
	r := memory.RememberRequest{Content: "the old build needs make 3", Imported: &memory.Imported{Key: "notes:1", CreatedAt: then, User: "u9"}}
	first, err := w.Remember(context.Background(), c, r)
	w.must(err)
	if !first.Memory.Unreviewed || !first.Memory.CreatedAt.Equal(then) || first.Memory.Author != "u9" {
		t.Errorf("imported as %+v", first.Memory)
	}
	r.Content = "the old build needs make 4"
	again, err := w.Remember(context.Background(), c, r)
	w.must(err)
	if !again.Deduplicated || again.Memory.Content != first.Memory.Content || !again.Memory.ConfirmedAt.Equal(then) {
		t.Errorf("a second import changed it: %+v", again.Memory)
	}
	m, err := w.Confirm(context.Background(), w.c, memory.ConfirmRequest{Memory: first.Memory.Handle, Holds: true})
	w.must(err)
	if m.Unreviewed {
		t.Error("confirmed, and still unreviewed")
	}
}

func TestExpiredStaysForTitlesAndDedupe(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	m := w.remember(memory.RememberRequest{Content: "the freeze ends on friday", Title: "Freeze", Expires: "3d"}).Memory
	w.now = w.now.Add(4 * 24 * time.Hour)
	if f := w.get(m.Handle).Flags; len(f) != 1 || f[0].Flag != "expired" {
		t.Errorf("flags %+v, want expired", f)
	}
	_, err := w.Remember(context.Background(), w.c, memory.RememberRequest{Content: "freezes are announced", Title: "freeze"})
	wants(t, err, problem.Conflict, m.Handle)
	out := w.remember(memory.RememberRequest{Content: "the freeze ends on friday"})
	if !out.Deduplicated || out.Memory.ExpiresAt != nil || len(out.Memory.Flags) != 0 {
		t.Errorf("said again after it expired: %+v", out.Memory)
	}
}

// A path belongs to the repository it was named in, whichever project the memory was first written in.
func TestPathsStayWithTheirRepository(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	ctx := context.Background()
	w.remember(memory.RememberRequest{Content: "I like small functions", Scope: memory.Personal})
	p, err := w.CreateProject(ctx, w.c, "warehouse", nil)
	w.must(err)
	there := w.c
	there.Project = p.ID
	out, err := w.Remember(ctx, there, memory.RememberRequest{Content: "I like small functions", Scope: memory.Personal, Paths: []string{"racks/x.go"}})
	w.must(err)
	if !out.Deduplicated {
		t.Fatalf("not recognised: %+v", out)
	}
	for name, tc := range map[string]struct {
		c    memory.Caller
		want int
	}{"where it was named": {there, 1}, "elsewhere": {w.c, 0}} {
		why, err := w.Why(ctx, tc.c, "racks/x.go", 0)
		w.must(err)
		if len(why.Entries) != tc.want {
			t.Errorf("%s: %d entries, want %d", name, len(why.Entries), tc.want)
		}
	}
}
