package encoder

import "fmt"

const (
	// PanelColumns is how many columns of a matrix lie side by side in the weights file: the sixteen float32 of two AVX2
	// registers. Any processor can read them, so that one file serves all.
	PanelColumns = 16

	// tileRows is how many rows a kernel works on at once: with two registers for each, and four for weights and values,
	// the sixteen registers of AVX2.
	tileRows = 6
)

// padded rounds up to whole tiles. Activations have room for that many rows; what the rows past the last hold is never
// read by anything that counts.
func padded(rows int) int { return (rows + tileRows - 1) / tileRows * tileRows }

// Matrix holds int8 weights of In × Out. Columns lie in panels of PanelColumns, each panel row by row: the order in
// which a product reads them, straight from the file.
type Matrix struct {
	In, Out int
	Scale   []float32 // of each column: weight = scale · int8
	Panels  []byte    // int8 in two's complement
}

// panel gives the weights of the columns from column on, In × PanelColumns.
func (m *Matrix) panel(column int) []byte {
	size := m.In * PanelColumns
	at := column / PanelColumns * size
	return m.Panels[at : at+size : at+size]
}

// kernel is the arithmetic that takes nearly all of the time.
type kernel struct {
	multiply  multiplier
	dot       func(a, b []float32) float32          // b is at least as long as a
	addScaled func(sum, x []float32, scale float32) // sum += scale · x; x is at least as long as sum
}

var portable = kernel{multiply: multiplyPortable, dot: dot, addScaled: addScaled}

// multiplier sets c (rows × m.Out) to a (rows × m.In) times m, without the scales of m. a and c have room for
// padded(rows) rows, room for one panel as float32.
type multiplier func(rows int, a []float32, m *Matrix, c, room []float32)

// checkBounds panics when a product would leave its slices: a fault of this package, never of a text.
func checkBounds(rows int, a []float32, m *Matrix, c []float32) {
	if full := padded(rows); rows < 1 || m.In < 1 || m.Out%PanelColumns != 0 ||
		len(a) < full*m.In || len(c) < full*m.Out || len(m.Panels) != m.In*m.Out {
		panic(fmt.Sprintf("encoder: %d rows of %d in %d values times %d × %d in %d weights do not fit %d values",
			rows, m.In, len(a), m.In, m.Out, len(m.Panels), len(c)))
	}
}

// multiplyPortable widens each panel once for all rows, then takes a row and eight columns at a time, whose sums the
// compiler keeps in registers.
func multiplyPortable(rows int, a []float32, m *Matrix, c, room []float32) {
	checkBounds(rows, a, m, c)
	room = room[:m.In*PanelColumns]
	for column := 0; column < m.Out; column += PanelColumns {
		for i, b := range m.panel(column) {
			room[i] = float32(int8(b)) //nolint:gosec // the bits as they are
		}
		for row := range rows {
			values := a[row*m.In : (row+1)*m.In]
			multiplyRow(values, room, (*[PanelColumns]float32)(c[row*m.Out+column:]))
		}
	}
}

// multiplyRow adds to the columns of one panel, four rows of it at a time.
func multiplyRow(row, panel []float32, out *[PanelColumns]float32) {
	*out = [PanelColumns]float32{}
	for len(row) >= 4 && len(panel) >= 4*PanelColumns {
		x0, x1, x2, x3 := row[0], row[1], row[2], row[3]
		w := (*[4 * PanelColumns]float32)(panel)
		for j := range out {
			out[j] += x0*w[j] + x1*w[PanelColumns+j] + x2*w[2*PanelColumns+j] + x3*w[3*PanelColumns+j]
		}
		row, panel = row[4:], panel[4*PanelColumns:]
	}
	for k, x := range row {
		for j := range out {
			out[j] += x * panel[k*PanelColumns+j]
		}
	}
}

// dot has four sums, so that an addition need not wait for the one before.
func dot(a, b []float32) float32 {
	var s0, s1, s2, s3 float32
	for len(a) >= 4 && len(b) >= 4 {
		s0 += a[0] * b[0]
		s1 += a[1] * b[1]
		s2 += a[2] * b[2]
		s3 += a[3] * b[3]
		a, b = a[4:], b[4:]
	}
	for i, x := range a {
		s0 += x * b[i]
	}
	return s0 + s1 + s2 + s3
}

func addScaled(sum, x []float32, scale float32) {
	x = x[:len(sum)]
	for i, v := range x {
		sum[i] += scale * v
	}
}
