package main

import (
	"bufio"
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/memory"
)

var update = flag.Bool("update", false, "write the goldens anew")

func printed(colour bool, write func(p *printer)) string {
	var out bytes.Buffer
	w := bufio.NewWriter(&out)
	write(&printer{w: w, width: defaultWidth, colour: colour})
	if err := w.Flush(); err != nil {
		panic(err) // a buffer takes everything
	}
	return out.String()
}

func sample() memory.Memory {
	at := time.Date(2026, 3, 1, 12, 30, 0, 0, time.UTC)
	expires := at.AddDate(0, 1, 0)
	return memory.Memory{
		ID: uuid.MustParse("0190aaaa-0000-7000-8000-000000000001"), Handle: "m-7k3f9qa", Kind: memory.Pitfall, Title: "Stock cache",
		Content: "The gateway keeps the stock of a shop for a minute, also when the warehouse has already answered with another one:\n\n" +
			"- a sale right after a delivery may be refused, and the till then says that there is nothing left to be sold\n" +
			"- `curl -X DELETE` on the cache helps\n\n```\ncurl -X DELETE https://gateway.example/internal/cache/stock/of/a/shop/with/a/long/path\n```\n\n" +
			"网关把库存缓存一分钟，即使仓库已经给出另一个数字，收银台也会在送货之后立即拒绝销售，并且说明没有任何东西可以出售。",
		Why: "the warehouse answers in two seconds, which is too slow for a till with customers in front of it", Scope: memory.Organization,
		Status:   memory.Superseded,
		Elements: []memory.ElementRef{{Key: "shop.api", Name: "API", Level: "container", Reason: "by api/stock.go"}, {Key: "shop.old", Orphan: true}},
		Paths:    []string{"api/stock.go", "web/**"}, Tags: []string{"cache", "till"}, Author: "claude-code/kim", Origin: memory.FromMCP,
		CreatedAt: at, ConfirmedAt: at.AddDate(0, 0, 3), Confirmations: 2, Revision: 1, ExpiresAt: &expires, SupersededBy: "m-2b7c1xd",
		Flags: []memory.Flag{{Flag: "disputed", Reason: "it is thirty seconds since the change of the gateway in February, says sam"}},
		Links: []memory.Link{{Text: "ADR-4", Kind: "decision", Target: "ADR-4", Title: "Cache at the gateway"}, {Text: "Nowhere"}, {Text: "API", Note: "ambiguous: shop.api, till.api"}},
	}
}

