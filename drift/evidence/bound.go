package evidence

// Bound are the patterns of the files that a text is about: those that TreeHash takes.
func (w Watched) Bound() []string { return append(exactly(w.Files), w.Patterns...) }
