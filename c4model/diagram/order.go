package diagram

import (
	"cmp"
	"math"
	"slices"
)

// item is what stands in a row: a box, or the place where a link passes, with its label in one of them.
type item struct {
	box      int // -1 where a link passes
	link     int
	w, h     float64
	row      int
	up, down []int // items of the rows beside it that it is linked with
}

// rows are the layers of boxes, with a row between each two for labels. Even rows hold boxes.
type rows struct {
	items []item
	rows  [][]int // items from left to right
	chain [][]int // items that a link passes, from top to bottom, its ends among them
}

const passWidth = 14.0 // room for a line beside others

func newRows(boxes []box, links []link) *rows {
	layer := layers(boxes, links)
	r := &rows{chain: make([][]int, len(links))}
	type trunk struct {
		row, to int
		against bool // links that go upwards
	}
	trunks := map[trunk]int{}
	deepest := 0
	for i, b := range boxes {
		r.items = append(r.items, item{box: i, link: -1, w: b.w, h: b.h, row: 2 * layer[i]})
		deepest = max(deepest, 2*layer[i])
	}
	r.rows = make([][]int, deepest+1)
	for k, l := range links {
		top, bottom := l.from, l.to
		if layer[top] > layer[bottom] {
			top, bottom = bottom, top
		}
		at := top
		r.chain[k] = []int{top}
		middle := (r.items[top].row + r.items[bottom].row) / 2
		if middle%2 == 0 {
			middle--
		}
		for row := r.items[top].row + 1; row < r.items[bottom].row; row++ {
			together := trunk{row, bottom, top != l.from}
			if on, ok := trunks[together]; ok && l.bundled {
				if !slices.Contains(r.items[at].down, on) {
					r.join(at, on)
				}
				at = on
				r.chain[k] = append(r.chain[k], at)
				continue
			}
			pass := item{box: -1, link: k, w: passWidth, row: row}
			if row == middle {
				pass.w, pass.h = max(passWidth, l.w), l.h
			}
			r.items = append(r.items, pass)
			r.join(at, len(r.items)-1)
			at = len(r.items) - 1
			r.chain[k] = append(r.chain[k], at)
			if l.bundled {
				trunks[together] = at
			}
		}
		if !slices.Contains(r.items[at].down, bottom) {
			r.join(at, bottom)
		}
		r.chain[k] = append(r.chain[k], bottom)
	}
	r.begin()
	r.untangle()
	return r
}

func (r *rows) join(upper, lower int) {
	r.items[upper].down = append(r.items[upper].down, lower)
	r.items[lower].up = append(r.items[lower].up, upper)
}

// begin orders the rows by a walk from the top, so that what hangs together stands together.
func (r *rows) begin() {
	seen := make([]bool, len(r.items))
	var visit func(i int)
	visit = func(i int) {
		if seen[i] {
			return
		}
		seen[i] = true
		r.rows[r.items[i].row] = append(r.rows[r.items[i].row], i)
		for _, d := range r.items[i].down {
			visit(d)
		}
		for _, u := range r.items[i].up {
			visit(u)
		}
	}
	for i := range r.items {
		if len(r.items[i].up)+len(r.items[i].down) > 0 {
			visit(i)
		}
	}
	for i := range r.items {
		visit(i)
	}
}

// sweeps bounds how often the rows are ordered anew: more brings little, and large drawings cost most.
const (
	sweeps      = 24
	sweepsLarge = 6
	large       = 4000 // items
	swapLarge   = 1200
)

// untangle orders the rows so that few links cross: by the mean of the places that an item is linked with, downwards and upwards,
// and keeps the best order that came about.
func (r *rows) untangle() {
	place := make([]float64, len(r.items))
	note := func() {
		for _, row := range r.rows {
			for x, i := range row {
				place[i] = float64(x)
			}
		}
	}
	note()
	best, fewest := r.copied(), r.crossings(place)
	rounds := sweeps
	if len(r.items) > large {
		rounds = sweepsLarge
	}
	for round := 0; round < rounds && fewest > 0; round++ {
		sweep := func(row []int, beside func(i int) []int) {
			mean := make(map[int]float64, len(row))
			for _, i := range row {
				mean[i] = place[i]
				if to := beside(i); len(to) > 0 {
					sum := 0.0
					for _, j := range to {
						sum += place[j]
					}
					mean[i] = sum / float64(len(to))
				}
			}
			slices.SortStableFunc(row, func(a, b int) int { return cmp.Compare(mean[a], mean[b]) })
			for x, i := range row {
				place[i] = float64(x)
			}
		}
		if round%2 == 0 {
			for _, row := range r.rows {
				sweep(row, func(i int) []int { return r.items[i].up })
			}
		} else {
			for _, row := range slices.Backward(r.rows) {
				sweep(row, func(i int) []int { return r.items[i].down })
			}
		}
		if len(r.items) <= swapLarge {
			r.swap(place)
		}
		if now := r.crossings(place); now < fewest {
			best, fewest = r.copied(), now
		}
	}
	r.rows = best
}

