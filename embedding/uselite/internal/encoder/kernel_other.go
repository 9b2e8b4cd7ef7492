//go:build !amd64

package encoder

// fastest gives the portable code: there is no kernel for this processor.
func fastest() kernel { return portable }
