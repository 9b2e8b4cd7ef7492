package encoder

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestMultiply compares every implementation with the definition, at sizes that are no multiple of anything, and looks
// whether a value outside the rows it may write has changed.
func TestMultiply(t *testing.T) {
	t.Parallel()
	const guard = 24
	random := rand.New(rand.NewPCG(1, 2))
	for name, multiply := range map[string]multiplier{"fastest": fastest().multiply, "portable": multiplyPortable} {
		for _, in := range []int{1, 2, 3, 5, 7, 8, 31, 64, 129} {
			for _, out := range []int{16, 48} {
				for _, rows := range []int{1, 2, 5, 6, 7, 12, 13} {
					values := make([]float32, in*out)
					for i := range values {
						values[i] = random.Float32()*2 - 1
					}
					m, err := QuantizeMatrix(in, out, values)
					if err != nil {
						t.Fatal(err)
					}
					a := make([]float32, padded(rows)*in, padded(rows)*in+guard)
					for i := range a {
						a[i] = random.Float32()*2 - 1
					}
					c := slices.Repeat([]float32{-7}, padded(rows)*out+guard)
					room := make([]float32, in*PanelColumns)
					multiply(rows, a, &m, c[:padded(rows)*out:padded(rows)*out], room)
					if worst := worstError(rows, a, &m, c); worst > 1e-5 {
						t.Errorf("%s, %d rows of %d times %d columns: off by %g", name, rows, in, out, worst)
					}
					if after := c[padded(rows)*out:]; slices.ContainsFunc(after, func(f float32) bool { return f != -7 }) {
						t.Errorf("%s, %d rows of %d times %d columns: wrote past its rows: %v", name, rows, in, out, after)
					}
				}
			}
		}
	}
}

// worstError compares with the product in float64, relative to the size of what was summed.
func worstError(rows int, a []float32, m *Matrix, c []float32) (worst float64) {
	for row := range rows {
		for column := range m.Out {
			var want, size float64
			for i := range m.In {
				w := float64(int8(m.panel(column)[i*PanelColumns+column%PanelColumns]))
				want += float64(a[row*m.In+i]) * w
				size += math.Abs(float64(a[row*m.In+i]) * w)
			}
			worst = max(worst, math.Abs(want-float64(c[row*m.Out+column]))/max(size, 1))
		}
	}
	return worst
}

func TestMultiplyRefusesWhatDoesNotFit(t *testing.T) {
	t.Parallel()
	m := Matrix{In: 4, Out: 16, Panels: make([]byte, 64)}
	for _, bad := range []struct {
		what string
		rows int
		a, c int
		m    Matrix
	}{
		{"no rows", 0, 24, 96, m},
		{"no padding of a", 1, 4, 96, m},
		{"no padding of c", 1, 24, 16, m},
		{"too few weights", 1, 24, 96, Matrix{In: 4, Out: 16, Panels: make([]byte, 63)}},
		{"half a panel", 1, 24, 96, Matrix{In: 4, Out: 8, Panels: make([]byte, 32)}},
	} {
		for name, multiply := range map[string]multiplier{"fastest": fastest().multiply, "portable": multiplyPortable} {
			t.Run(fmt.Sprint(bad.what, " ", name), func(t *testing.T) {
				t.Parallel()
				defer func() {
					if recover() == nil {
						t.Error("was accepted")
					}
				}()
				multiply(bad.rows, make([]float32, bad.a), &bad.m, make([]float32, bad.c), make([]float32, 64))
			})
		}
	}
}

func TestQuantize(t *testing.T) {
	t.Parallel()
	values := []float32{0, 1, -3, 0.01, 2, -0.5, 0.7, 3, 0, 0, 0, 0, 5, 6, 7, -8, 0, -1, 2, 0.02, 1, 0.25, 0.9, 1, 0, 1, 0, 0, 1, 2, 3, 4}
	m, err := QuantizeMatrix(2, 16, values)
	if err != nil {
		t.Fatal(err)
	}
	for row := range 2 {
		for column := range 16 {
			got := float32(int8(m.Panels[row*16+column])) * m.Scale[column]
			if off := math.Abs(float64(got - values[row*16+column])); off > float64(m.Scale[column])/2*1.001 {
				t.Errorf("row %d column %d: %g became %g, more than half a step of %g", row, column, values[row*16+column], got, m.Scale[column])
			}
		}
	}
	if m.Scale[0] != 0 || m.Panels[0] != 0 {
		t.Errorf("a column of zeros has scale %g and weight %d", m.Scale[0], m.Panels[0])
	}
	table, err := QuantizeTable(2, []float32{1, -2, 0.001, 0.0005})
	if err != nil {
		t.Fatal(err)
	}
	if got := table.Rows; got[1] != 0x81 || got[2] != 127 {
		t.Errorf("the largest magnitudes of two rows became % x", got)
	}
	nan := float32(math.NaN())
	for name, err := range map[string]error{
		"size of a matrix": second(QuantizeMatrix(2, 16, values[1:])),
		"half a panel":     second(QuantizeMatrix(2, 8, values[:16])),
		"not a number":     second(QuantizeMatrix(1, 16, append([]float32{nan}, values[:15]...))),
		"size of a table":  second(QuantizeTable(3, values[:4])),
		"no width":         second(QuantizeTable(0, nil)),
		"not finite":       second(QuantizeTable(1, []float32{float32(math.Inf(1))})),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// TestSums compares dot and addScaled with their definition at every length around the blocks they take.
func TestSums(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(7, 8))
	for name, k := range map[string]kernel{"fastest": fastest(), "portable": portable} {
		for n := range 70 {
			a, b, sum := make([]float32, n), make([]float32, n+1), make([]float32, n+1)
			var want, size float64
			for i := range n {
				a[i], b[i], sum[i] = random.Float32()-0.5, random.Float32()-0.5, random.Float32()
				want += float64(a[i]) * float64(b[i])
				size += math.Abs(float64(a[i]) * float64(b[i]))
			}
			b[n], sum[n] = 1e9, -7 // past the end
			if got := float64(k.dot(a, b)); math.Abs(got-want) > 1e-6*max(size, 1) {
				t.Errorf("%s: the dot product of %d values is %g, expected %g", name, n, got, want)
			}
			before := slices.Clone(sum)
			k.addScaled(sum[:n], b, 0.75)
			for i := range n {
				if want := before[i] + 0.75*b[i]; math.Abs(float64(sum[i]-want)) > 1e-6 {
					t.Errorf("%s: value %d of %d became %g, expected %g", name, i, n, sum[i], want)
				}
			}
			if sum[n] != -7 {
				t.Errorf("%s: wrote past %d values", name, n)
			}
		}
	}
}
