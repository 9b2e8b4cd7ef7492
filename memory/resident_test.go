package memory_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stele-dev/stele/embedding"
	"github.com/stele-dev/stele/memory"
	"github.com/stele-dev/stele/memory/postgres"
	"github.com/stele-dev/stele/memory/terms"
)

// residing opens another Store on the database of a world that holds its spaces in memory, and a service on it.
func (w *world) residing(bytes int) (*memory.Service, *postgres.Store) {
	w.t.Helper()
	store := postgres.New(w.h.database.DB, w.h.master, postgres.IndexMemory(bytes))
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		store.KeepIndexes(ctx, func(err error) { w.t.Error(err) })
	}()
	w.t.Cleanup(func() { stop(); <-done })
	s := memory.New(store, memory.Options{Embedder: w.provider, EmbedWait: time.Minute, RewriteDoubt: 50, Now: func() time.Time { return w.now }})
	return s, store
}

// settled asks until a number of spaces are held in memory.
func (w *world) settled(s *memory.Service, store *postgres.Store, spaces int) {
	w.t.Helper()
	for until := time.Now().Add(time.Minute); store.IndexStats().Spaces < spaces; {
		if time.Now().After(until) {
			w.t.Fatalf("%d spaces are in memory, want %d", store.IndexStats().Spaces, spaces)
		}
		_, err := s.Recall(context.Background(), w.c, memory.RecallRequest{Query: "anything"})
		w.must(err)
	}
}

// sometimes is a provider that may be away.
type sometimes struct {
	bag
	away bool
}

func (p *sometimes) Embed(ctx context.Context, texts []string) ([]embedding.Vector, error) {
	if p.away {
		return nil, errors.New("away")
	}
	return p.bag.Embed(ctx, texts)
}

