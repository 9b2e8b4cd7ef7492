package encoder

import "golang.org/x/sys/cpu"

// fastest gives the AVX2 kernel where processor and operating system support it. GODEBUG=cpu.avx2=off takes it away.
func fastest() kernel {
	if cpu.X86.HasAVX2 && cpu.X86.HasFMA {
		return kernel{multiply: multiplyAVX2, dot: dotBlocks, addScaled: addScaledBlocks}
	}
	return portable
}

// The functions in assembly read and write through bare pointers. Each has one caller, which checks the bounds.

// tileAVX2 sets a tile of tileRows × PanelColumns of c to the product of tileRows rows of a and one panel: depth values
// of each row, whose strides are counted in float32. depth is at least 1.
//
//go:noescape
func tileAVX2(depth int, a *float32, stride int, panel *byte, c *float32, cStride int)

// dotAVX2 multiplies n values, a multiple of block and at least one.
//
//go:noescape
func dotAVX2(n int, a, b *float32) float32

// addScaledAVX2 adds to n values, a multiple of block and at least one.
//
//go:noescape
func addScaledAVX2(n int, scale float32, x, sum *float32)

// block is how many values dotAVX2 and addScaledAVX2 take at a time; heads of the shipped model have 64 and 128.
const block = 16

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

func dotBlocks(a, b []float32) float32 {
	b = b[:len(a)]
	n := len(a) / block * block
	if n == 0 {
		return dot(a, b)
	}
	return dotAVX2(n, &a[0], &b[0]) + dot(a[n:], b[n:])
}

func addScaledBlocks(sum, x []float32, scale float32) {
	x = x[:len(sum)]
	n := len(sum) / block * block
	if n > 0 {
		addScaledAVX2(n, scale, &x[0], &sum[0])
	}
	addScaled(sum[n:], x[n:], scale)
}
