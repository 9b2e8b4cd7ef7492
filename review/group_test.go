package review_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"

	"github.com/stele-dev/stele/drift"
	"github.com/stele-dev/stele/drift/evidence"
	"github.com/stele-dev/stele/memory"
	"github.com/stele-dev/stele/review"
)

// 400 doubts of one renamed folder are one group, decided with one decision and taken back with one.
func TestRenamedFolderIsOneGroup(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name     string
		findings func(w *world) []drift.Finding
	}{
		{"moved", func(w *world) []drift.Finding {
			return []drift.Finding{moved(w, "shop.api", "gateway", 2), moved(w, "shop.api.auth", "gateway/auth", 2)}
		}},
		{"moved, and so changed that a part is missed", func(w *world) []drift.Finding {
			return []drift.Finding{gone(w, "shop.api.auth", 2), moved(w, "shop.api", "gateway", 2)}
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			const n = 400
			var ids []uuid.UUID
			for i := range n {
				element := []string{"shop.api", "shop.api.auth"}[i%2]
				ids = append(ids, w.remember(memory.RememberRequest{Content: fmt.Sprintf("fact number %d", i), Elements: []string{element}, Separate: true}).ID)
			}
			w.push(1, nil)
			w.drifted(2, test.findings(w)...)
			before := w.records(ids...)

			q := w.queue(w.c)
			if len(q.Groups) != 1 || q.Groups[0].Count != n || q.Groups[0].Commit != commit(2) || !strings.HasPrefix(q.Groups[0].Line, "400 memories: no file matches api/") {
				t.Fatalf("groups %+v", q.Groups)
			}
			seen := map[string]bool{}
			for cursor, pages := "", 0; pages == 0 || cursor != ""; pages++ {
				p, err := w.ReviewGroup(context.Background(), w.c, review.GroupRequest{Group: q.Groups[0].ID, Limit: 150, Cursor: cursor})
				w.must(err)
				for _, i := range p.Items {
					seen[i.ID] = true
				}
				cursor = p.NextCursor
			}
			if len(seen) != n {
				t.Errorf("opened page by page it has %d items", len(seen))
			}
			d := w.decide(review.DecideRequest{Action: review.Confirm, Group: q.Groups[0].ID, Expected: n, Reason: "only the name changed"})
			if d.Count != n || d.Items != n || len(w.queue(w.c).Groups) != 0 {
				t.Errorf("the decision settles %d of %d, and leaves %v", d.Items, d.Count, w.queue(w.c).Groups)
			}
			w.undo(d)
			if diff := cmp.Diff(before, w.records(ids...), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("undoing leaves\n%s", diff)
			}
			if q := w.queue(w.c); len(q.Groups) != 1 || q.Groups[0].Count != n {
				t.Errorf("after undoing the groups are %+v", q.Groups)
			}
		})
	}
}

// Another commit, another folder and another finding are other groups.
func TestCausesAreApart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i, element := range []string{"shop.api", "shop.api.auth", "shop.web"} {
		w.remember(memory.RememberRequest{Content: fmt.Sprintf("fact %d", i), Elements: []string{element}, Separate: true})
	}
	w.push(1, nil)
	w.drifted(3, moved(w, "shop.api", "gateway", 2), moved(w, "shop.api.auth", "gateway/auth", 3), gone(w, "shop.web", 2))
	if q := w.queue(w.c); len(q.Groups) != 3 {
		t.Errorf("groups %+v", q.Groups)
	}
}

