package memory_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

func (w *world) recall(r memory.RecallRequest) memory.RecallResponse {
	w.t.Helper()
	out, err := w.Recall(context.Background(), w.c, r)
	w.must(err)
	return out
}

func (w *world) ask(q string) []string { return entries(w.recall(memory.RecallRequest{Query: q})) }

func TestRecallFindsAndExplains(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	strip := w.remember(memory.RememberRequest{Kind: memory.Pitfall, Content: "The gateway strips custom headers longer than 8KB", Elements: []string{"shop.api"}})
	w.remember(memory.RememberRequest{Content: "Deployments happen on Tuesdays"})
	got := w.recall(memory.RecallRequest{Query: "why do custom headers vanish at the gateway", Explain: true})
	if len(got.Results) != 1 || got.Results[0].Handle != strip.Memory.Handle {
		t.Fatalf("found %v, want %s alone", entries(got), strip.Memory.Handle)
	}
	r := got.Results[0]
	if r.Factors == nil || r.Factors.Kind != 3 || r.Factors.Lexical != 1 {
		t.Errorf("factors %+v, want a pitfall that has all words that occur", r.Factors)
	}
	near(t, "score", r.Score, r.Factors.Score())
	if got.Degraded != nil {
		t.Errorf("degraded %+v although no provider is configured", got.Degraded)
	}
	if got = w.recall(memory.RecallRequest{Query: "gateway"}); len(got.Results) != 1 || got.Results[0].Factors != nil {
		t.Errorf("factors come only when asked for: %+v", got.Results)
	}
}

func TestRecallSaysWhyNothingCameBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	empty := func(r memory.RecallRequest, words string) {
		t.Helper()
		got := w.recall(r)
		if len(got.Results)+len(got.Index) != 0 || !strings.Contains(got.Empty, words) {
			t.Errorf("%+v: %d results, %q; want none and %q", r, len(got.Results), got.Empty, words)
		}
	}
	empty(memory.RecallRequest{}, "nothing is remembered here yet")
	w.remember(memory.RememberRequest{Content: "Orders are queued before they are priced", Elements: []string{"shop.api"}})
	empty(memory.RecallRequest{Query: "volcano"}, "no word of the query occurs")
	empty(memory.RecallRequest{Query: "🙂 ?!"}, "no word to search for")
	empty(memory.RecallRequest{Query: "orders", Element: "shop.web.auth"}, "narrowed")
	empty(memory.RecallRequest{Kinds: []memory.Kind{memory.Pitfall}}, "narrowed")
	empty(memory.RecallRequest{Query: "volcano ash glacier tundra basalt magma orders crater lava geyser"}, "near enough")
}

func TestRecallTakesAnyTextAsData(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.remember(memory.RememberRequest{Content: "The memories table is partitioned by month"})
	chinese := w.remember(memory.RememberRequest{Content: "部署之前必须先运行数据库迁移脚本"})
	for _, q := range []string{
		`'; DROP TABLE memories; --`, `"(*&^`, `" OR 1=1`, "\x00\x01\xff\xfe", `\`, "%s %d $1 $2", "a:* & !b | <-> c",
		strings.Repeat("🙂🚀", 12_500), strings.Repeat("memories table ", 10_000), strings.Repeat("x", 100_000), "\u202e\u0000",
	} {
		if _, err := w.Recall(context.Background(), w.c, memory.RecallRequest{Query: q}); err != nil {
			t.Errorf("%.40q: %v", q, err)
		}
	}
	if got := w.ask(`'; DROP TABLE memories; --`); len(got) != 1 {
		t.Errorf("the words of an injection found %v, want the memory that has them", got)
	}
	if got := w.ask("迁移"); len(got) != 1 || got[0] != chinese.Memory.Handle {
		t.Errorf("two characters inside a sentence found %v, want %s", got, chinese.Memory.Handle)
	}
}

