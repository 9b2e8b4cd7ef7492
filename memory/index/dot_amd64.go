package index

import "golang.org/x/sys/cpu"

// dots multiplies numbers, a multiple of lanes, with each of len(products) vectors of halves, which follow each other. GODEBUG=cpu.avx2=off
// takes the fast form away.
var dots = fastest()

func fastest() func([]int8, []uint8, []int32) {
	if cpu.X86.HasAVX2 {
		return dotsLanes
	}
	return dotsPortable
}

// dotsAVX2 multiplies blocks × lanes numbers with vectors; both counts are at least one.
//
//go:noescape
func dotsAVX2(blocks, vectors int, numbers *int8, halves *uint8, products *int32)

func dotsLanes(numbers []int8, halves []uint8, products []int32) {
	if n := len(numbers); n > 0 && n%lanes == 0 && len(products) > 0 && len(products)*n/2 <= len(halves) {
		dotsAVX2(n/lanes, len(products), &numbers[0], &halves[0], &products[0])
		return
	}
	dotsPortable(numbers, halves, products)
}
