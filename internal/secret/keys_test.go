package secret_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/internal/secret"
)

func newMaster(tb testing.TB) *secret.Master {
	tb.Helper()
	m, err := secret.GenerateMaster()
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

func newKeys(tb testing.TB, m *secret.Master, org uuid.UUID) (*secret.Keys, secret.Wrapped) {
	tb.Helper()
	k, w, err := m.NewKeys(org)
	if err != nil {
		tb.Fatal(err)
	}
	return k, w
}

func seal(tb testing.TB, k *secret.Keys, loc secret.Location, text string) []byte {
	tb.Helper()
	sealed, err := k.Seal(loc, []byte(text))
	if err != nil {
		tb.Fatal(err)
	}
	return sealed
}

func wantOpen(tb testing.TB, k *secret.Keys, loc secret.Location, sealed []byte, want string) {
	tb.Helper()
	got, err := k.Open(loc, sealed)
	if err != nil {
		tb.Fatalf("Open(%v): %v", loc, err)
	}
	if string(got) != want {
		tb.Fatalf("Open(%v) = %q, want %q", loc, got, want)
	}
}

func TestSealedTextOpensOnlyInItsPlace(t *testing.T) {
	t.Parallel()
	m, org, row := newMaster(t), uuid.New(), uuid.New()
	k, w := newKeys(t, m, org)
	home := secret.Location{Table: "memories", Column: "content", Row: secret.Row(row, 3)}
	sealed := seal(t, k, home, "the gateway strips long headers")

	reopened, err := m.OpenKeys(org, w)
	if err != nil {
		t.Fatal(err)
	}
	wantOpen(t, k, home, sealed, "the gateway strips long headers")
	wantOpen(t, reopened, home, sealed, "the gateway strips long headers")
	if bytes.Contains(sealed, []byte("gateway")) {
		t.Error("the sealed text can be read")
	}

	for name, elsewhere := range map[string]secret.Location{
		"row":            {Table: "memories", Column: "content", Row: secret.Row(uuid.New(), 3)},
		"revision":       {Table: "memories", Column: "content", Row: secret.Row(row, 4)},
		"shorter key":    {Table: "memories", Column: "content", Row: secret.Row(row)},
		"column":         {Table: "memories", Column: "why", Row: secret.Row(row, 3)},
		"table":          {Table: "outcomes", Column: "content", Row: secret.Row(row, 3)},
		"shifted border": {Table: "memoriesc", Column: "ontent", Row: secret.Row(row, 3)},
		"joined key":     {Table: "memories", Column: "content", Row: []string{row.String() + "3"}},
		"nowhere":        {},
	} {
		if _, err := k.Open(elsewhere, sealed); !errors.Is(err, secret.ErrAltered) {
			t.Errorf("%s swapped: error %v, want ErrAltered", name, err)
		}
	}

	// The same keysets under another organization: only the organization in the associated data tells them apart.
	other, otherWrapped := newKeys(t, m, uuid.New())
	if _, err := other.Open(home, sealed); !errors.Is(err, secret.ErrUnknownKey) {
		t.Errorf("another organization's keys: error %v, want ErrUnknownKey", err)
	}
	if _, err := m.OpenKeys(org, otherWrapped); !errors.Is(err, secret.ErrAltered) {
		t.Errorf("another organization's keysets opened as this one's: error %v, want ErrAltered", err)
	}
	swapped := secret.Wrapped{MasterKeyID: w.MasterKeyID, Data: w.Index, Index: w.Data}
	if _, err := m.OpenKeys(org, swapped); !errors.Is(err, secret.ErrAltered) {
		t.Errorf("data and index keysets swapped: error %v, want ErrAltered", err)
	}
}

func TestEveryAlteredByteIsNoticed(t *testing.T) {
	t.Parallel()
	k, _ := newKeys(t, newMaster(t), uuid.New())
	loc := secret.Location{Table: "memories", Column: "title", Row: secret.Row(uuid.New())}
	sealed := seal(t, k, loc, "retries")
	if got, want := len(sealed), len("retries")+33; got != want {
		t.Errorf("sealed length %d, want %d as documented", got, want)
	}
	for i := range sealed {
		bad := bytes.Clone(sealed)
		bad[i] ^= 0x40
		if _, err := k.Open(loc, bad); !errors.Is(err, secret.ErrAltered) && !errors.Is(err, secret.ErrUnknownKey) {
			t.Errorf("byte %d altered: error %v", i, err)
		}
	}
	for n := range sealed {
		if _, err := k.Open(loc, sealed[:n]); err == nil {
			t.Errorf("the first %d bytes opened", n)
		}
	}
}

func TestOpenIsTheInverseOfSeal(t *testing.T) {
	t.Parallel()
	k, _ := newKeys(t, newMaster(t), uuid.New())
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.SliceOfN(rapid.StringMatching(`[a-c]{0,3}`), 0, 3)
		place := func(label string) secret.Location {
			return secret.Location{
				Table:  rapid.StringMatching(`[a-c]{0,3}`).Draw(t, label+" table"),
				Column: rapid.StringMatching(`[a-c]{0,3}`).Draw(t, label+" column"),
				Row:    part.Draw(t, label+" row"),
			}
		}
		here, there := place("here"), place("there")
		text := rapid.SliceOf(rapid.Byte()).Draw(t, "text")
		sealed, err := k.Seal(here, text)
		if err != nil {
			t.Fatal(err)
		}
		got, err := k.Open(here, sealed)
		if err != nil || !bytes.Equal(got, text) {
			t.Fatalf("Open = %q, %v; want %q", got, err, text)
		}
		same := here.Table == there.Table && here.Column == there.Column && slices.Equal(here.Row, there.Row)
		if _, err := k.Open(there, sealed); (err == nil) != same {
			t.Fatalf("sealed at %#v, opened at %#v: %v", here, there, err)
		}
	})
}

