package index

import (
	"math"
	"math/bits"
)

const (
	// perChunk vectors are stored together: a space grows without copying what it has. It is a multiple of perWord.
	perChunk = 1024
	// vectorOverhead is what a vector takes beside its numbers.
	vectorOverhead = 8
	// queryRange is the largest number of a rounded query. Its products with numbers of eight bits add up within 32 bits for more
	// than 2,000 pairs in each of eight lanes: 32,000 dimensions.
	queryRange = 1 << 13
	// floatSlack covers what single precision leaves open, here and in the database.
	floatSlack = 1e-5
)

// vectors are unit vectors of whole numbers, by slot: number × scale is about what was stored, and residual the length of
// what is missing. The vectors of one space have one length; others are taken for missing.
type vectors struct {
	dimensions int // 0 before the first
	stride     int // dimensions up to the next multiple of lanes
	chunks     [][]int8
	scales     []float32 // 0: has none
	residuals  []float32
	slots      int
}

// lanes is how many numbers the kernel takes at once.
const lanes = 32

func (v *vectors) has(slot int) bool { return slot < len(v.scales) && v.scales[slot] != 0 }

// grow makes room for n slots.
func (v *vectors) grow(n int) {
	v.slots = n
	if v.dimensions == 0 {
		return
	}
	for len(v.scales) < n {
		v.scales, v.residuals = append(v.scales, 0), append(v.residuals, 0)
	}
	for len(v.chunks)*perChunk < n {
		v.chunks = append(v.chunks, make([]int8, perChunk*v.stride))
	}
}

// from gives the numbers of a slot and of those after it in its chunk.
func (v *vectors) from(slot int) []int8 { return v.chunks[slot/perChunk][slot%perChunk*v.stride:] }

// set stores a vector, or forgets it when it is nil, has no direction, or another length than the others.
func (v *vectors) set(slot int, vector []float32) {
	norm := length(vector)
	if norm == 0 || math.IsNaN(norm) || math.IsInf(norm, 0) || v.dimensions != 0 && len(vector) != v.dimensions {
		if slot < len(v.scales) {
			v.scales[slot] = 0
		}
		return
	}
	if v.dimensions == 0 {
		v.dimensions, v.stride = len(vector), (len(vector)+lanes-1)/lanes*lanes
		v.grow(v.slots)
	}
	step := largestOf(vector) / norm / math.MaxInt8
	to := v.from(slot)[:v.stride]
	missing := 0.0
	for i, x := range vector {
		unit := float64(x) / norm
		n := math.Round(unit / step)
		to[i] = int8(n)
		d := unit - n*step
		missing += d * d
	}
	// A float32 that is larger keeps the bound a bound.
	v.scales[slot], v.residuals[slot] = float32(step), math.Nextafter32(float32(math.Sqrt(missing)), 1)
}

func largestOf(vector []float32) float64 {
	top := 0.0
	for _, x := range vector {
		top = max(top, math.Abs(float64(x)))
	}
	return top
}

func length(vector []float32) float64 {
	sum := 0.0
	for _, x := range vector {
		sum += float64(x) * float64(x)
	}
	return math.Sqrt(sum)
}

func (v *vectors) bytes() int { return len(v.chunks)*perChunk*v.stride + len(v.scales)*vectorOverhead }

// question is a query's vector, rounded.
type question struct {
	numbers  []int16
	scale    float64
	size     float64 // length of the rounded query
	residual float64
}

// ask rounds a query of the right length; false when it has another, or no direction.
func (v *vectors) ask(vector []float32) (q question, ok bool) {
	norm := length(vector)
	if v.dimensions == 0 || len(vector) != v.dimensions || norm == 0 || math.IsNaN(norm) || math.IsInf(norm, 0) {
		return q, false
	}
	q.numbers, q.scale = make([]int16, v.stride), largestOf(vector)/norm/queryRange
	missing, size := 0.0, 0.0
	for i, x := range vector {
		unit := float64(x) / norm
		n := math.Round(unit / q.scale)
		q.numbers[i] = int16(n)
		missing += (unit - n*q.scale) * (unit - n*q.scale)
		size += n * q.scale * n * q.scale
	}
	q.residual, q.size = math.Sqrt(missing), math.Sqrt(size)
	return q, true
}

// fewSlots of a word are compared one by one: memory that is read in order comes many times as fast.
const fewSlots = 3

// compare gives about the cosines with the vectors of those of len(cosines) slots, at most perWord of one chunk, that are set in left. The
// other cosines, and those of slots without a vector, mean nothing.
func (v *vectors) compare(q *question, slot int, left uint64, cosines []float32) {
	var products [perWord]int32
	if bits.OnesCount64(left) > fewSlots {
		dots(q.numbers, v.from(slot), products[:len(cosines)])
	} else {
		for rest := left; rest != 0; rest &= rest - 1 {
			if i := bits.TrailingZeros64(rest); i < len(cosines) {
				dots(q.numbers, v.from(slot+i), products[i:i+1])
			}
		}
	}
	for i, scale := range v.scales[slot : slot+len(cosines)] {
		cosines[i] = float32(float64(products[i]) * q.scale * float64(scale))
	}
}

// off is by how much cosine may be wrong: with q = q̂ + e and v = v̂ + f of length 1, |q·v − q̂·v̂| = |e·v + q̂·f| ≤ |e| + |q̂||f| (Cauchy
// and Schwarz).
func (v *vectors) off(q *question, slot int) float64 {
	return q.residual + q.size*float64(v.residuals[slot]) + floatSlack
}

// dotsPortable multiplies numbers with each of len(products) vectors, which follow each other.
func dotsPortable(numbers []int16, vectors []int8, products []int32) {
	for i := range products {
		row := vectors[i*len(numbers):][:len(numbers)]
		var sum int32
		for j, x := range numbers {
			sum += int32(x) * int32(row[j])
		}
		products[i] = sum
	}
}