// Accepting a binding binds the element to where its files went and ends the rest of the doubts, except of what quotes
// something that is gone; undoing takes all of it back.
func TestAcceptBinding(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	plain := w.remember(memory.RememberRequest{Content: "the gateway strips headers", Elements: []string{"shop.api"}})
	quoting := w.remember(memory.RememberRequest{Content: "call `openTill()` before the drawer", Elements: []string{"shop.api"}})
	elsewhere := w.remember(memory.RememberRequest{Content: "the file is generated", Paths: []string{"gateway/gen.go"}})
	judge := func(state evidence.State) func(evidence.Watched) evidence.Verdict {
		return func(m evidence.Watched) (v evidence.Verdict) {
			for _, c := range m.Claims {
				v.Claims = append(v.Claims, evidence.ClaimVerdict{Claim: evidence.Claim{Text: c.Text, Kind: c.Kind}, State: state, Evidence: true})
			}
			return v
		}
	}
	w.verdicts(1, judge(evidence.Holds))
	c := w.c
	c.Role, c.Tracked = memory.RoleCI, true
	list, err := w.memories.Watch(context.Background(), c, "")
	w.must(err)
	w.push(2, func(p *memory.RunPush) {
		p.Report.Findings = []drift.Finding{moved(w, "shop.api", "gateway", 2)}
		for _, m := range list.Memories {
			v := judge(evidence.Gone)(m)
			v.ID, v.SeenIn = m.ID, true
			p.Verdicts = append(p.Verdicts, v)
		}
	})
	ids := []uuid.UUID{plain.ID, quoting.ID, elsewhere.ID}
	before, items := w.records(ids...), itemIDs(w)
	var group review.Group
	for _, g := range w.queue(w.c).Groups {
		if g.Reason == review.Drifted {
			group = g
		}
	}
	if group.Count != 2 || !slices.Contains(group.Actions, review.AcceptBinding) {
		t.Fatalf("group %+v", group)
	}
	d := w.decide(review.DecideRequest{Action: review.AcceptBinding, Group: group.ID})
	if d.Items != 1 || len(d.Kept) != 1 || d.Kept[0].Memory != quoting.Handle {
		t.Errorf("decision %+v", d)
	}
	bound := func() (out []string) {
		all, err := w.memories.UncommittedBindings(context.Background(), w.c)
		w.must(err)
		for _, b := range all {
			out = append(out, b.Element+" "+b.Pattern)
		}
		return out
	}
	if got := bound(); !slices.Equal(got, []string{"shop.api gateway/**"}) {
		t.Errorf("bound %v", got)
	}
	if got := w.reasons(plain); len(got) != 0 {
		t.Errorf("what moved alone is in the queue as %v", got)
	}
	if got := w.reasons(quoting); !slices.Equal(got, []review.Reason{review.Drifted, review.EvidenceGone}) {
		t.Errorf("what quotes something gone is in the queue as %v", got)
	}
	if got := w.records(elsewhere.ID)[0].Elements; len(got) != 1 || got[0].Key != "shop.api" {
		t.Errorf("the memory of a file there is attached to %v", got)
	}
	w.undo(d)
	if got := bound(); len(got) != 0 {
		t.Errorf("after undoing %v is bound", got)
	}
	if diff := cmp.Diff(before, w.records(ids...), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("undoing leaves\n%s", diff)
	}
	if again := itemIDs(w); !slices.Equal(again, items) {
		t.Errorf("the queue was %v and is %v", items, again)
	}
}

// First what stands in a briefing of today, then what is served most by the weight of its kind; what nobody is served can wait.
func TestOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	write := func(kind memory.Kind, text string) memory.Memory {
		return w.remember(memory.RememberRequest{Kind: kind, Content: text, Expires: "1d"})
	}
	unserved := write(memory.Pitfall, "nobody is served this")
	long := write(memory.Pitfall, "served forty days ago")
	note := write(memory.Note, "a note served three times")
	pitfall := write(memory.Pitfall, "a pitfall served twice")
	briefed := write(memory.Note, "a note in a briefing")
	for range 9 {
		w.served("s0", memory.DoorRecall, long)
	}
	w.later(40 * day)
	for _, s := range []string{"s1", "s2", "s3"} {
		w.served(s, memory.DoorRecall, note)
	}
	for _, s := range []string{"s1", "s2"} {
		w.served(s, memory.DoorFile, pitfall)
	}
	w.served("s1", memory.DoorBriefing, briefed)
	w.later(23 * time.Hour)
	order := func(c memory.Caller) (handles []string, wait []bool) {
		for cursor := ""; ; {
			q, err := w.ReviewQueue(context.Background(), c, review.QueueRequest{Limit: 2, Cursor: cursor, Reasons: []review.Reason{review.Expired}})
			w.must(err)
			for _, i := range q.Items {
				handles = append(handles, i.Memory.Handle)
			}
			for _, g := range q.Groups {
				wait = append(wait, g.CanWait)
			}
			if cursor = q.NextCursor; cursor == "" {
				return handles, wait
			}
		}
	}
	handles, wait := order(w.c)
	last := handles[3:]
	if !slices.Equal(handles[:3], []string{briefed.Handle, pitfall.Handle, note.Handle}) || !slices.Contains(last, unserved.Handle) || !slices.Contains(last, long.Handle) {
		t.Errorf("order %v", handles)
	}
	if !slices.Equal(wait, []bool{false, false, false, true, true}) {
		t.Errorf("can wait %v", wait)
	}
	w.later(2 * time.Hour)
	if handles, _ = order(w.c); handles[0] != pitfall.Handle || handles[2] != briefed.Handle {
		t.Errorf("a day after the briefing: %v", handles)
	}
}