func TestRecallKeepsTheRarestOfManyWords(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	var common []string
	for i := range 120 {
		common = append(common, pseudoWord(i))
	}
	w.remember(memory.RememberRequest{Content: strings.Join(common, " ")})
	w.remember(memory.RememberRequest{Content: strings.Join(common, " ") + " again", Separate: true})
	rare := w.remember(memory.RememberRequest{Content: "quokka " + strings.Join(common, " ") + " zyzzyva", Separate: true})
	got := w.recall(memory.RecallRequest{Query: strings.Join(common, " ") + " zyzzyva quokka", Explain: true})
	if len(got.Results) == 0 || got.Results[0].Handle != rare.Memory.Handle {
		t.Errorf("found %v, want first %s, which has the rare words at the end of the query", entries(got), rare.Memory.Handle)
	}
}

func TestRecallRefusesWithAFix(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	past, tokens := w.now.Add(time.Hour), -1
	for _, c := range []struct {
		name  string
		r     memory.RecallRequest
		code  problem.Code
		words []string
	}{
		{"limit", memory.RecallRequest{Limit: 101}, problem.Invalid, []string{"limit", "101", "100"}},
		{"tokens", memory.RecallRequest{MaxTokens: &tokens}, problem.Invalid, []string{"max_tokens", "-1"}},
		{"kind", memory.RecallRequest{Kinds: []memory.Kind{"rumour"}}, problem.Invalid, []string{"kinds", "rumour", "pitfall"}},
		{"future", memory.RecallRequest{AsOf: &past}, problem.Invalid, []string{"as_of", "future"}},
		{"path", memory.RecallRequest{Paths: []string{"../etc"}}, problem.Invalid, []string{"paths", "../etc"}},
		{"unknown element", memory.RecallRequest{Element: "billing"}, problem.NotFound, []string{"element", "billing", "shop"}},
		{"ambiguous element", memory.RecallRequest{Element: "Auth"}, problem.Ambiguous, []string{"element", "shop.api.auth", "shop.web.auth"}},
		{"project", memory.RecallRequest{Projects: []string{"nowhere"}}, problem.NotFound, []string{"projects", "nowhere", "shop"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := w.Recall(context.Background(), w.c, c.r)
			wants(t, err, c.code, c.words...)
		})
	}
}

func TestRecallNarrows(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	say := func(what string, r memory.RememberRequest) string {
		r.Content = "token " + what
		r.Separate = true
		return w.remember(r).Memory.Handle
	}
	shop := say("of the whole shop", memory.RememberRequest{Elements: []string{"shop"}})
	api := say("of orders", memory.RememberRequest{Elements: []string{"shop.api"}, Tags: []string{"Security", "money"}})
	auth := say("of auth", memory.RememberRequest{Elements: []string{"shop.api.auth"}, Tags: []string{"security"}})
	web := say("of the storefront", memory.RememberRequest{Elements: []string{"shop.web"}, Kind: memory.Convention})
	file := say("in a file", memory.RememberRequest{Paths: []string{"docs/tokens.md"}})
	glob := say("in a folder", memory.RememberRequest{Paths: []string{"tools/**/*.sh"}})
	folder := say("in another folder", memory.RememberRequest{Paths: []string{"deploy"}})
	for _, c := range []struct {
		name string
		r    memory.RecallRequest
		want []string
	}{
		{"an element with descendants and ancestors, nearest first", memory.RecallRequest{Element: "shop.api"}, []string{api, shop, auth}},
		{"by name", memory.RecallRequest{Element: "storefront"}, []string{web, shop}},
		{"the file of a binding", memory.RecallRequest{Paths: []string{"api/auth/mw.go"}}, []string{auth}},
		{"a file by its path", memory.RecallRequest{Paths: []string{"docs/tokens.md"}}, []string{file}},
		{"a file by a glob", memory.RecallRequest{Paths: []string{"tools/ci/run.sh"}}, []string{glob}},
		{"a file in a named folder", memory.RecallRequest{Paths: []string{"deploy/prod/values.yaml"}}, []string{folder}},
		{"a folder finds what is inside", memory.RecallRequest{Paths: []string{"docs/"}}, []string{file}},
		{"another file", memory.RecallRequest{Paths: []string{"docs/tokens.md.bak"}}, []string{}},
		{"a kind", memory.RecallRequest{Kinds: []memory.Kind{memory.Convention, memory.Pitfall}}, []string{web}},
		{"a tag, without case", memory.RecallRequest{Tags: []string{"SECURITY"}}, []string{api, auth}},
		{"all tags", memory.RecallRequest{Tags: []string{"security", "money"}}, []string{api}},
		{"element and tag", memory.RecallRequest{Element: "shop.api.auth", Tags: []string{"security"}}, []string{auth, api}},
	} {
		for _, q := range []string{"", "token"} {
			c.r.Query = q
			got := entries(w.recall(c.r))
			if len(c.want) > 1 && c.r.Element == "" {
				got, c.want = sorted(got), sorted(c.want)
			}
			// Where distances tie, the handle decides; the nearest is first all the same.
			if len(got) != len(c.want) || len(got) > 0 && got[0] != c.want[0] || cmp.Diff(sorted(c.want), sorted(got)) != "" {
				t.Errorf("%s, query %q: got %v, want %v", c.name, q, got, c.want)
			}
		}
	}
}

