package encoder

import "golang.org/x/sys/cpu"

// fastest gives the AVX2 kernel where processor and operating system support it. GODEBUG=cpu.avx2=off takes it away.
func fastest() multiplier {
	if cpu.X86.HasAVX2 && cpu.X86.HasFMA {
		return multiplyAVX2
	}
	return multiplyPortable
}

// tileAVX2 sets a tile of tileRows × PanelColumns of c to the product of tileRows rows of a and one panel: depth values
// of each row, whose strides are counted in float32. depth is at least 1. It reads and writes through bare pointers, so
// that multiplyAVX2, its only caller, checks the bounds.
//
//go:noescape
func tileAVX2(depth int, a *float32, stride int, panel *byte, c *float32, cStride int)

// multiplyAVX2 needs no room of its own: it widens the weights as it reads them.
func multiplyAVX2(rows int, a []float32, m *Matrix, c, _ []float32) {
	checkBounds(rows, a, m, c)
	for column := 0; column < m.Out; column += PanelColumns {
		panel := m.panel(column)
		for row := 0; row < rows; row += tileRows {
			tileAVX2(m.In, &a[row*m.In], m.In, &panel[0], &c[row*m.Out+column], m.Out)
		}
	}
}