// The queue shows first what is the caller's: what they wrote, and what lies in files that CODEOWNERS gives to them.
func TestMine(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ana, bob := w.c, w.c
	ana.User, bob.User = "ana", "bob"
	wrote := w.rememberAs(ana, memory.RememberRequest{Content: "a", Expires: "1d"})
	path := w.rememberAs(bob, memory.RememberRequest{Content: "b", Expires: "1d", Paths: []string{"docs/till.md"}})
	bound := w.rememberAs(bob, memory.RememberRequest{Content: "c", Expires: "1d", Elements: []string{"shop.api.auth"}})
	w.rememberAs(bob, memory.RememberRequest{Content: "d", Expires: "1d", Elements: []string{"shop.web"}})
	w.push(1, func(p *memory.RunPush) {
		p.Owners = []memory.OwnerRule{{Pattern: "*", Owners: []string{"@bob"}}, {Pattern: "/docs/", Owners: []string{"Ana@example.org"}},
			{Pattern: "/api/auth/", Owners: []string{"@org/team", "@ANA"}}}
	})
	w.later(2 * day)
	handles := func(c memory.Caller) (out []string, hidden int) {
		q, err := w.ReviewQueue(context.Background(), c, review.QueueRequest{})
		w.must(err)
		for _, i := range q.Items {
			out = append(out, i.Memory.Handle)
		}
		slices.Sort(out)
		return out, q.NotMine
	}
	want := []string{wrote.Handle, path.Handle, bound.Handle}
	slices.Sort(want)
	if got, hidden := handles(ana); !slices.Equal(got, want) || hidden != 1 {
		t.Errorf("ana has %v and %d are hidden, want %v", got, hidden, want)
	}
	w.push(2, nil)
	if got, _ := handles(ana); !slices.Equal(got, want) {
		t.Errorf("after a run without owners ana has %v", got)
	}
	w.push(3, func(p *memory.RunPush) { p.Owners = []memory.OwnerRule{} })
	if got, hidden := handles(ana); !slices.Equal(got, []string{wrote.Handle}) || hidden != 3 {
		t.Errorf("without CODEOWNERS ana has %v", got)
	}
}

func TestOwns(t *testing.T) {
	t.Parallel()
	rules := []memory.OwnerRule{
		{Pattern: "*", Owners: []string{"@root"}}, {Pattern: "*.sql", Owners: []string{"@dba"}}, {Pattern: "/docs/*", Owners: []string{"@writer"}},
		{Pattern: "/api/", Owners: []string{"@api"}}, {Pattern: "/api/auth", Owners: []string{"@auth", "sec@example.org"}}, {Pattern: "/api/gen/"},
		{Pattern: "vendor/", Owners: []string{"@vendor"}},
	}
	for _, test := range []struct {
		glob string
		want string // users
	}{
		{"main.go", "root"},
		{"deep/x.sql", "dba"},
		{"docs/a.md", "writer"},
		{"docs/deep/a.md", "root"},
		{"api/x.go", "api"},
		{"api/auth/x.go", "auth sec"},
		{"api/gen/x.go", ""},
		{"api/**", "api auth sec"},
		{"api/auth/**", "auth sec"},
		{"lib/vendor/x.c", "vendor"},
		{"web/**", "root"},
		{"**", "root dba writer api auth sec vendor"},
	} {
		var got []string
		for user := range strings.FieldsSeq("root dba writer api auth sec vendor") {
			if review.Owns(rules, test.glob, user) {
				got = append(got, user)
			}
		}
		if !slices.Equal(got, strings.Fields(test.want)) {
			t.Errorf("%s is %v's, want %s", test.glob, got, test.want)
		}
	}
	for owner, is := range map[string]bool{"@Ana": true, "ANA@example.org": true, "@org/ana": false, "@anna": false, "joan@ana": false} {
		if review.Owns([]memory.OwnerRule{{Pattern: "*", Owners: []string{owner}}}, "x", "ana") != is {
			t.Errorf("%s is ana: %v", owner, !is)
		}
	}
	if review.Owns(nil, "x", "ana") {
		t.Error("without rules somebody owns a file")
	}
}