func TestRecallScopesExpiryAndStatus(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	mine := w.remember(memory.RememberRequest{Content: "lantern of mine", Scope: memory.Personal}).Memory
	everyone := w.remember(memory.RememberRequest{Content: "lantern of everyone", Scope: memory.Organization}).Memory
	brief := w.remember(memory.RememberRequest{Content: "lantern that flickers", Expires: "1h"}).Memory
	gone := w.remember(memory.RememberRequest{Content: "lantern that went out"}).Memory
	_, err := w.Forget(context.Background(), w.c, memory.ForgetRequest{Memory: gone.Handle})
	w.must(err)
	if got, want := sorted(w.ask("lantern")), sorted([]string{mine.Handle, everyone.Handle, brief.Handle}); cmp.Diff(want, got) != "" {
		t.Errorf("found %v, want %v", got, want)
	}
	for _, r := range w.recall(memory.RecallRequest{Query: "lantern"}).Results {
		want := map[string]string{mine.Handle: "personal", everyone.Handle: "organization"}[r.Handle]
		if want != "" && (len(r.Flags) == 0 || r.Flags[0].Flag != want) {
			t.Errorf("%s carries flags %+v, want %s", r.Handle, r.Flags, want)
		}
	}
	w.now = w.now.Add(2 * time.Hour)
	if got := w.ask("flickers"); len(got) != 0 {
		t.Errorf("an expired memory is still in recall: %v", got)
	}
	// What has expired counts neither in N nor in df: "lantern" is a word of two memories, both have it.
	got := w.recall(memory.RecallRequest{Query: "lantern everyone", Explain: true})
	if len(got.Results) == 0 {
		t.Fatal("nothing found")
	}
	lantern, alone := memory.IDF(2, 2), memory.IDF(2, 1)
	for _, r := range got.Results {
		if r.Handle == mine.Handle {
			near(t, "lexical without what expired", r.Factors.Lexical, lantern/(lantern+alone))
		}
	}
	if got := entries(w.recall(memory.RecallRequest{Query: "flickers", IncludeExpired: true})); len(got) != 1 || got[0] != brief.Handle {
		t.Errorf("with expired ones found %v, want %s", got, brief.Handle)
	}
	other := w.c
	other.User = "u2"
	theirs, err := w.Recall(context.Background(), other, memory.RecallRequest{Query: "lantern"})
	w.must(err)
	if got := entries(theirs); len(got) != 1 || got[0] != everyone.Handle {
		t.Errorf("another person found %v, want %s alone", got, everyone.Handle)
	}
}