func TestWrongMasterKeyIsNamedBeforeDecrypting(t *testing.T) {
	t.Parallel()
	org := uuid.New()
	right, wrong := newMaster(t), newMaster(t)
	_, w := newKeys(t, right, org)
	if w.MasterKeyID != right.KeyID() {
		t.Errorf("wrapped by %q, want the id of the master key, %q", w.MasterKeyID, right.KeyID())
	}
	_, err := wrong.OpenKeys(org, secret.Wrapped{MasterKeyID: w.MasterKeyID}) // nothing to decrypt: the id alone decides
	if !problem.Is(err, problem.Unavailable) {
		t.Fatalf("error %v, want a problem of code unavailable", err)
	}
	for _, part := range []string{right.KeyID(), wrong.KeyID(), secret.EnvKey, secret.EnvFile} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not mention %s", err, part)
		}
	}
}

func TestHashes(t *testing.T) {
	t.Parallel()
	m, org := newMaster(t), uuid.New()
	k, w := newKeys(t, m, org)
	again, err := m.OpenKeys(org, w)
	if err != nil {
		t.Fatal(err)
	}
	other, _ := newKeys(t, m, uuid.New())
	if k.Hash64(secret.DomainTerm, "gateway") != again.Hash64(secret.DomainTerm, "gateway") {
		t.Error("the hash of a term changed when the keys were opened again")
	}
	if k.Hash128(secret.DomainTitle, "gateway") != again.Hash128(secret.DomainTitle, "gateway") {
		t.Error("the hash of a title changed when the keys were opened again")
	}
	if k.Hash64(secret.DomainTerm, "gateway") == other.Hash64(secret.DomainTerm, "gateway") {
		t.Error("two organizations share the hash of a term")
	}
	seen := map[string]string{}
	for _, c := range [][2]string{{"term", "gateway"}, {"title", "gateway"}, {"ter", "mgateway"}, {"", "termgateway"}, {"termgateway", ""}, {"term", ""}, {"", ""}} {
		h64 := fmt.Sprintf("%016x", uint64(k.Hash64(c[0], c[1])))
		h128 := fmt.Sprintf("%x", k.Hash128(c[0], c[1]))
		if strings.HasPrefix(h128, h64) {
			t.Errorf("%q: the short hash begins the long one", c)
		}
		for _, h := range []string{h64, h128} {
			if first, ok := seen[h]; ok {
				t.Errorf("%q and %q share a hash", first, c)
			}
			seen[h] = fmt.Sprint(c)
		}
	}
}

func TestKeysAreSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	k, _ := newKeys(t, newMaster(t), uuid.New())
	loc := secret.Location{Table: "memories", Column: "title", Row: secret.Row(uuid.New())}
	want := k.Hash64(secret.DomainTerm, "shared")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				if got := k.Hash64(secret.DomainTerm, "shared"); got != want {
					t.Errorf("hash %d, want %d", got, want)
				}
				sealed, err := k.Seal(loc, []byte("text"))
				if err != nil {
					t.Error(err)
				}
				if _, err := k.Open(loc, sealed); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

func TestRotateMasterKey(t *testing.T) {
	t.Parallel()
	org, loc := uuid.New(), secret.Location{Table: "memories", Column: "title", Row: secret.Row(uuid.New())}
	old := newMaster(t)
	k, w := newKeys(t, old, org)
	sealed := seal(t, k, loc, "kept")

	both, err := old.Rotate()
	if err != nil {
		t.Fatal(err)
	}
	if both.KeyID() == old.KeyID() {
		t.Fatal("rotation kept the key")
	}
	if k, err = both.OpenKeys(org, w); err != nil {
		t.Fatalf("the rotated key does not open what the old one wrapped: %v", err)
	}
	wantOpen(t, k, loc, sealed, "kept")

	rewrapped, changed, err := both.Rewrap(org, w)
	if err != nil || !changed {
		t.Fatalf("Rewrap: changed %v, error %v", changed, err)
	}
	if _, changed, err := both.Rewrap(org, rewrapped); err != nil || changed {
		t.Errorf("second Rewrap: changed %v, error %v; want nothing to do", changed, err)
	}
	newest, err := both.Keep()
	if err != nil {
		t.Fatal(err)
	}
	if k, err = newest.OpenKeys(org, rewrapped); err != nil {
		t.Fatal(err)
	}
	wantOpen(t, k, loc, sealed, "kept")
	if _, err := newest.OpenKeys(org, w); !problem.Is(err, problem.Unavailable) {
		t.Errorf("keysets that were not rewrapped: error %v, want a problem", err)
	}
	if _, err := old.OpenKeys(org, rewrapped); !problem.Is(err, problem.Unavailable) {
		t.Errorf("the old key on rewrapped keysets: error %v, want a problem", err)
	}
}

func TestRotateDataKey(t *testing.T) {
	t.Parallel()
	m, org := newMaster(t), uuid.New()
	loc := secret.Location{Table: "memories", Column: "title", Row: secret.Row(uuid.New())}
	stale, w := newKeys(t, m, org)
	first := seal(t, stale, loc, "first")

	k, w2, err := m.AddDataKey(org, w)
	if err != nil {
		t.Fatal(err)
	}
	second := seal(t, k, loc, "second")
	wantOpen(t, k, loc, first, "first")
	wantOpen(t, k, loc, second, "second")
	if k.IndexID() != stale.IndexID() || k.Hash64("term", "x") != stale.Hash64("term", "x") {
		t.Error("a new data key changed the hashes")
	}
	if _, err := stale.Open(loc, second); !errors.Is(err, secret.ErrUnknownKey) {
		t.Errorf("keys loaded before the rotation: error %v, want ErrUnknownKey", err)
	}
	reloaded, err := m.OpenKeys(org, w2)
	if err != nil {
		t.Fatal(err)
	}
	wantOpen(t, reloaded, loc, first, "first")
	wantOpen(t, reloaded, loc, second, "second")

	newest, _, err := m.DropOldDataKeys(org, w2)
	if err != nil {
		t.Fatal(err)
	}
	wantOpen(t, newest, loc, second, "second")
	if _, err := newest.Open(loc, first); !errors.Is(err, secret.ErrUnknownKey) {
		t.Errorf("a text of the dropped key: error %v, want ErrUnknownKey", err)
	}
}

func TestRotateIndexKey(t *testing.T) {
	t.Parallel()
	m, org := newMaster(t), uuid.New()
	loc := secret.Location{Table: "memories", Column: "title", Row: secret.Row(uuid.New())}
	k, w := newKeys(t, m, org)
	sealed := seal(t, k, loc, "kept")
	k2, w2, err := m.NewIndexKey(org, w)
	if err != nil {
		t.Fatal(err)
	}
	wantOpen(t, k2, loc, sealed, "kept")
	if k.IndexID() == k2.IndexID() || k.Hash64("term", "x") == k2.Hash64("term", "x") {
		t.Error("the index key did not change")
	}
	reloaded, err := m.OpenKeys(org, w2)
	if err != nil {
		t.Fatal(err)
	}
	if reloaded.IndexID() != k2.IndexID() || reloaded.Hash64("term", "x") != k2.Hash64("term", "x") {
		t.Error("the stored index key is not the new one")
	}
}