// What a process holds in memory answers as the database does, whoever writes meanwhile: texts, tags, standing, expiry, vectors,
// attachments, every status, and another index key.
func TestResidentSpacesFollowTheDatabase(t *testing.T) {
	t.Parallel()
	for _, provider := range []embedding.Provider{nil, &sometimes{}} {
		t.Run(fmt.Sprintf("%T", provider), func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			w := newWorld(t, provider)
			r := rand.New(rand.NewPCG(21, 4))
			words := strings.Fields("queue refund order stock cache token retry worker pool index shard ledger clock batch lease drift review audit")
			text := func(n int) string {
				var out []string
				for range n {
					out = append(out, words[r.IntN(len(words))])
				}
				return strings.Join(out, " ") + fmt.Sprint(" n", r.IntN(1000))
			}
			elements := []string{"shop.web", "shop.api", "shop.api.auth"}
			for _, scope := range []memory.Scope{memory.Project, memory.Organization, memory.Personal} {
				w.remember(memory.RememberRequest{Content: text(6), Scope: scope})
			}
			held, store := w.residing(64 << 20)
			w.settled(held, store, 3)
			var handles []string
			must := func(_ any, err error) { t.Helper(); w.must(err) }
			compared := 0
			for step := range 160 {
				if p, ok := provider.(*sometimes); ok { // vectors of some come later
					if p.away = r.IntN(3) == 0; step%10 == 9 {
						p.away = false
						must(w.Backfill(ctx, w.c.Org, time.Time{}, nil))
					}
				}
				w.now = w.now.Add(time.Duration(r.IntN(90)) * time.Minute)
				by := w.Service
				if step%3 == 0 {
					by = held // it sees what it wrote itself, too
				}
				switch n := r.IntN(12); {
				case n < 5 || len(handles) < 5:
					in := memory.RememberRequest{Content: text(4 + r.IntN(12)), Kind: memory.Kinds[r.IntN(3)], Scope: []memory.Scope{memory.Project, memory.Organization, memory.Personal}[r.IntN(3)]}
					if r.IntN(2) == 0 {
						in.Elements = []string{elements[r.IntN(3)]}
					}
					if r.IntN(3) == 0 {
						in.Tags = []string{"tag" + fmt.Sprint(r.IntN(2))}
					}
					if r.IntN(5) == 0 {
						in.Expires = fmt.Sprint(1+r.IntN(48), "h")
					}
					out, err := by.Remember(ctx, w.c, in)
					w.must(err)
					handles = append(handles, out.Memory.Handle)
				default:
					h := handles[r.IntN(len(handles))]
					m := w.get(h)
					switch live := m.Status == memory.Live; {
					case n == 5 && live:
						must(by.Confirm(ctx, w.c, memory.ConfirmRequest{Memory: h, Holds: true}))
					case n == 6 && live:
						must(by.Confirm(ctx, w.c, memory.ConfirmRequest{Memory: h, Note: "it is otherwise"}))
					case n == 7 && live:
						out, err := by.Remember(ctx, w.c, memory.RememberRequest{Content: text(5), Supersedes: h, Scope: m.Scope})
						w.must(err)
						handles = append(handles, out.Memory.Handle)
					case n == 8 && live:
						must(by.Forget(ctx, w.c, memory.ForgetRequest{Memory: h}))
					case n == 9 && m.Status == memory.Retired:
						must(by.Restore(ctx, w.c, h))
					case n == 10 && live:
						tags := []string{"tag1"}
						must(by.Edit(ctx, w.c, memory.EditRequest{Memory: h, Tags: &tags}))
					case n == 11 && step%4 == 0:
						must(by.Forget(ctx, w.c, memory.ForgetRequest{Memory: h, Erase: true}))
						handles = slices.DeleteFunc(handles, func(o string) bool { return o == h })
					}
				}
				if step == 80 {
					w.must(w.h.store.RotateIndex(ctx, w.c.Org, nil))
					w.settled(held, store, 3)
				}
				if p, ok := provider.(*sometimes); ok {
					p.away = false
				}
				none := 0
				ask := memory.RecallRequest{Query: text(1 + r.IntN(4)), Limit: 1 + r.IntN(12), MaxTokens: &none}
				switch r.IntN(7) {
				case 0:
					ask.Query = ""
				case 1:
					ask.Element = elements[r.IntN(3)]
				case 2:
					ask.Tags = []string{"tag1"}
				case 3:
					ask.Kinds = []memory.Kind{memory.Pitfall}
				case 4:
					ask.IncludeExpired = true
				}
				want, err := w.Recall(ctx, w.c, ask)
				w.must(err)
				got, err := held.Recall(ctx, w.c, ask)
				w.must(err)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("step %d, %+v (-database +memory):\n%s", step, ask, diff)
				}
				compared += len(entries(want))
			}
			st := store.IndexStats()
			if st.Hits < 130 || compared < 350 {
				t.Errorf("%d searches were answered from memory, %d results compared: the test says too little", st.Hits, compared)
			}
		})
	}
}

// A search in memory gives the ten best of a scan over 6,000 memories.
func TestResidentRecallEqualsAFullScan(t *testing.T) {
	t.Parallel()
	l := load(t, 6_000, 8)
	held, store := l.residing(64 << 20)
	l.settled(held, store, 3)
	corpus := memory.NewCorpus(l.records)
	none := 0
	for i, q := range l.questions(100) {
		s := l.search(10)
		r := memory.RecallRequest{Query: q, Limit: 10, MaxTokens: &none}
		if i%4 == 1 {
			e := l.elements[1+l.random.IntN(len(l.elements)-1)]
			r.Element = e.Key
			s.Narrow.ByElement, s.Narrow.Elements = true, memory.Family(l.elements, e.ID)
		}
		found, err := held.Recall(context.Background(), l.c, r)
		l.must(err)
		if diff := cmp.Diff(handles(corpus.Scan(s, terms.Of(q))), entries(found)); diff != "" {
			t.Fatalf("question %q, narrowed %+v (-scan +recall):\n%s", q, s.Narrow, diff)
		}
	}
	if st := store.IndexStats(); st.Hits < 100 {
		t.Errorf("%d searches were answered from memory", st.Hits)
	}
}