func TestRecallWidensToOtherProjects(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	p, err := w.CreateProject(context.Background(), w.c, "warehouse", nil)
	w.must(err)
	there := w.c
	there.Project = p.ID
	m, err := w.Remember(context.Background(), there, memory.RememberRequest{Content: "pallets are counted at night"})
	w.must(err)
	if got := w.ask("pallets"); len(got) != 0 {
		t.Errorf("another project's memory came unasked: %v", got)
	}
	if got := entries(w.recall(memory.RecallRequest{Query: "pallets", Projects: []string{"Warehouse"}})); len(got) != 1 || got[0] != m.Memory.Handle {
		t.Errorf("widened to the project found %v, want %s", got, m.Memory.Handle)
	}
}

func TestRecallBudget(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	long := strings.Repeat("kelp grows in the cold water of the bay\n", 60)
	for i := range 4 {
		w.remember(memory.RememberRequest{Title: fmt.Sprint("Kelp ", i), Content: fmt.Sprintf("kelp fact %d\n", i) + long, Kind: memory.Kinds[i%3], Separate: true})
	}
	ask := func(tokens int) memory.RecallResponse {
		return w.recall(memory.RecallRequest{Query: "kelp", MaxTokens: &tokens})
	}
	all := ask(memory.MaxMaxTokens)
	if len(all.Results) != 4 || len(all.Index) != 0 {
		t.Fatalf("%d whole, %d in the index; want all whole", len(all.Results), len(all.Index))
	}
	each := all.Results[0].Tokens
	some := ask(2*each + each/2)
	if len(some.Results) != 2 || len(some.Index) != 2 || some.TotalTokens > 2*each+each/2 {
		t.Errorf("%d whole, %d in the index, %d tokens; want 2 and 2 within the budget", len(some.Results), len(some.Index), some.TotalTokens)
	}
	if cmp.Diff(entries(all), entries(some)) != "" {
		t.Errorf("the budget changed the order: %v, %v", entries(all), entries(some))
	}
	if some.Index[0].Tokens != all.Results[2].Tokens || some.Index[0].Title != all.Results[2].Title {
		t.Errorf("index entry %+v, want title and cost of %s", some.Index[0], all.Results[2].Handle)
	}
	cut := ask(each / 2)
	r := cut.Results[0]
	if len(cut.Results) != 1 || !r.Truncated || r.Tokens > each/2 || cut.TotalTokens != r.Tokens {
		t.Errorf("%d results, truncated %v, %d tokens; want one cut to %d", len(cut.Results), r.Truncated, r.Tokens, each/2)
	}
	if !strings.HasPrefix(all.Results[0].Content, r.Content+"\n") {
		t.Errorf("cut within a line: …%q", r.Content[max(0, len(r.Content)-60):])
	}
	if none := ask(0); len(none.Results) != 0 || len(none.Index) != 4 || none.TotalTokens != 0 {
		t.Errorf("%d whole, %d in the index; want the index alone", len(none.Results), len(none.Index))
	}
	if tiny := ask(1); len(tiny.Results) != 1 || tiny.Results[0].Content == "" {
		t.Errorf("the first result always comes: %+v", tiny.Results)
	}
	text := memory.RenderRecall(all)
	sum := 0
	for _, r := range all.Results {
		sum += r.Tokens
	}
	if all.TotalTokens != sum || memory.Tokens(text) < sum || memory.Tokens(text) > sum+40 {
		t.Errorf("total %d, sum %d, rendered %d", all.TotalTokens, sum, memory.Tokens(text))
	}
}

