package index

import "golang.org/x/sys/cpu"

// dot multiplies two vectors of one length, a multiple of lanes. GODEBUG=cpu.avx2=off takes the fast form away.
var dot = fastest()

func fastest() func([]int16, []int8) int32 {
	if cpu.X86.HasAVX2 {
		return dotLanes
	}
	return dotPortable
}

// dotAVX2 multiplies n numbers, a multiple of lanes and at least one.
//
//go:noescape
func dotAVX2(n int, a *int16, b *int8) int32

func dotLanes(a []int16, b []int8) int32 {
	if n := len(a); n > 0 && n%lanes == 0 && n <= len(b) {
		return dotAVX2(n, &a[0], &b[0])
	}
	return dotPortable(a, b)
}
