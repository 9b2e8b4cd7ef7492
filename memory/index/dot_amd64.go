package index

import "golang.org/x/sys/cpu"

// dots multiplies numbers, a multiple of lanes, with each of len(products) vectors, which follow each other. GODEBUG=cpu.avx2=off takes
// the fast form away.
var dots = fastest()

func fastest() func([]int16, []int8, []int32) {
	if cpu.X86.HasAVX2 {
		return dotsLanes
	}
	return dotsPortable
}

// dotsAVX2 multiplies n numbers, a multiple of lanes, with vectors; both counts are at least one.
//
//go:noescape
func dotsAVX2(n, vectors int, numbers *int16, rows *int8, products *int32)

func dotsLanes(numbers []int16, vectors []int8, products []int32) {
	if n := len(numbers); n > 0 && n%lanes == 0 && len(products) > 0 && len(products)*n <= len(vectors) {
		dotsAVX2(n, len(products), &numbers[0], &vectors[0], &products[0])
		return
	}
	dotsPortable(numbers, vectors, products)
}