func TestRecallBringsNeighbours(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	target := w.remember(memory.RememberRequest{Title: "Ledger rules", Content: "Entries are never rewritten"}).Memory
	hit := w.remember(memory.RememberRequest{Kind: memory.Pitfall, Title: "Walrus", Content: "Walrus imports follow [[Ledger rules]], [[ADR-4]] and [[shop.api]]"}).Memory
	w.remember(memory.RememberRequest{Content: "Nightly jobs, see [[Walrus]]"})
	got := w.recall(memory.RecallRequest{Query: "walrus"})
	var via []string
	for _, r := range got.Results {
		if r.Via != nil {
			via = append(via, r.Handle+" via "+r.Via.Handle)
		}
	}
	if got.Results[0].Via != nil || got.Results[0].Handle != hit.Handle {
		t.Fatalf("first is %+v, want the direct hit", got.Results[0])
	}
	// The memory that links back has the word as well, so it is a direct hit of its own.
	if len(entries(got)) != 4 || cmp.Diff([]string{target.Handle + " via " + hit.Handle, "ADR-4 via " + hit.Handle}, via) != "" {
		t.Errorf("got %v, linked %v", entries(got), via)
	}
	adr := got.Results[len(got.Results)-1]
	if adr.Kind != memory.DecisionKind || adr.Title != "Queue the orders" || adr.Content != "Orders wait in a queue." || adr.Status != "accepted" {
		t.Errorf("decision %+v", adr.Memory)
	}
	if got = w.recall(memory.RecallRequest{Query: "rewritten entries"}); cmp.Diff([]string{target.Handle, hit.Handle}, entries(got)) != "" {
		t.Errorf("a link leads back as well: %v", entries(got))
	}
	_, err := w.Forget(context.Background(), w.c, memory.ForgetRequest{Memory: target.Handle})
	w.must(err)
	for _, r := range w.recall(memory.RecallRequest{Query: "walrus"}).Results {
		if r.Handle == target.Handle {
			t.Error("a retired memory came along by its link")
		}
	}
}

func TestRecallLeavesImpressions(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	whole := w.remember(memory.RememberRequest{Kind: memory.Pitfall, Content: "ferret cages are locked"}).Memory
	long := w.remember(memory.RememberRequest{Content: "ferret food\n" + strings.Repeat("and more\n", 800)}).Memory
	doors := func() map[string]string {
		out := map[string]string{}
		rows, err := w.h.database.ConnectAdmin(t).Query(context.Background(), `SELECT m.handle, i.door, i.times FROM impressions i JOIN memories m USING (memory_id)`)
		w.must(err)
		for rows.Next() {
			var handle, door string
			var times int
			w.must(rows.Scan(&handle, &door, &times))
			out[handle+" "+door] = fmt.Sprint(times)
		}
		w.must(rows.Err())
		return out
	}
	w.recall(memory.RecallRequest{Query: "ferret"})
	if got := doors(); len(got) != 0 {
		t.Fatalf("without a session nobody was shown anything, but %v", got)
	}
	w.c.Session = "s1"
	at := w.now
	w.recall(memory.RecallRequest{Query: "ferret", AsOf: &at})
	if got := doors(); len(got) != 0 {
		t.Fatalf("a look at the past left impressions: %v", got)
	}
	w.recall(memory.RecallRequest{Query: "ferret"})
	w.recall(memory.RecallRequest{Query: "cages", Door: "prompt"})
	w.recall(memory.RecallRequest{Query: "cages", Door: "prompt"})
	want := map[string]string{whole.Handle + " recall": "1", long.Handle + " index": "1", whole.Handle + " prompt": "2"}
	if diff := cmp.Diff(want, doors()); diff != "" {
		t.Errorf("impressions (-want +got):\n%s", diff)
	}
}

