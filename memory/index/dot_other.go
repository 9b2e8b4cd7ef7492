//go:build !amd64

package index

// dot multiplies two vectors of one length.
var dot = dotPortable