// TestGoldens holds what people read: every shape at 80 columns.
func TestGoldens(t *testing.T) {
	t.Parallel()
	m := sample()
	near := []memory.Similar{
		{Handle: "m-2b7c1xd", Title: "Stock cache", Excerpt: "The gateway keeps the stock of a shop for thirty seconds.", Cosine: 0.91, Differs: "numbers: a minute against 30 seconds"},
		{Handle: "m-3c8d2ye", Excerpt: "Stock is counted at night.", Overlap: 0.6},
	}
	at := m.CreatedAt
	for name, write := range map[string]func(p *printer){
		"memory": func(p *printer) { p.memory(m) },
		"remembered": func(p *printer) {
			p.remembered(memory.RememberResponse{
				Memory: m, SimilarTo: near, Redacted: []memory.Redaction{{Kind: "token", Count: 2}},
				Warnings: []string{"this hangs on no element, so no map shows it; it may be about shop.api, shop.web or shop.till: stele edit attaches it"},
			})
			p.line("")
			p.remembered(memory.RememberResponse{Memory: m, Deduplicated: true, Restated: &memory.Restated{
				Yours: "the gateway keeps the stock for a minute", Existing: "The gateway keeps the stock of a shop for a minute, also when the warehouse has already",
			}})
			p.line("")
			p.remembered(memory.RememberResponse{Memory: m, Deduplicated: true, Echo: true})
		},
		"recalled": func(p *printer) {
			p.recalled(memory.RecallResponse{
				Results: []memory.Result{
					{Memory: m, Score: 1.234, Truncated: true, Factors: &memory.Factors{Lexical: 0.9, Relevance: 0.9, Kind: 3, Freshness: 0.83, Citation: 1.1, Ignored: 1, Doubt: 0.6, Trust: 0.5}},
					{Memory: memory.Memory{Handle: "ADR-4", Kind: memory.DecisionKind, Title: "Cache at the gateway", Status: "accepted", Content: "Where do we cache?"}, Via: &memory.Via{Handle: "m-7k3f9qa", Title: "Stock cache"}},
				},
				Index:    []memory.IndexEntry{{Handle: "m-3c8d2ye", Kind: memory.SessionOutcome, Title: "Moved the cache into the gateway and measured what that does to the till", Tokens: 412}},
				Degraded: &memory.Degraded{Reason: "not indexed yet", Unindexed: 3},
			})
		},
		"nothing": func(p *printer) {
			p.recalled(memory.RecallResponse{Empty: "no word of the query occurs in any memory", Degraded: &memory.Degraded{Reason: "no vectors"}})
		},
		"listed": func(p *printer) {
			other := m
			other.Title, other.Flags, other.Kind, other.Content = "", nil, memory.SessionOutcome, "把缓存移到网关里，并测量了这对收银台的影响，结果比预期的要好得多，所以就这样保留下来。\nmore"
			p.listed([]memory.Memory{m, other})
		},
		"timeline": func(p *printer) {
			p.timeline(memory.TimelineResponse{Entries: []memory.TimelineEntry{
				{At: at, Handle: "m-1a2b3cd", Kind: memory.Note, Status: memory.Retired, Title: "The warehouse is asked for every sale"},
				{At: at.Add(time.Hour), Handle: "m-7k3f9qa", Kind: memory.Pitfall, Status: memory.Live, Title: "Stock cache", Anchor: true},
			}})
		},
		"history": func(p *printer) {
			p.history(memory.HistoryResponse{
				Memory: memory.Memory{Handle: "m-7k3f9qa", Kind: memory.Note, Content: "New.", Author: "kim", Revision: 2, CreatedAt: at},
				Events: []memory.Event{{At: at, Verb: "remember", Author: "kim", Door: "cli", Detail: "commit 1a2b3c4 on main"}, {At: at, Verb: "dispute", Author: "sam"}},
				Versions: []memory.Version{
					{Revision: 1, RecordedAt: at, Author: "kim", Title: "Old", Content: "Old text."}, {Revision: 2, RecordedAt: at, Author: "kim", Erased: true},
				},
			})
		},
		"usage": func(p *printer) {
			p.usage(memory.Usage{
				Handle: "m-7k3f9qa", Served: 13, Whole: 3, Lines: 2, Counted: 8, Recent: 2, Sessions: 3, Cited: 1,
				Doors: []memory.DoorUsage{{Door: memory.DoorRecall, Whole: true, Times: 3, Recent: 2, Sessions: 2, LastAt: at}, {Door: memory.DoorBriefing, Times: 2, Sessions: 2, LastAt: at}},
				Servings: []memory.Serving{
					{Door: memory.DoorRecall, Whole: true, FirstAt: at, LastAt: at, Times: 2, SessionID: "ws-7k3f9qa", Author: "claude-code/kim", Cited: true},
					{Door: memory.DoorBriefing, FirstAt: at, LastAt: at, Times: 1},
				},
				Citations: []memory.Citation{{At: at, SessionID: "ws-7k3f9qa", Author: "claude-code/kim", Observed: true}, {At: at}},
				Ignored:   memory.Ignored{Sessions: 2, From: 5, Factor: 1, Reason: "2 sessions that said what they used had it whole and did not use it; since others did, it ranks as ever"},
			})
		},
		"usage-none": func(p *printer) { p.usage(memory.Usage{Handle: "m-7k3f9qa"}) },
		"why": func(p *printer) {
			p.why(memory.WhyResponse{Path: "api/stock.go", Elements: m.Elements[:1], Entries: []memory.WhyEntry{{Memory: m, Matched: "shop.api, bound by api/**"}}})
		},
		"context": func(p *printer) {
			p.context(memory.ContextResponse{Elements: []memory.ContextElement{{
				ElementRef: m.Elements[0], Score: 1, Reasons: []string{"name: API", "description: stock"}, Paths: []string{"api/**"},
				Memories: []memory.IndexEntry{{Handle: "m-7k3f9qa", Kind: memory.Pitfall, Title: "Stock cache", Tokens: 30}},
			}}})
		},
		"map": func(p *printer) {
			p.knowledgeMap(memory.Map{
				Headline: "1 of 3 elements documented", Documented: 1, Total: 3, LastMemoryAt: &at,
				Elements: []memory.MapElement{
					{Key: "shop", Name: "Shop"},
					{Key: "shop.api", Name: "API that answers every question about stock and prices", Parent: "shop", Documented: true, Freshness: 0.87, Verify: 2, Memories: map[memory.Kind]int{memory.Pitfall: 2, memory.Convention: 1, memory.SessionOutcome: 11}},
					{Key: "shop.web", Name: "Web", Parent: "shop"},
				},
				Holes: []memory.Hole{{Key: "shop.web", Name: "Web", Command: `stele remember --element shop.web --kind pitfall "…"`}},
			})
		},
		"model-report": func(p *printer) {
			p.modelReport(memory.ModelReport{
				Elements:      map[c4model.Level]int{c4model.System: 1, c4model.Container: 2, c4model.Code: 1},
				Relationships: 3, Decisions: 1, Bindings: 2, Attached: 1, Added: strings.Fields("a b c d e f g h i j k l m n"),
				Changed:  []memory.ModelDifference{{Key: "shop.api", From: "shop.gate", What: []string{"moved", "name was Gate"}}},
				Removed:  []memory.ModelRemoval{{Key: "shop.old", Memories: 1, Reattach: []string{"shop.api (same name)"}}},
				Warnings: []string{"docs/workspace.dsl:7: the file other.dsl is outside the root folder and was not included"},
			}, false)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := printed(false, write)
			path := filepath.Join("testdata", "golden", name+".txt")
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("%s (go test -update writes it anew): %s", path, diff)
			}
			for l := range strings.Lines(got) {
				l = strings.TrimSuffix(l, "\n")
				if columns(l) > defaultWidth && !strings.Contains(l, "https://") && !strings.Contains(l, "stele remember") {
					t.Errorf("%d columns: %s", columns(l), l)
				}
				if strings.TrimRight(l, " ") != l {
					t.Errorf("blanks at the end: %q", l)
				}
			}
			if plain := sgr.ReplaceAllString(printed(true, write), ""); plain != got {
				t.Errorf("colours change the text: %s", cmp.Diff(got, plain))
			}
		})
	}
}

