package memory

// IndexOf is what a memory is found by, for a Store that builds its index anew. It reads title, content, why, tags, paths
// and the names of the elements.
func IndexOf(m *Memory) Index { return indexOf(m) }
