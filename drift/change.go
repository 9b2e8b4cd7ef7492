package drift

// Gone gives the findings of an earlier report that r neither finds nor waives: what was mended between the two. It is the other
// half of Compare.
func (r *Report) Gone(earlier *Report) []Finding {
	still := map[string]bool{}
	for _, f := range r.Findings {
		still[f.Fingerprint] = true
	}
	for _, f := range r.Waived {
		still[f.Fingerprint] = true
	}
	gone := []Finding{}
	for _, f := range earlier.Findings {
		if !still[f.Fingerprint] {
			gone = append(gone, f)
		}
	}
	return gone
}