// swap exchanges neighbours while that takes crossings away.
func (r *rows) swap(place []float64) {
	crossed := func(a, b []int) (n int) {
		for _, x := range a {
			for _, y := range b {
				if place[x] > place[y] {
					n++
				}
			}
		}
		return n
	}
	for better, rounds := true, 0; better && rounds < sweeps; rounds++ {
		better = false
		for _, row := range r.rows {
			for k := 0; k+1 < len(row); k++ {
				a, b := &r.items[row[k]], &r.items[row[k+1]]
				now := crossed(a.up, b.up) + crossed(a.down, b.down)
				if now > crossed(b.up, a.up)+crossed(b.down, a.down) {
					row[k], row[k+1] = row[k+1], row[k]
					place[row[k]], place[row[k+1]] = float64(k), float64(k+1)
					better = true
				}
			}
		}
	}
}

func (r *rows) copied() [][]int {
	out := make([][]int, len(r.rows))
	for i, row := range r.rows {
		out[i] = slices.Clone(row)
	}
	return out
}

// crossings counts pairs of links between neighbouring rows that cross, as inversions, with a tree of sums.
func (r *rows) crossings(place []float64) int {
	total := 0
	for k := 0; k+1 < len(r.rows); k++ {
		tree := make([]int, len(r.rows[k+1])+1)
		entered := 0
		for _, i := range r.rows[k] {
			to := make([]int, 0, len(r.items[i].down))
			for _, j := range r.items[i].down {
				to = append(to, int(place[j]))
			}
			for _, x := range to {
				atMost := 0
				for at := x + 1; at > 0; at -= at & -at {
					atMost += tree[at]
				}
				total += entered - atMost
			}
			for _, x := range to {
				for at := x + 1; at < len(tree); at += at & -at {
					tree[at]++
				}
			}
			entered += len(to)
		}
	}
	return total
}

// spread gives things in a row the places nearest to where they want to be, in the least squares, with the gaps between
// neighbours kept and the order as it is: pooled violators after the gaps are taken out.
func spread(want, weight, gap []float64) []float64 {
	type pool struct {
		mean, weight float64
		n            int
	}
	var pools []pool
	offset := make([]float64, len(want))
	for i := range want {
		if i > 0 {
			offset[i] = offset[i-1] + gap[i-1]
		}
		p := pool{want[i] - offset[i], weight[i], 1}
		for len(pools) > 0 && pools[len(pools)-1].mean >= p.mean {
			q := pools[len(pools)-1]
			pools = pools[:len(pools)-1]
			p = pool{(p.mean*p.weight + q.mean*q.weight) / (p.weight + q.weight), p.weight + q.weight, p.n + q.n}
		}
		pools = append(pools, p)
	}
	out := make([]float64, 0, len(want))
	for _, p := range pools {
		for range p.n {
			out = append(out, p.mean+offset[len(out)])
		}
	}
	return out
}

const (
	gapBoxes   = 36.0
	gapPassing = 14.0
	// Weights of a link in the row: long ones should be straight.
	loose, straight = 1.0, 12.0
	settling        = 60 // rounds until the places no longer move much
)

// across gives each item the middle of its place from left to right.
func (r *rows) across() []float64 {
	x, gaps := r.packed()
	for round := range settling {
		both := round > settling/2
		for k := range r.rows {
			r.settle(x, k, gaps[k], true, both)
		}
		for k := range slices.Backward(r.rows) {
			r.settle(x, k, gaps[k], both, true)
		}
	}
	least := math.Inf(1)
	for i := range r.items {
		least = min(least, x[i]-r.items[i].w/2)
	}
	for i := range x {
		x[i] -= least
	}
	return x
}

// packed gives each row its places close together around the middle, and the distances of neighbours that it needs.
func (r *rows) packed() (x []float64, gaps [][]float64) {
	x, gaps = make([]float64, len(r.items)), make([][]float64, len(r.rows))
	for k, row := range r.rows {
		at := 0.0
		for p, i := range row {
			if p > 0 {
				before := r.items[row[p-1]]
				g := gapPassing
				if before.box >= 0 && r.items[i].box >= 0 {
					g = gapBoxes
				}
				gaps[k] = append(gaps[k], (before.w+r.items[i].w)/2+g)
				at += gaps[k][p-1]
			}
			x[i] = at
		}
		for _, i := range row {
			x[i] -= at / 2
		}
	}
	return x, gaps
}

// settle moves a row to where the rows above and below, as asked for, pull it.
func (r *rows) settle(x []float64, k int, gaps []float64, up, down bool) {
	row := r.rows[k]
	want, weight := make([]float64, len(row)), make([]float64, len(row))
	for p, i := range row {
		pull := func(to []int) {
			for _, j := range to {
				w := loose
				if r.items[i].box < 0 && r.items[j].box < 0 {
					w = straight
				}
				want[p] += w * x[j]
				weight[p] += w
			}
		}
		if up {
			pull(r.items[i].up)
		}
		if down {
			pull(r.items[i].down)
		}
		if weight[p] == 0 {
			const faint = 0.05 // it stays, unless others need the place
			want[p], weight[p] = x[i]*faint, faint
		}
		want[p] /= weight[p]
	}
	for p, v := range spread(want, weight, gaps) {
		x[row[p]] = v
	}
}