func TestWrap(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOf(rapid.StringMatching(`[a-z]{1,12}|[漢字仮名]{1,30}|[a-z/]{30,50}|-|\d+\.`)).Draw(t, "words")
		limit := rapid.IntRange(minWrap, 60).Draw(t, "limit")
		text := strings.Join(words, " ")
		lines := wrap(text, limit)
		joined := strings.Join(lines, "\n")
		if strings.ContainsFunc(text, func(r rune) bool { return runeColumns(r) == 2 }) {
			squeeze := strings.NewReplacer(" ", "", "\n", "")
			if squeeze.Replace(joined) != squeeze.Replace(text) {
				t.Fatalf("characters changed: %q", lines)
			}
		} else if diff := cmp.Diff(strings.Fields(text), strings.Fields(joined), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("words changed: %s", diff)
		}
		for _, l := range lines {
			fields := strings.Fields(l)
			// Only a single word that cannot be cut may stand out, behind a list mark at most.
			if columns(l) > limit && (isWide(l) || len(fields) > 2 || len(fields) == 2 && listItem.FindString(l) == "") {
				t.Fatalf("%d columns, at most %d: %q", columns(l), limit, l)
			}
		}
	})
}

func TestFileLine(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]struct {
		path string
		line int
	}{
		"a/b.go": {"a/b.go", 0}, "a/b.go:12": {"a/b.go", 12}, "a/b.go:12:3": {"a/b.go", 12}, "a:b": {"a:b", 0}, ":3": {":3", 0}, "a:0": {"a:0", 0}, `C:\a.go:7`: {`C:\a.go`, 7},
	} {
		path, line := fileLine(in)
		if path != want.path || line != want.line {
			t.Errorf("%q: got %q, %d", in, path, line)
		}
	}
}

func TestSinceWhen(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 10, 15, 0, 0, 0, time.FixedZone("east", 9*3600))
	for in, want := range map[string]string{
		"today": "2026-03-10T00:00:00+09:00", "Yesterday": "2026-03-09T00:00:00+09:00", "3d": "2026-03-07T15:00:00+09:00", "12h": "2026-03-10T03:00:00+09:00",
		"2w": "2026-02-24T15:00:00+09:00", "2026-01-31": "2026-01-31T00:00:00+09:00", "2026-01-31T01:00:00Z": "2026-01-31T01:00:00Z",
		"soon": "", "d": "", "-3d": "", "99999d": "", "2026-13-01": "",
	} {
		got, err := sinceWhen(in, now)
		if (err != nil) != (want == "") || err == nil && got.Format(time.RFC3339) != want {
			t.Errorf("%q: got %v, %v; want %q", in, got, err, want)
		}
	}
}

func TestEditable(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.StringMatching(`[^\s#][^\n\r]{0,40}`)
		want := editable{
			title:   strings.TrimSpace(line.Draw(t, "title")),
			why:     strings.Join(strings.Fields(line.Draw(t, "why")), " "),
			content: strings.TrimSpace(strings.Join(rapid.SliceOfN(line, 1, 5).Draw(t, "content"), "\n")),
		}
		got, err := parseEditable(want.String())
		if err != nil || got != want {
			t.Fatalf("got %+v, %v, want %+v", got, err, want)
		}
	})
	for _, text := range []string{"title: a\ntext", "colour: red\n---\ntext"} {
		if _, err := parseEditable(text); err == nil {
			t.Errorf("%q was accepted", text)
		}
	}
}
