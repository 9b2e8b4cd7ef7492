package diagram

import (
	"cmp"
	"slices"
)

// point is a place in a drawing, in pixels from the top left.
type point struct{ x, y float64 }

// rect is by its top left corner.
type rect struct{ x, y, w, h float64 }

// placed is where everything stands.
type placed struct {
	boxes  []rect
	paths  [][]point // of each link, from its source to its destination; straight lines and curves by turns, see path
	labels []point   // middles
	bounds rect      // what the inner band takes; zero without one
	w, h   float64
}

const (
	margin      = 16.0
	gapRows     = 30.0 // between a row of boxes and one of labels
	boundsPad   = 22.0
	boundsTitle = 30.0
	gapPorts    = 16.0
)

// arrange places boxes and links. The boxes of the band inner, if any, come to stand in a frame with room for its title.
func arrange(boxes []box, links []link, inner int) placed {
	if len(boxes) == 0 {
		return placed{w: 2 * margin, h: 2 * margin}
	}
	r := newRows(boxes, links)
	x := r.across()
	framed := make([]bool, len(r.rows)) // rows of boxes in the frame
	for i := range r.items {
		if it := r.items[i]; it.box >= 0 && boxes[it.box].band == inner {
			framed[it.row] = true
		}
	}
	first, last := slices.Index(framed, true), -1
	for k, f := range framed {
		if f {
			last = k
		}
	}
	top, height := make([]float64, len(r.rows)), make([]float64, len(r.rows))
	y := margin
	for k, row := range r.rows {
		for _, i := range row {
			height[k] = max(height[k], r.items[i].h)
		}
		if k > 0 {
			y += gapRows
		}
		if k == first {
			y += boundsPad + boundsTitle
		}
		top[k] = y
		y += height[k]
		if k == last {
			y += boundsPad
		}
	}
	out := placed{boxes: make([]rect, len(boxes)), paths: make([][]point, len(links)), labels: make([]point, len(links)), h: y + margin}
	shift := margin
	if first >= 0 {
		shift += boundsPad
	}
	right := 0.0
	low, high := 1e18, -1e18
	for i := range r.items {
		it := r.items[i]
		x[i] += shift
		right = max(right, x[i]+it.w/2)
		if first >= 0 && it.row >= first && it.row <= last {
			low, high = min(low, x[i]-it.w/2), max(high, x[i]+it.w/2)
		}
		if it.box >= 0 {
			out.boxes[it.box] = rect{x[i] - it.w/2, top[it.row] + (height[it.row]-it.h)/2, it.w, it.h}
		}
	}
	if first >= 0 {
		out.bounds = rect{low - boundsPad, top[first] - boundsPad - boundsTitle, high - low + 2*boundsPad, top[last] + height[last] + boundsPad - (top[first] - boundsPad - boundsTitle)}
		right = max(right, high+boundsPad)
	}
	out.w = right + margin
	starts, ends := r.ports(x, out.boxes)
	for k := range links {
		chain := r.chain[k]
		upper, lower := out.boxes[chain[0]], out.boxes[chain[len(chain)-1]]
		path := []point{{starts[k], upper.y + upper.h}}
		for _, i := range chain[1 : len(chain)-1] {
			row := r.items[i].row
			path = append(path, point{x[i], top[row]}, point{x[i], top[row] + height[row]})
			if r.items[i].w > passWidth || r.items[i].h > 0 {
				out.labels[k] = point{x[i], top[row] + height[row]/2}
			}
		}
		path = append(path, point{ends[k], lower.y})
		if chain[0] != links[k].from {
			slices.Reverse(path)
		}
		out.paths[k] = path
	}
	return out
}

// ports says where along the lower side of its upper box, and the upper side of its lower one, each link begins: near to where it
// goes, in the order in which they go, apart from each other.
func (r *rows) ports(x []float64, boxes []rect) (starts, ends []float64) {
	starts, ends = make([]float64, len(r.chain)), make([]float64, len(r.chain))
	out, in := make([][]int, len(boxes)), make([][]int, len(boxes))
	for k, chain := range r.chain {
		out[chain[0]] = append(out[chain[0]], k)
		in[chain[len(chain)-1]] = append(in[chain[len(chain)-1]], k)
	}
	side := func(b rect, all []int, beside func(k int) int, at []float64) {
		goes := func(k int) float64 { return x[beside(k)] }
		var links []int // of those that run together the first
		first := map[int]int{}
		for _, k := range all {
			if _, ok := first[beside(k)]; !ok {
				first[beside(k)] = k
				links = append(links, k)
			}
		}
		slices.SortStableFunc(links, func(a, c int) int { return cmp.Compare(goes(a), goes(c)) })
		const usable = 0.8 // of a side; corners are round
		low, high := b.x+b.w*(1-usable)/2, b.x+b.w*(1+usable)/2
		apart := gapPorts
		if len(links) > 1 {
			apart = min(apart, (high-low)/float64(len(links)-1))
		}
		want, weight, gap := make([]float64, len(links)), make([]float64, len(links)), make([]float64, len(links))
		for i, k := range links {
			want[i], weight[i], gap[i] = min(max(goes(k), low+apart*float64(i)), high-apart*float64(len(links)-1-i)), 1, apart
		}
		for i, v := range spread(want, weight, gap) {
			at[links[i]] = v
		}
		for _, k := range all {
			at[k] = at[first[beside(k)]]
		}
	}
	for b := range boxes {
		side(boxes[b], out[b], func(k int) int { return r.chain[k][1] }, starts)
		side(boxes[b], in[b], func(k int) int { return r.chain[k][len(r.chain[k])-2] }, ends)
	}
	return starts, ends
}
