package auth

import "strconv"

// Tracked tells how many of n addresses that failed once are kept.
func Tracked(n int) int {
	b := newBuckets(failureRate, 10)
	for i := range n {
		b.take(strconv.Itoa(i))
	}
	return len(b.all)
}