// Recall of the present and recall as of this moment go different ways to the same answer: indexed search and scan of the
// logs. Random memories, random changes, random questions.
func TestRecallEqualsTheLogs(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	vocabulary := strings.Fields("queue order price token retry cache header gateway 订单 超时 index worker")
	rapid.Check(t, func(rt *rapid.T) {
		w := h.world(t, nil)
		words := func(label string, least, most int) string {
			return strings.Join(rapid.SliceOfN(rapid.SampledFrom(vocabulary), least, most).Draw(rt, label), " ")
		}
		elements := []string{"shop", "shop.api", "shop.web", "shop.api.auth", "shop.web.auth"}
		ctx := context.Background()
		var known []string
		for range rapid.IntRange(1, 12).Draw(rt, "memories") {
			r := memory.RememberRequest{
				Kind: rapid.SampledFrom(memory.Kinds[:3]).Draw(rt, "kind"), Content: words("content", 1, 6), Separate: true,
				Scope: rapid.SampledFrom([]memory.Scope{memory.Project, memory.Project, memory.Organization, memory.Personal}).Draw(rt, "scope"),
			}
			if rapid.Bool().Draw(rt, "attached") {
				r.Elements = []string{rapid.SampledFrom(elements).Draw(rt, "element")}
			}
			if rapid.Bool().Draw(rt, "tagged") {
				r.Tags = []string{rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "tag")}
			}
			if rapid.Bool().Draw(rt, "pathed") {
				r.Paths = []string{rapid.SampledFrom([]string{"docs/a.md", "docs/**", "api/auth/x.go"}).Draw(rt, "path")}
			}
			if rapid.IntRange(0, 4).Draw(rt, "expires") == 0 {
				r.Expires = "2h"
			}
			known = append(known, w.remember(r).Memory.Handle)
			w.now = w.now.Add(time.Duration(rapid.IntRange(1, 50).Draw(rt, "hours")) * 20 * time.Minute)
		}
		for range rapid.IntRange(0, 5).Draw(rt, "changes") {
			m := rapid.SampledFrom(known).Draw(rt, "of")
			w.now = w.now.Add(time.Hour)
			// A change may be refused by the state of its memory; what is left is compared all the same.
			switch rapid.IntRange(0, 4).Draw(rt, "change") {
			case 0:
				_, _ = w.Confirm(ctx, w.c, memory.ConfirmRequest{Memory: m, Holds: true})
			case 1:
				_, _ = w.Confirm(ctx, w.c, memory.ConfirmRequest{Memory: m})
			case 2:
				_, _ = w.Forget(ctx, w.c, memory.ForgetRequest{Memory: m})
			case 3:
				_, _ = w.Remember(ctx, w.c, memory.RememberRequest{Content: words("successor", 1, 6), Supersedes: m, Separate: true})
			case 4:
				tags := []string{"b"}
				_, _ = w.Edit(ctx, w.c, memory.EditRequest{Memory: m, Tags: &tags})
			}
		}
		for range 3 {
			r := memory.RecallRequest{Query: words("query", 0, 4), Explain: true, Limit: rapid.IntRange(1, 10).Draw(rt, "limit"),
				IncludeExpired: rapid.Bool().Draw(rt, "expired")}
			tokens := 0
			r.MaxTokens = &tokens
			switch rapid.IntRange(0, 4).Draw(rt, "narrowed") {
			case 0:
				r.Element = rapid.SampledFrom(elements).Draw(rt, "in")
			case 1:
				r.Tags = []string{rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "tagged")}
			case 2:
				r.Paths = []string{rapid.SampledFrom([]string{"docs/a.md", "api/auth/x.go", "docs/**", "api/y.go"}).Draw(rt, "about")}
			case 3:
				r.Kinds = []memory.Kind{rapid.SampledFrom(memory.Kinds).Draw(rt, "only")}
			}
			now := w.recall(r)
			at := w.now
			r.AsOf = &at
			if diff := cmp.Diff(w.recall(r), now); diff != "" {
				rt.Fatalf("%+v (-logs +index):\n%s", r, diff)
			}
		}
	})
}

func sorted(in []string) []string {
	out := slices.Clone(in)
	slices.Sort(out)
	return out
}
