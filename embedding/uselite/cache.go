package uselite

import (
	"container/list"
	"slices"
	"sync"

	"github.com/stele-dev/stele/embedding"
)

// cache keeps the vectors of the texts that were asked for last. Its key is the tokens the model would see, so that it is
// exact, bounded however long the texts are, and hit by texts that differ only in what normalisation takes away.
type cache struct {
	mu      sync.Mutex
	size    int
	entries map[string]*list.Element // of *entry
	order   *list.List               // the last asked for in front
}

type entry struct {
	key    string
	vector embedding.Vector
}

func newCache(size int) *cache {
	return &cache{size: size, entries: map[string]*list.Element{}, order: list.New()}
}

// get gives a copy: what a caller does with a vector must not reach the next one.
func (c *cache) get(key string) (embedding.Vector, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.entries[key]
	if !ok {
		return nil, false
	}
	c.order.MoveToFront(e)
	return slices.Clone(e.Value.(*entry).vector), true //nolint:forcetypeassert // put stores nothing else
}

func (c *cache) put(key string, vector embedding.Vector) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.entries[key]; ok || c.size < 1 { // two callers may have encoded it at the same time
		return
	}
	for len(c.entries) >= c.size {
		oldest := c.order.Back()
		delete(c.entries, c.order.Remove(oldest).(*entry).key) //nolint:forcetypeassert // put stores nothing else
	}
	c.entries[key] = c.order.PushFront(&entry{key: key, vector: slices.Clone(vector)})
}

// key packs tokens; ids are below 2^16.
func key(tokens []int) string {
	b := make([]byte, 0, 2*len(tokens))
	for _, t := range tokens {
		b = append(b, byte(t), byte(t>>8)) //nolint:gosec // the bits as they are
	}
	return string(b)
}
