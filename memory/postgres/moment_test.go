package postgres

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/pgvector/pgvector-go"
	"pgregory.net/rapid"

	"github.com/stele-dev/stele/internal/postgres"
	"github.com/stele-dev/stele/internal/postgres/pgtest"
)

// Snapshots of a server tell which transactions they hold and which of two holds more, as a server that is played tells it.
func TestMoments(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		next := int64(100)
		var running []int64
		type seen struct {
			*moment
			over map[int64]bool
		}
		over := map[int64]bool{}
		var taken []seen
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch rapid.IntRange(0, 2).Draw(t, "step") {
			case 0:
				running = append(running, next)
				next++
			case 1:
				if len(running) > 0 {
					n := rapid.IntRange(0, len(running)-1).Draw(t, "which")
					over[running[n]] = true
					running = slices.Delete(running, n, n+1)
				}
			case 2:
				low := next
				var ids []string
				for _, id := range running {
					low = min(low, id)
					ids = append(ids, fmt.Sprint(id))
				}
				m, err := parseMoment(fmt.Sprintf("%d:%d:%s", low, next, strings.Join(ids, ",")), "life")
				if err != nil {
					t.Fatal(err)
				}
				copied := map[int64]bool{}
				for id := range over {
					copied[id] = true
				}
				taken = append(taken, seen{m, copied})
			}
		}
		for i, a := range taken {
			for id := int64(100); id < next+3; id++ {
				if a.has(id) != a.over[id] {
					t.Fatalf("snapshot %+v has %d: %v", a.moment, id, a.has(id))
				}
			}
			for j, b := range taken {
				if i >= j && !a.covers(b.moment) {
					t.Fatalf("the later %+v does not cover %+v", a.moment, b.moment)
				}
				if i < j && len(a.over) < len(b.over) && a.covers(b.moment) {
					t.Fatalf("the earlier %+v covers %+v", a.moment, b.moment)
				}
			}
		}
	})
	m, _ := parseMoment("1:5:", "one life")
	o, _ := parseMoment("1:5:", "another")
	if m.covers(o) {
		t.Error("snapshots of two servers were compared")
	}
	for _, text := range []string{"", "1:2", "a:2:", "1:b:", "1:2:c", "1:2:3:4"} {
		if _, err := parseMoment(text, ""); err == nil {
			t.Errorf("%q was taken for a snapshot", text)
		}
	}
}

// Numbers of half precision, against what they are by definition.
func TestHalf(t *testing.T) {
	t.Parallel()
	for bits, want := range map[uint16]float32{0: 0, 0x3c00: 1, 0xc000: -2, 0x7bff: 65504, 0x0001: 1.0 / (1 << 24), 0x0400: 1.0 / (1 << 14), 0x3555: 0.333251953125, 0x8001: -1.0 / (1 << 24)} {
		if got := half(bits); got != want {
			t.Errorf("%#04x is %v, want %v", bits, got, want)
		}
	}
	if _, err := readHalf([]byte{0, 2, 0, 0, 1}); err == nil {
		t.Error("a vector that is cut was read")
	}
	if v, err := readHalf([]byte{0, 2, 0, 0, 0x3c, 0, 0xc0, 0}); err != nil || !slices.Equal(v, []float32{1, -2}) {
		t.Errorf("%v, %v", v, err)
	}
}

// Numbers are rounded as the database rounds them.
func TestToHalf(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 7))
	var in []float32
	for range 3000 {
		in = append(in, float32(r.NormFloat64()*math.Pow(2, -float64(r.IntN(30)))))
	}
	in = append(in, 0, 1, -1, 0x1p-14, 0x1p-15, 0x1p-24, 0x1p-25, 0x1p-26, 1+0x1p-11, 1+3*0x1p-11, 0x1.ffep-15, 0x1.fffp-15)
	db := pgtest.New(t)
	var stored []byte
	err := db.WithoutOrg(t.Context(), postgres.TxOptions{}, func(tx pgx.Tx) error {
		return tx.QueryRow(t.Context(), `SELECT halfvec_send($1::halfvec)`, pgvector.NewHalfVector(in)).Scan(&stored)
	})
	if err != nil {
		t.Fatal(err)
	}
	want, err := readHalf(stored)
	if err != nil {
		t.Fatal(err)
	}
	for i, x := range in {
		if got := toHalf(x); got != want[i] {
			t.Errorf("%g is rounded to %g, want %g", x, got, want[i])
		}
	}
}
