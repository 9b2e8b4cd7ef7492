package postgres_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
	"github.com/stele-dev/stele/memory/export"
	store "github.com/stele-dev/stele/memory/postgres"
)

// flip changes the last bit of the sealed texts of a table that a condition selects; doing it again mends them.
func (s *site) flip(table, column, where string, args ...any) {
	s.t.Helper()
	tag, err := s.database.ConnectAdmin(s.t).Exec(context.Background(), `UPDATE `+table+` SET `+column+` = set_byte(`+column+`, length(`+column+`) - 1,
		get_byte(`+column+`, length(`+column+`) - 1) # 1) WHERE `+where, args...)
	s.must(err)
	if tag.RowsAffected() == 0 {
		s.t.Fatalf("nothing of %s was damaged", table)
	}
}

func flagged(m memory.Memory) bool {
	return slices.ContainsFunc(m.Flags, func(f memory.Flag) bool { return f.Flag == "unreadable" && f.Reason != "" })
}

// What does not open keeps nobody from the rest: lists, recalls, histories and exports go on and say which it is.
func TestOneTextDoesNotOpen(t *testing.T) {
	t.Parallel()
	s := newSite(t, 20)
	ctx := context.Background()
	r := s.replica()
	lost, doubted, linking := s.facts[0], s.facts[2], s.facts[len(s.facts)-1]
	s.flip("memory_versions", "body", "memory_id = $1", lost.ID)
	s.flip("doubts", "reason", "true")
	s.flip("links", "target", "memory_id = $1", linking.ID)
	s.flip("remarks", "body", "true")
	s.flip("answers", "body", "true")

	list, err := r.List(ctx, s.caller, memory.ListRequest{Status: "all"})
	s.must(err)
	var marked []memory.Memory
	for _, m := range list.Memories {
		if flagged(m) {
			marked = append(marked, m)
		} else if m.Content == "" {
			t.Errorf("%s has no text and does not say why", m.Handle)
		}
	}
	if len(marked) != 1 || marked[0].Handle != lost.Handle || marked[0].Content+marked[0].Title != "" || len(marked[0].Elements) != 1 {
		t.Errorf("unreadable: %+v, want %s without text and with its element", marked, lost.Handle)
	}

	for _, q := range []memory.RecallRequest{{Query: lost.Title + " " + s.facts[1].Title, Limit: 20}, {Limit: 50}} {
		found, err := r.Recall(ctx, s.caller, q)
		s.must(err)
		handles := make([]string, len(found.Results))
		for i, f := range found.Results {
			handles[i] = f.Handle
			if flagged(f.Memory) != (f.Handle == lost.Handle) {
				t.Errorf("%q: %s is marked %v", q.Query, f.Handle, f.Flags)
			}
		}
		direct := slices.DeleteFunc(slices.Clone(found.Results), func(f memory.Result) bool { return f.Via != nil })
		if n := len(direct); n < 2 || direct[n-1].Handle != lost.Handle {
			t.Errorf("%q gives %v, want %s last", q.Query, handles, lost.Handle)
		}
	}
	index := 0
	found, err := r.Recall(ctx, s.caller, memory.RecallRequest{Query: lost.Title, MaxTokens: &index})
	s.must(err)
	if len(found.Index) == 0 || !strings.Contains(found.Index[len(found.Index)-1].Title, "cannot be opened") {
		t.Errorf("the index does not say what is wrong: %+v", found.Index)
	}

	for _, m := range list.Memories {
		h, err := r.History(ctx, s.caller, m.Handle)
		s.must(err)
		if got := slices.ContainsFunc(h.Versions, func(v memory.Version) bool { return v.Unreadable }); got != (m.Handle == lost.Handle) {
			t.Errorf("a version of %s is unreadable: %v", m.Handle, got)
		}
	}
	then := s.now
	found, err = r.Recall(ctx, s.caller, memory.RecallRequest{AsOf: &then, Limit: 50})
	s.must(err)
	if !slices.ContainsFunc(found.Results, func(f memory.Result) bool { return f.Handle == lost.Handle && flagged(f.Memory) }) {
		t.Errorf("%s is not marked in a recall of the past", lost.Handle)
	}
	ms, err := r.Get(ctx, s.caller, []string{doubted.Handle, lost.Handle})
	s.must(err)
	if len(ms[0].Flags) == 0 || !strings.Contains(ms[0].Flags[0].Reason, "cannot be opened") || ms[0].Content != doubted.Content {
		t.Errorf("a doubt whose reason does not open: %+v", ms[0])
	}
	var out bytes.Buffer
	if _, err := export.JSON(ctx, &out, r.Service, s.caller, memory.ProjectInfo{ID: s.caller.Project, Name: "shop"}, export.Options{All: true, History: true}); err != nil {
		t.Errorf("export: %v", err)
	}
	if n := strings.Count(out.String(), "\n"); n < len(list.Memories) || !strings.Contains(out.String(), lost.Handle) {
		t.Errorf("%d lines were exported of %d memories", n, len(list.Memories))
	}
}

