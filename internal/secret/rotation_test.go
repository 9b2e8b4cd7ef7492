package secret_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/internal/secret"
)

func rotated(tb testing.TB, m *secret.Master) *secret.Master {
	tb.Helper()
	next, err := m.Rotate()
	if err != nil {
		tb.Fatal(err)
	}
	return next
}

func TestKeepOnlyNeededMasterKeys(t *testing.T) {
	t.Parallel()
	first := newMaster(t)
	second := rotated(t, first)
	third := rotated(t, second)
	ids := third.KeyIDs()
	if len(ids) != 3 || ids[0] != third.KeyID() || !slices.Contains(ids, first.KeyID()) || !slices.Contains(ids, second.KeyID()) {
		t.Fatalf("keys %v, want the newest, %s, before the two others", ids, third.KeyID())
	}
	kept, err := third.Keep(first.KeyID())
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{third.KeyID(), first.KeyID()}; !slices.Equal(kept.KeyIDs(), want) || kept.Knows(second.KeyID()) || !kept.Knows(first.KeyID()) {
		t.Errorf("kept %v, want %v", kept.KeyIDs(), want)
	}
	org := uuid.New()
	_, w := newKeys(t, first, org)
	if _, err := kept.OpenKeys(org, w); err != nil {
		t.Errorf("what a kept key wrapped: %v", err)
	}
	if _, err := kept.Keep(second.KeyID()); !problem.Is(err, problem.Unavailable) || !strings.Contains(err.Error(), second.KeyID()) {
		t.Errorf("keeping a key that is gone: %v, want a problem that names it", err)
	}
}

// Hashes of what is stored nowhere stay the same through any number of rotations, and only they.
func TestSourceHashesSurviveRotation(t *testing.T) {
	t.Parallel()
	m, org := newMaster(t), uuid.New()
	k, w := newKeys(t, m, org)
	source, term := k.Hash128(secret.DomainSource, "notes/1"), k.Hash128(secret.DomainTerm, "notes/1")
	size := 0
	for i := range 4 {
		next, wrapped, err := m.NewIndexKey(org, w)
		if err != nil {
			t.Fatal(err)
		}
		if next.Hash128(secret.DomainSource, "notes/1") != source {
			t.Errorf("rotation %d changed the hash of a source", i+1)
		}
		if next.Hash128(secret.DomainTerm, "notes/1") == term {
			t.Errorf("rotation %d kept the hash of a term", i+1)
		}
		if i == 0 {
			size = len(wrapped.Index)
		} else if len(wrapped.Index) > size+8 { // ids of keys are varints
			t.Errorf("rotation %d: the keyset takes %d bytes, it took %d after the first: keys pile up", i+1, len(wrapped.Index), size)
		}
		if copied := wrapped; wrapped.Equal(w) || !wrapped.Equal(copied) {
			t.Error("keysets are compared wrongly")
		}
		w = wrapped
	}
}

func TestPrefixTellsTheNewestDataKey(t *testing.T) {
	t.Parallel()
	m, org := newMaster(t), uuid.New()
	loc := secret.Location{Table: "memories", Column: "title", Row: secret.Row(uuid.New())}
	old, w := newKeys(t, m, org)
	both, w2, err := m.AddDataKey(org, w)
	if err != nil {
		t.Fatal(err)
	}
	only, _, err := m.DropOldDataKeys(org, w2)
	if err != nil {
		t.Fatal(err)
	}
	if n := []int{old.DataKeys(), both.DataKeys(), only.DataKeys()}; !slices.Equal(n, []int{1, 2, 1}) {
		t.Errorf("numbers of data keys %v, want 1, 2, 1", n)
	}
	for _, c := range []struct {
		sealed, by *secret.Keys
		newest     bool
	}{{old, old, true}, {old, both, false}, {both, both, true}, {both, only, true}, {old, only, false}, {both, old, false}} {
		if got := bytes.HasPrefix(seal(t, c.sealed, loc, "x"), c.by.Prefix()); got != c.newest {
			t.Errorf("prefix %x: %v, want %v", c.by.Prefix(), got, c.newest)
		}
	}
}

func TestUpdateMasterFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "master.key")
	first, _, err := secret.LoadOrCreateMasterFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 { // the servers run as somebody else than the administrator
		if err := os.Chown(path, 12345, 12346); err != nil {
			t.Fatal(err)
		}
	}
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	same := func(what string) {
		t.Helper()
		m, err := secret.LoadMasterFile(path)
		if err != nil || m.KeyID() != first.KeyID() {
			t.Errorf("%s: the file has %v, %v; want it as it was", what, m, err)
		}
		if left, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*")); err != nil || len(left) != 1 {
			t.Errorf("%s: files %v are left", what, left)
		}
	}
	refused := errors.New("refused")
	if _, err := secret.UpdateMasterFile(path, func(*secret.Master) (*secret.Master, error) { return nil, refused }); !errors.Is(err, refused) {
		t.Errorf("a change that fails: %v", err)
	}
	same("a change that fails")
	if m, err := secret.UpdateMasterFile(path, func(m *secret.Master) (*secret.Master, error) { return m, nil }); err != nil || m.KeyID() != first.KeyID() {
		t.Errorf("no change: %v, %v", m, err)
	}
	same("no change")

	m, err := secret.UpdateMasterFile(path, func(m *secret.Master) (*secret.Master, error) {
		_, err := secret.UpdateMasterFile(path, (*secret.Master).Rotate)
		if p, ok := problem.As(err); !ok || p.Code != problem.Conflict || len(p.Fixes) == 0 {
			t.Errorf("a second change at once: %v, want a conflict with a fix", err)
		}
		return m.Rotate()
	})
	if err != nil {
		t.Fatal(err)
	}
	read, err := secret.LoadMasterFile(path)
	if err != nil || read.KeyID() != m.KeyID() || !read.Knows(first.KeyID()) {
		t.Errorf("the file has %v, %v; want the new key and the old one", read, err)
	}
	after, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if after.Mode() != before.Mode() || !sameOwner(before, after) {
		t.Errorf("mode or owner changed: %v, %v", after.Mode(), after.Sys())
	}
	if _, err := secret.UpdateMasterFile(path+".missing", (*secret.Master).Rotate); !problem.Is(err, problem.Unavailable) {
		t.Errorf("a file that is not there: %v", err)
	}
}
