package index

import (
	"math"
	"math/bits"
)

const (
	// perChunk vectors are stored together: a space grows without copying what it has. It is a multiple of perWord.
	perChunk = 1024
	// vectorOverhead is what a vector takes beside its numbers.
	vectorOverhead = 12
	// floatSlack covers what single precision leaves open, here and in the database.
	floatSlack = 1e-5
	// halfScale is what the upper half of a number counts for.
	halfScale = 16
	// lift makes the numbers of eight bits positive, so that both of their halves are.
	lift = 128
	// middle is the lower half of a number when it is not looked at.
	middle = (halfScale - 1) / 2.0
	// fineScale is what the coarse part of a number of the query counts for, and queryRange the largest such number: its coarse part
	// has eight bits.
	fineScale  = 128
	queryRange = 127*fineScale + fineScale/2 - 1
)

// vectors are unit vectors of whole numbers, by slot: number × scale is about what was stored. A number has eight bits; the upper
// four of all are kept apart from the lower four, so that a search reads half of them and the rest only of what may be a result.
// The vectors of one space have one length; others are taken for missing.
type vectors struct {
	dimensions   int // 0 before the first
	stride       int // bytes of a half: dimensions up to the next multiple of lanes, two to a byte
	upper, lower [][]uint8
	scales       []float32 // 0: has none
	residuals    []float32 // length of what is missing
	coarse       []float32 // length of what is missing without the lower halves
	slots        int
}

// lanes is how many numbers the kernel takes at once: the first half of them are the lower bits of its bytes, the second the upper.
const lanes = 64

func (v *vectors) has(slot int) bool { return slot < len(v.scales) && v.scales[slot] != 0 }

// grow makes room for n slots.
func (v *vectors) grow(n int) {
	v.slots = n
	if v.dimensions == 0 {
		return
	}
	for len(v.scales) < n {
		v.scales, v.residuals, v.coarse = append(v.scales, 0), append(v.residuals, 0), append(v.coarse, 0)
	}
	for len(v.upper)*perChunk < n {
		v.upper, v.lower = append(v.upper, make([]uint8, perChunk*v.stride)), append(v.lower, make([]uint8, perChunk*v.stride))
	}
}

// from gives the halves of a slot and those after it in its chunk.
func (v *vectors) from(half [][]uint8, slot int) []uint8 {
	return half[slot/perChunk][slot%perChunk*v.stride:]
}

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
		v.dimensions, v.stride = len(vector), (len(vector)+lanes-1)/lanes*lanes/2
		v.grow(v.slots)
	}
	step := largestOf(vector) / norm / math.MaxInt8
	upper, lower := v.from(v.upper, slot)[:v.stride], v.from(v.lower, slot)[:v.stride]
	clear(upper)
	clear(lower)
	missing, coarse := 0.0, 0.0
	for i, x := range vector {
		unit := float64(x) / norm
		n := math.Round(unit / step)
		lifted := uint8(n + lift)
		at, shift := i/lanes*(lanes/2)+i%(lanes/2), i%lanes/(lanes/2)*4
		upper[at] |= lifted / halfScale << shift
		lower[at] |= lifted % halfScale << shift
		missing += square(unit - n*step)
		coarse += square(unit - (float64(lifted/halfScale)*halfScale+middle-lift)*step)
	}
	v.scales[slot], v.residuals[slot], v.coarse[slot] = float32(step), above(math.Sqrt(missing)), above(math.Sqrt(coarse))
}

func square(x float64) float64 { return x * x }

// above is a float32 that is larger: it keeps a bound a bound.
func above(x float64) float32 { return math.Nextafter32(float32(x), math.MaxFloat32) }

func length(vector []float32) float64 {
	sum := 0.0
	for _, x := range vector {
		sum += float64(x) * float64(x)
	}
	return math.Sqrt(sum)
}

func largestOf(vector []float32) float64 {
	top := 0.0
	for _, x := range vector {
		top = max(top, math.Abs(float64(x)))
	}
	return top
}

func (v *vectors) bytes() int {
	return 2*len(v.upper)*perChunk*v.stride + len(v.scales)*vectorOverhead
}

// question is a query's vector, rounded: coarse×fineScale + fine are its numbers, and number × scale is about the vector.
type question struct {
	coarse, fine []int8
	sum          int64 // of the numbers
	coarseSum    int64 // of coarse
	scale        float64
	// size is the length of the rounded vector, and residual that of what is missing; the others are those without fine.
	size, residual             float64
	coarseSize, coarseResidual float64
}

