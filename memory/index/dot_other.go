//go:build !amd64

package index

// dots multiplies numbers with each of len(products) vectors, which follow each other.
var dots = dotsPortable
