package postgres

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
	"github.com/google/uuid"

	"github.com/stele-dev/stele/internal/postgres/pgtest"
	"github.com/stele-dev/stele/internal/secret"
	"github.com/stele-dev/stele/memory"
)

// freshStore is an empty database with an organization and a writer of it.
func freshStore(t *testing.T) (*Store, memory.Caller) {
	t.Helper()
	master, err := secret.GenerateMaster()
	if err != nil {
		t.Fatal(err)
	}
	s := New(pgtest.New(t), master)
	org, err := s.CreateOrganization(t.Context(), "o", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return s, memory.Caller{Org: org, User: "u", Role: memory.RoleAdmin, Door: memory.FromMCP}
}

// record is a new personal memory.
func record(c memory.Caller, kind memory.Kind, title, content string) *memory.Record {
	at := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	id := uuid.Must(uuid.NewV7())
	tail := strings.NewReplacer("0", "a", "1", "b", "8", "c", "9", "d").Replace(id.String()[29:])
	return &memory.Record{User: c.User, Owner: c.User, Memory: memory.Memory{ID: id, Handle: "m-" + tail, Kind: kind, Title: title,
		Content: content, Scope: memory.Personal, Status: memory.Live, Origin: c.Door, Revision: 1, CreatedAt: at, ConfirmedAt: at}}
}

// What is found among memories that wait to be sent is what is found once they are stored.
func TestWaitingIsFoundAsStored(t *testing.T) {
	t.Parallel()
	s, c := freshStore(t)
	spaces := []memory.SpaceKey{{Scope: memory.Personal, Owner: "u"}}
	random := rand.New(rand.NewPCG(1, 2))
	words := strings.Fields("amber barrel cedar delta ember forge gravel harbor island jetty kettle lantern")
	text := func() string {
		w := slices.Clone(words)
		random.Shuffle(len(w), func(i, j int) { w[i], w[j] = w[j], w[i] })
		return strings.Join(w[:6+random.IntN(4)], " ")
	}
	// Numbers that half precision holds, so that both cosines are of the same vectors.
	vector := func() []float32 {
		if random.IntN(3) == 0 {
			return nil
		}
		return []float32{float32(1 + random.IntN(4)), float32(random.IntN(4)), float32(random.IntN(4))}
	}
	const model = "m"
	found := 0
	for round := range 20 {
		if err := s.Write(t.Context(), c.Org, spaces, func(w memory.Tx) error {
			space := w.Space(spaces[0])
			var all []*memory.Record
			for i := range 6 {
				r := record(c, []memory.Kind{memory.Note, memory.Pitfall}[random.IntN(2)], fmt.Sprintf("Title %d of %d", i, round), text())
				if err := w.Insert(t.Context(), r, nil, memory.IndexOf(&r.Memory), "", uuid.Nil); err != nil {
					return err
				}
				if v := vector(); v != nil {
					if err := w.SetVector(t.Context(), r.Space, r.Seq, model, v); err != nil {
						return err
					}
				}
				all = append(all, r)
			}
			if w.(*tx).pipeline.own.empty() {
				return errors.New("nothing waits")
			}
			like := all[random.IntN(len(all))]
			ix := memory.IndexOf(&like.Memory)
			q := memory.NearQuery{Space: space.ID, Kind: like.Kind, Normal: ix.Normal, Terms: ix.Terms, MinCosine: 0.9, MinOverlap: 0.6, Limit: 16}
			if v := vector(); v != nil {
				q.Model, q.Vector = model, v
			}
			waiting, err := w.Near(t.Context(), q)
			if err != nil {
				return err
			}
			title := memory.IndexOf(&all[0].Memory).Title
			named, err := w.ByTitle(t.Context(), []int32{space.ID}, title)
			if err != nil {
				return err
			}
			if named != all[0].ID || !w.(*tx).pipeline.own.empty() {
				t.Errorf("round %d: the title is of %s, want %s, and sent", round, named, all[0].ID)
			}
			stored, err := w.Near(t.Context(), q)
			if err != nil {
				return err
			}
			found += len(stored)
			if d := cmp.Diff(stored, waiting, cmp.Comparer(func(a, b float64) bool { return a-b < 1e-6 && b-a < 1e-6 })); d != "" {
				t.Errorf("round %d: waiting and stored (-stored +waiting):\n%s", round, d)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	if found < 40 {
		t.Errorf("only %d were found", found)
	}
	sound(t, s, c.Org)
}

// sound checks what must always hold.
func sound(t *testing.T, s *Store, org uuid.UUID) {
	t.Helper()
	all, err := s.Invariants(t.Context(), org, 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range all {
		if i.Broken > 0 {
			t.Errorf("%+v", i)
		}
	}
}

// Writers of several projects side by side, some of whom fail with rows that wait, some once these are sent, and one whose handle is
// taken: numbers have no gaps, words are counted as often as they are there, and nobody waits in a circle.
func TestGroupsLeaveTheIndexWhole(t *testing.T) {
	t.Parallel()
	s, c := freshStore(t)
	refused := errors.New("refused")
	const writers, each = 16, 12
	taken := record(c, memory.Note, "", "Amber is taken to the harbor.")
	var all sync.WaitGroup
	for n := range writers {
		key := memory.SpaceKey{Scope: memory.Personal, Owner: fmt.Sprintf("u%d", n%3)}
		all.Go(func() {
			for i := range each {
				r := record(c, memory.Note, fmt.Sprintf("Lantern %d %d", n, i), fmt.Sprintf("Kettle %d and lantern %d by the jetty [[Lantern %d %d]]", n, i, n, i-1))
				r.Owner, r.Tags = key.Owner, []string{"harbor"}
				var want error
				err := s.Write(t.Context(), c.Org, []memory.SpaceKey{key}, func(w memory.Tx) error {
					want = nil
					if n == 0 && i > 0 {
						r.Handle, want = taken.Handle, memory.ErrTaken
					}
					if n == 0 && i == 0 {
						r.Handle = taken.Handle
					}
					if err := w.Insert(t.Context(), r, nil, memory.IndexOf(&r.Memory), "", uuid.Nil); err != nil {
						return err
					}
					if err := w.Audit(t.Context(), c, memory.AuditEntry{At: r.CreatedAt, Verb: memory.VerbRemember, Subject: r.ID, Revision: 1, Space: r.Space}); err != nil {
						return err
					}
					switch {
					case n%4 == 1 && i%3 == 0:
						want = refused
						return refused
					case n%4 == 2 && i%3 == 1:
						if _, err := w.Records(t.Context(), []uuid.UUID{r.ID}); err != nil {
							return err
						}
						want = refused
						return refused
					}
					return nil
				})
				if !errors.Is(err, want) || (want == nil && err != nil) {
					t.Errorf("writer %d, %d: %v, want %v", n, i, err, want)
				}
			}
		})
	}
	all.Wait()
	sound(t, s, c.Org)
	if err := s.View(t.Context(), c.Org, func(v memory.View) error {
		live := 0
		var keys []memory.SpaceKey
		for i := range 3 {
			keys = append(keys, memory.SpaceKey{Scope: memory.Personal, Owner: fmt.Sprintf("u%d", i)})
		}
		spaces, err := v.Spaces(context.WithoutCancel(t.Context()), keys)
		for _, sp := range spaces {
			live += sp.Live
		}
		if want := writers*each - (each - 1) - 4*4 - 4*4; live != want {
			t.Errorf("%d are live, want %d", live, want)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
}