// ask rounds a query of the right length; false when it has another, or no direction.
func (v *vectors) ask(vector []float32) (q question, ok bool) {
	norm := length(vector)
	if v.dimensions == 0 || len(vector) != v.dimensions || norm == 0 || math.IsNaN(norm) || math.IsInf(norm, 0) {
		return q, false
	}
	q.coarse, q.fine = make([]int8, 2*v.stride), make([]int8, 2*v.stride)
	q.scale = largestOf(vector) / norm / queryRange
	for i, x := range vector {
		unit := float64(x) / norm
		n := math.Round(unit / q.scale)
		coarse := math.Floor(n/fineScale + 0.5)
		q.coarse[i], q.fine[i] = int8(coarse), int8(n-coarse*fineScale)
		q.sum, q.coarseSum = q.sum+int64(n), q.coarseSum+int64(coarse)
		q.residual += square(unit - n*q.scale)
		q.size += square(n * q.scale)
		q.coarseResidual += square(unit - coarse*fineScale*q.scale)
		q.coarseSize += square(coarse * fineScale * q.scale)
	}
	for _, x := range []*float64{&q.residual, &q.size, &q.coarseResidual, &q.coarseSize} {
		*x = math.Sqrt(*x)
	}
	return q, true
}

// cosine gives about the cosine with the vector of a slot that has one, and by how much it may be wrong: with q = q̂ + e and v = v̂ + f of length
// 1, |q·v − q̂·v̂| = |e·v + q̂·f| ≤ |e| + |q̂||f| (Cauchy and Schwarz).
func (v *vectors) cosine(q *question, slot int) (cosine, off float64) {
	sum := fineScale*v.dot(q.coarse, slot) + v.dot(q.fine, slot) - lift*q.sum
	return float64(sum) * q.scale * float64(v.scales[slot]), q.residual + q.size*float64(v.residuals[slot]) + floatSlack
}

// about is cosine by the coarse part of the query alone.
func (v *vectors) about(q *question, slot int) (cosine, off float64) {
	sum := v.dot(q.coarse, slot) - lift*q.coarseSum
	return float64(sum) * fineScale * q.scale * float64(v.scales[slot]), q.coarseResidual + q.coarseSize*float64(v.residuals[slot]) + floatSlack
}

// dot multiplies numbers with those of a slot, which are lifted.
func (v *vectors) dot(numbers []int8, slot int) int64 {
	var upper, lower [1]int32
	dots(numbers, v.from(v.upper, slot), upper[:])
	dots(numbers, v.from(v.lower, slot), lower[:])
	return halfScale*int64(upper[0]) + int64(lower[0])
}

// glance is about for len(highs) slots of one chunk by the upper halves alone: no cosine is higher
// than highs. Of slots without a vector they mean nothing.
func (v *vectors) glance(q *question, slot int, highs []float32) {
	var products [perWord]int32
	dots(q.coarse, v.from(v.upper, slot), products[:len(highs)])
	lift := (middle - lift) * float64(q.coarseSum)
	scale := fineScale * q.scale
	scales, coarse := v.scales[slot:slot+len(highs)], v.coarse[slot:slot+len(highs)]
	for i := range highs {
		highs[i] = float32((halfScale*float64(products[i])+lift)*scale*float64(scales[i]) + q.coarseResidual + q.coarseSize*float64(coarse[i]) + floatSlack)
	}
}

// glanceAt is glance for those slots of a word of a bitset that are set in left.
func (v *vectors) glanceAt(q *question, slot int, left uint64, highs []float32) {
	switch n := bits.OnesCount64(left); {
	case n > fewSlots:
		v.glance(q, slot, highs)
	default:
		for ; left != 0; left &= left - 1 {
			if i := bits.TrailingZeros64(left); i < len(highs) {
				v.glance(q, slot+i, highs[i:i+1])
			}
		}
	}
}

// dotsPortable multiplies numbers with each of len(products) vectors of halves, which follow each other.
func dotsPortable(numbers []int8, halves []uint8, products []int32) {
	stride := len(numbers) / 2
	for i := range products {
		row := halves[i*stride : (i+1)*stride]
		var sum int32
		for j, b := range row {
			at := j/(lanes/2)*lanes + j%(lanes/2)
			sum += int32(numbers[at])*int32(b%halfScale) + int32(numbers[at+lanes/2])*int32(b/halfScale)
		}
		products[i] = sum
	}
}