// What does not fit stays in the database, what is not asked for any more goes, and nothing is held when nobody keeps it.
func TestResidentSpacesKeepTheirBound(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := newWorld(t, nil)
	var others []memory.Caller
	for i := range 4 {
		c := w.c
		p, err := w.CreateProject(ctx, c, fmt.Sprint("other-", i), nil)
		w.must(err)
		c.Project = p.ID
		others = append(others, c)
		for n := range 20 {
			_, err := w.Remember(ctx, c, memory.RememberRequest{Content: fmt.Sprintf("thing %d of project %d is like number %d", n, i, n*n)})
			w.must(err)
		}
	}
	const bound = 30_000 // two of the projects
	held, store := w.residing(bound)
	for i := range 200 {
		found, err := held.Recall(ctx, others[i%4], memory.RecallRequest{Query: "thing of a project"})
		w.must(err)
		if len(found.Results)+len(found.Index) == 0 {
			t.Fatal("nothing was found")
		}
		if st := store.IndexStats(); st.Bytes > bound {
			t.Fatalf("%+v are more than %d bytes", st, bound)
		}
	}
	_, err := w.Recall(ctx, w.c, memory.RecallRequest{Query: "thing"})
	w.must(err)
	if st := w.h.store.IndexStats(); st.Spaces+int(st.Hits) != 0 {
		t.Errorf("a store without room holds %+v", st)
	}
}

// Searches and writes of two processes at once: a memory that was acknowledged before a recall began is found by it.
func TestResidentSpacesSeeWhatWasAcknowledged(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := newWorld(t, nil)
	w.remember(memory.RememberRequest{Content: "first of the project"})
	held, store := w.residing(64 << 20)
	w.settled(held, store, 1)
	var wg sync.WaitGroup
	for n := range 4 {
		wg.Go(func() {
			by := w.Service
			if n%2 == 0 {
				by = held
			}
			for i := range 25 {
				word := fmt.Sprintf("zebra%dq%d", n, i)
				_, err := by.Remember(ctx, w.c, memory.RememberRequest{Content: "the stripes of " + word + " are counted"})
				if err != nil {
					t.Error(err)
					return
				}
				found, err := held.Recall(ctx, w.c, memory.RecallRequest{Query: word})
				if err != nil || len(found.Results) == 0 || !strings.Contains(found.Results[0].Content, word) {
					t.Errorf("%s was acknowledged and not found: %v", word, err)
					return
				}
			}
		})
	}
	wg.Wait()
	if st := store.IndexStats(); st.Hits < 90 {
		t.Errorf("%+v: the test asked the database", st)
	}
}

// A backup that is restored brings the numbers of another server's transactions with it, most of them still to come here. The space is held in
// memory all the same, and what changes from then on is seen.
func TestResidentSpacesAfterARestore(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := newWorld(t, nil)
	w.remember(memory.RememberRequest{Content: "orders wait in a queue"})
	admin := w.h.database.ConnectAdmin(t)
	_, err := admin.Exec(ctx, `INSERT INTO memory_changes (org_id, space_id, seq, xid)
		SELECT $1, s.space_id, n, 1000000000000 + n FROM spaces s, generate_series(1, 5000) n WHERE s.org_id = $1
		ON CONFLICT (org_id, space_id, seq) DO UPDATE SET xid = excluded.xid`, w.c.Org)
	w.must(err)
	held, store := w.residing(64 << 20)
	w.settled(held, store, 1)
	before := store.IndexStats()
	for i := range 10 {
		word := fmt.Sprintf("zebra%d", i)
		w.remember(memory.RememberRequest{Content: "the stripes of " + word + " are counted"})
		found, err := held.Recall(ctx, w.c, memory.RecallRequest{Query: word})
		w.must(err)
		if len(found.Results) == 0 || !strings.Contains(found.Results[0].Content, word) {
			t.Fatalf("%s was not found", word)
		}
	}
	if after := store.IndexStats(); after.Hits != before.Hits+10 {
		t.Errorf("%d of 10 searches were answered from memory", after.Hits-before.Hits)
	}
}
