package index

// bitset is a set of slots. One that is too short holds nothing beyond its end.
type bitset []uint64

func (b bitset) has(i int) bool { return i>>6 < len(b) && b[i>>6]>>(i&63)&1 != 0 }

// perWord is how many slots a word of a set is about.
const perWord = 64

// set adds a slot; the set must be long enough.
func (b bitset) set(i int) { b[i>>6] |= 1 << (i & 63) }

// upTo gives the set with room for n slots.
func (b bitset) upTo(n int) bitset {
	if words := (n + 63) >> 6; words > len(b) {
		b = append(b, make(bitset, words-len(b))...)
	}
	return b
}
