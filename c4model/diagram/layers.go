package diagram

import (
	"math"
	"slices"
)

// box is a node to be placed. Bands go from top to bottom; a lower number stands above a higher one.
type box struct {
	w, h float64
	band int
}

// link is an edge to be placed, with room for its label. Bundled ones that lead to the same box run together.
type link struct {
	from, to int
	w, h     float64
	bundled  bool
}

// layers gives each box its layer from 0 at the top, so that links go downwards as far as there are no cycles, and no layer of a
// band is wider than a page bears. Those of one band are consecutive and hold nothing of another.
func layers(boxes []box, links []link) []int {
	n := len(boxes)
	order := acyclicOrder(boxes, links)
	position := make([]int, n)
	for i, b := range order {
		position[b] = i
	}
	above, below := make([][]int, n), make([][]int, n)
	linked := make([]bool, n)
	for _, l := range links {
		a, b := l.from, l.to
		linked[a], linked[b] = true, true
		if boxes[a].band != boxes[b].band {
			continue // bands order them
		}
		if position[a] > position[b] {
			a, b = b, a
		}
		above[b], below[a] = append(above[b], a), append(below[a], b)
	}
	width := mostAbreast(n)
	rank := make([]int, n)
	count := map[[2]int]int{} // band and rank
	place := func(b, least int) {
		for count[[2]int{boxes[b].band, least}] >= width {
			least++
		}
		rank[b] = least
		count[[2]int{boxes[b].band, least}]++
	}
	for _, b := range order {
		least := 0
		for _, a := range above[b] {
			least = max(least, rank[a]+1)
		}
		if linked[b] {
			place(b, least)
		}
	}
	for _, b := range slices.Backward(order) { // what only leads down comes near to where it leads
		if len(below[b]) <= len(above[b]) {
			continue
		}
		nearest := math.MaxInt
		for _, c := range below[b] {
			nearest = min(nearest, rank[c]-1)
		}
		for ; nearest > rank[b]; nearest-- {
			if at := [2]int{boxes[b].band, nearest}; count[at] < width {
				count[[2]int{boxes[b].band, rank[b]}]--
				rank[b] = nearest
				count[at]++
				break
			}
		}
	}
	for b := range n {
		if !linked[b] {
			place(b, 0)
		}
	}
	return numbered(boxes, rank)
}

// numbered gives the layers that hold something consecutive numbers over all bands.
func numbered(boxes []box, rank []int) []int {
	var held [][2]int
	for i, b := range boxes {
		held = append(held, [2]int{b.band, rank[i]})
	}
	slices.SortFunc(held, func(a, b [2]int) int { return slices.Compare(a[:], b[:]) })
	held = slices.Compact(held)
	out := make([]int, len(boxes))
	for i, b := range boxes {
		out[i], _ = slices.BinarySearchFunc(held, [2]int{b.band, rank[i]}, func(a, b [2]int) int { return slices.Compare(a[:], b[:]) })
	}
	return out
}

// mostAbreast is how many boxes a layer takes, so that a drawing of n of them is about as wide as a screen is: a box with its gaps
// is about as wide as a layer with its labels is high.
func mostAbreast(n int) int {
	const screen, least = 1.4, 5
	return max(least, int(math.Ceil(math.Sqrt(screen*float64(n)))))
}

// acyclicOrder orders the boxes so that few links go back (Eades, Lin and Smyth 1993): sinks last, sources first, and of what is
// left the one that leads most to others.
func acyclicOrder(boxes []box, links []link) []int {
	n := len(boxes)
	in, out := make([]int, n), make([]int, n)
	next := make([][]int, n)
	before := make([][]int, n)
	for _, l := range links {
		if boxes[l.from].band == boxes[l.to].band {
			out[l.from]++
			in[l.to]++
			next[l.from], before[l.to] = append(next[l.from], l.to), append(before[l.to], l.from)
		}
	}
	gone := make([]bool, n)
	var first, last []int
	take := func(b int) {
		gone[b] = true
		for _, c := range next[b] {
			in[c]--
		}
		for _, a := range before[b] {
			out[a]--
		}
	}
	for len(first)+len(last) < n {
		best := -1
		for b := range n {
			if gone[b] {
				continue
			}
			if in[b] == 0 {
				best = b
				break
			}
			if out[b] == 0 {
				best = b
				break
			}
			if best < 0 || out[b]-in[b] > out[best]-in[best] {
				best = b
			}
		}
		if in[best] > 0 && out[best] == 0 {
			last = append(last, best)
		} else {
			first = append(first, best)
		}
		take(best)
	}
	slices.Reverse(last)
	return append(first, last...)
}