func BenchmarkHash64(b *testing.B) {
	k, _ := newKeys(b, newMaster(b), uuid.New())
	b.ReportAllocs()
	for b.Loop() {
		k.Hash64(secret.DomainTerm, "idargumentresolvers")
	}
}

func BenchmarkSeal500(b *testing.B) {
	k, _ := newKeys(b, newMaster(b), uuid.New())
	loc, text := secret.Location{Table: "memories", Column: "content", Row: secret.Row(uuid.New())}, make([]byte, 500)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := k.Seal(loc, text); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkOpenKeys(b *testing.B) {
	m, org := newMaster(b), uuid.New()
	_, w := newKeys(b, m, org)
	for b.Loop() {
		if _, err := m.OpenKeys(org, w); err != nil {
			b.Fatal(err)
		}
	}
}

// What an earlier version wrote must stay readable and findable: these values never change.
func TestStoredFormats(t *testing.T) {
	t.Parallel()
	decode := func(text string) []byte {
		raw, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	m, err := secret.ParseMaster("CPyA2s4EEmQKWAowdHlwZS5nb29nbGVhcGlzLmNvbS9nb29nbGUuY3J5cHRvLnRpbmsuQWVzR2NtS2V5EiIaII+5Hfwt10Cdp5uY"+
		"IdErLy2Tg/rguDbZN1+uZUKQ8hgwGAEQARj8gNrOBCAB", "TEST")
	if err != nil {
		t.Fatal(err)
	}
	k, err := m.OpenKeys(uuid.MustParse("0190a5e4-7b1c-7000-8000-000000000001"), secret.Wrapped{
		MasterKeyID: "705d540d315231a0",
		Data: decode("Eo0BAUnWgHySWNbmJfTCsCBQsHXxt6NvoreeM37ZoNBTM65a9VzRS8WjwezSoRKBco6sg7eubu9BrS4KK+LHmOD4H+9stdMDaAqaQaDmCul3" +
			"2OFPL4bx4v/MgcQrL6YKFnEKDrPFsrNSN2fv5g0SEDw75s/vg97Apo/W8LAK3ntOWObDGjEcN7wegPM7UB+e"),
		Index: decode("EpIBAUnWgHwfWF2q2JduuXiVNWDUI6/P9NwLv5qcJ6DKHI5yjkPviQS2dwFMwPx5qhPV8jJkpda1k3pzuHIiBqfJFpu9WxK6nGxBjm/cBeaq" +
			"AV1tJ4+jFWg9FURMBagDcuxytpzWBK26m6jIj6K9cm6FEciJZQ7qnCWicIoQFYwzqNxnHYH9aSpISSRe2gFgYoxKkFM="),
	})
	if err != nil {
		t.Fatal(err)
	}
	loc := secret.Location{Table: "memories", Column: "content", Row: secret.Row(uuid.MustParse("0190a5e4-7b1c-7000-8000-000000000002"), 3)}
	wantOpen(t, k, loc, decode("AXWzGYIMBejiE8C+QlhC7vSjKgZmG5DROePC0vsvJlbyB9Vi2oogd50GSMS07ttkJEafYDQDJa2E1lFLpbM="), "written by an earlier version")
	if got, want := k.IndexID(), "dae1aa35dddfab97"; got != want {
		t.Errorf("index id %s, want %s", got, want)
	}
	if got, want := k.Hash64(secret.DomainTerm, "gateway"), int64(5145308384161247403); got != want {
		t.Errorf("Hash64 = %d, want %d", got, want)
	}
	if got, want := fmt.Sprintf("%x", k.Hash128(secret.DomainTitle, "gateway")), "54bf1ff1ecbc2c0fb5066e66e492cc1a"; got != want {
		t.Errorf("Hash128 = %s, want %s", got, want)
	}
}