// Nothing is written in place of a text that may come back; taking it away is possible.
func TestWhatDoesNotOpenIsNotOverwritten(t *testing.T) {
	t.Parallel()
	s := newSite(t, 10)
	ctx := context.Background()
	r := s.replica()
	lost := s.facts[0]
	s.flip("memory_versions", "body", "memory_id = $1", lost.ID)

	tags := []string{"new"}
	_, edited := r.Edit(ctx, s.caller, memory.EditRequest{Memory: lost.Handle, Tags: &tags})
	_, confirmed := r.Confirm(ctx, s.caller, memory.ConfirmRequest{Memory: lost.Handle, Holds: true})
	for what, err := range map[string]error{"edit": edited, "confirm": confirmed} {
		if p, ok := problem.As(err); !ok || p.Code != problem.Unavailable || len(p.Fixes) == 0 || !strings.Contains(p.Detail, lost.Handle) {
			t.Errorf("%s: %v, want a problem that names it", what, err)
		}
	}
	again, err := r.Remember(ctx, s.caller, memory.RememberRequest{Content: lost.Content, Kind: lost.Kind})
	s.must(err)
	if again.Deduplicated {
		t.Errorf("a text that does not open was taken for %q", lost.Content)
	}
	_, err = r.Forget(ctx, s.caller, memory.ForgetRequest{Memory: again.Memory.Handle})
	s.must(err)

	gone, err := r.Forget(ctx, s.caller, memory.ForgetRequest{Memory: lost.Handle})
	s.must(err)
	if gone.Memory.Status != memory.Retired {
		t.Errorf("it is %s", gone.Memory.Status)
	}
	if _, err := r.Restore(ctx, s.caller, lost.Handle); !problem.Is(err, problem.Unavailable) {
		t.Errorf("restore: %v, want a refusal: its words are not known", err)
	}
	s.flip("memory_versions", "body", "memory_id = $1", lost.ID) // it was mended
	back, err := r.Restore(ctx, s.caller, lost.Handle)
	s.must(err)
	if back.Content != lost.Content || flagged(back) {
		t.Errorf("it came back as %+v", back)
	}
	s.flip("memory_versions", "body", "memory_id = $1", lost.ID)
	erased, err := r.Forget(ctx, s.caller, memory.ForgetRequest{Memory: lost.Handle, Erase: true})
	s.must(err)
	if erased.Memory.Status != memory.Erased || flagged(erased.Memory) {
		t.Errorf("after erasing: %+v", erased.Memory)
	}
}

// A rotation does everything but what does not open, says so, and keeps the keys that may open it one day.
func TestRotationWithUnreadableTexts(t *testing.T) {
	t.Parallel()
	s := newSite(t, 40)
	ctx := context.Background()
	r := s.replica()
	lost, fine := s.facts[0], s.facts[1]
	want := s.look(r)
	s.flip("memory_versions", "body", "memory_id = $1", lost.ID)
	for keys := 2; keys <= 3; keys++ { // the second is not kept from a new key by what the first left
		err := r.store.RotateData(ctx, s.caller.Org, nil)
		if p, ok := problem.As(err); !ok || !errors.Is(err, store.ErrUnreadable) || !strings.Contains(p.Detail, "1 text of") || !strings.Contains(p.Detail, lost.ID.String()) || len(p.Fixes) == 0 {
			t.Fatalf("a rotation with a text that does not open: %v", err)
		}
		if status := s.status(r); status.DataKeys != keys || status.SealedOlder != 1 {
			t.Errorf("afterwards: %+v, want %d data keys for one text", status, keys)
		}
	}
	err := r.store.RotateIndex(ctx, s.caller.Org, nil)
	if p, ok := problem.As(err); !ok || !errors.Is(err, store.ErrUnreadable) || !strings.Contains(p.Detail, "1 memory") {
		t.Errorf("an index without a text that does not open: %v", err)
	}
	ms, err := r.Get(ctx, s.caller, []string{fine.Title})
	s.must(err)
	if ms[0].Content != fine.Content {
		t.Errorf("%+v is found by the title of %s", ms[0], fine.Handle)
	}

	s.flip("memory_versions", "body", "memory_id = $1", lost.ID) // it was mended
	s.must(r.store.RotateData(ctx, s.caller.Org, nil))
	s.must(r.store.RotateIndex(ctx, s.caller.Org, nil))
	if status := s.status(r); status.DataKeys != 1 || status.SealedOlder != 0 {
		t.Errorf("when it was mended: %+v", status)
	}
	if got := s.look(r); got != want {
		t.Error("something else is found than before")
	}

	s.flip("memory_versions", "body", "memory_id = $1", lost.ID)
	if err := r.store.RotateData(ctx, s.caller.Org, nil); !errors.Is(err, store.ErrUnreadable) {
		t.Errorf("damaged again: %v", err)
	}
	_, err = r.Forget(ctx, s.caller, memory.ForgetRequest{Memory: lost.Handle, Erase: true})
	s.must(err)
	s.must(r.store.RotateData(ctx, s.caller.Org, nil))
	if status := s.status(r); status.DataKeys != 1 {
		t.Errorf("when it was erased: %+v", status)
	}
}