// Nothing of another tenant, another project or another user is in a queue, and nobody decides about it.
func TestIsolation(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	stranger := w.tenant("other")
	sister := w.project(w.c.Org, "depot")
	ana := w.c
	ana.User = "ana"
	expires := memory.RememberRequest{Kind: memory.Note, Content: "a", Expires: "1d"}
	shared := w.rememberAs(w.c, expires)
	foreign := w.rememberAs(stranger, expires)
	depot := w.rememberAs(sister, expires)
	personal := expires
	personal.Scope = memory.Personal
	own := w.rememberAs(ana, personal)
	all := expires
	all.Scope = memory.Organization
	common := w.rememberAs(w.c, all)
	w.later(2 * day)
	bound := w.c
	bound.Bound = w.c.Project
	for _, test := range []struct {
		name string
		c    memory.Caller
		want []memory.Memory
	}{
		{"a reviewer", w.c, []memory.Memory{shared, common}},
		{"a reviewer of one project", bound, []memory.Memory{shared, common}},
		{"an author of personal memories", ana, []memory.Memory{shared, common, own}},
		{"another project", sister, []memory.Memory{depot, common}},
		{"another tenant", stranger, []memory.Memory{foreign}},
	} {
		var got, want []string
		for _, i := range w.queue(test.c).Items {
			got = append(got, i.Memory.Handle)
		}
		for _, m := range test.want {
			want = append(want, m.Handle)
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s has %v, want %v", test.name, got, want)
		}
		for _, m := range []memory.Memory{shared, foreign, depot, own, common} {
			if slices.Contains(want, m.Handle) {
				continue
			}
			for _, r := range []review.DecideRequest{{Memories: []string{m.Handle}}, {Memories: []string{m.ID.String()}}, {Items: []string{"expired:" + m.Handle + ":00000000"}}} {
				r.Action = review.Retire
				if _, err := w.DecideReview(context.Background(), test.c, r); err == nil {
					t.Errorf("%s retires %s by %+v", test.name, m.Handle, r)
				}
			}
		}
	}
	other := bound
	other.Project = sister.Project
	if _, err := w.ReviewQueue(context.Background(), other, review.QueueRequest{}); err == nil {
		t.Error("a token of one project reads the queue of another")
	}
	_, err := w.DecideReview(context.Background(), bound, review.DecideRequest{Action: review.Retire, Memories: []string{common.Handle}})
	if err == nil {
		t.Error("a token of one project retires what is the organization's")
	}
	d := w.decide(review.DecideRequest{Action: review.Keep, Memories: []string{common.Handle}})
	for _, c := range []memory.Caller{bound, stranger, sister} {
		if _, err := w.UndoReview(context.Background(), c, d.ID); err == nil && c.Project != w.c.Project {
			t.Errorf("%+v undoes a decision of another project", c)
		}
	}
}

// A digest tells handles, kinds, elements and counts, and no word of what is known.
func TestDigest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	secret := memory.RememberRequest{Title: "Zintharmole rules", Content: "the quobblefrax strips [[plivvenact]]", Why: "yorbletwin", Elements: []string{"shop.api"}}
	old := w.remember(secret)
	mine := secret
	mine.Scope, mine.Title = memory.Personal, ""
	own := w.remember(mine)
	_, err := w.memories.Confirm(context.Background(), w.c, memory.ConfirmRequest{Memory: own.Handle, Note: "drumquizzle"})
	w.must(err)
	w.later(10 * day)
	w.remember(memory.RememberRequest{Content: "the page caches prices", Elements: []string{"shop.web"}})
	_, err = w.memories.Confirm(context.Background(), w.c, memory.ConfirmRequest{Memory: old.Handle, Note: "snargvoxel"})
	w.must(err)
	w.push(1, nil)
	w.drifted(2, gone(w, "shop.api", 2))
	d, err := w.ReviewDigest(context.Background(), w.c, review.DigestRequest{})
	w.must(err)
	if d.Documented != 2 || d.Before != 1 || d.Elements != 4 || d.Written != 1 || len(d.Causes) != 3 || d.Hole == nil {
		t.Errorf("digest %+v", d)
	}
	for _, want := range []string{"2 of 4 elements documented** (+1)", old.Handle, "pitfall", "`shop.api`", "`0000000`", d.Hole.Command} {
		if !strings.Contains(d.Markdown, want) {
			t.Errorf("the digest lacks %q:\n%s", want, d.Markdown)
		}
	}
	for _, word := range append(strings.Fields("quobblefrax Zintharmole plivvenact yorbletwin drumquizzle snargvoxel"), own.Handle) {
		if strings.Contains(fmt.Sprintf("%+v", d), word) {
			t.Errorf("the digest has %q:\n%s", word, d.Markdown)
		}
	}
	d, err = w.ReviewDigest(context.Background(), w.c, review.DigestRequest{Titles: true})
	w.must(err)
	if !strings.Contains(d.Markdown, "Zintharmole rules") || strings.Contains(d.Markdown, "quobblefrax") {
		t.Errorf("with titles:\n%s", d.Markdown)
	}
	_, err = w.ReviewDigest(context.Background(), w.c, review.DigestRequest{Since: w.now.Add(day)})
	if err == nil {
		t.Error("a digest of the future")
	}
}
