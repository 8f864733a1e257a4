package keystone

import (
	"container/list"
	"crypto/sha256"
	"sync"
	"time"
)

// A key identifies a question about a token; the token cannot be derived from it.
type key struct {
	sum          [sha256.Size]byte
	allowExpired bool
}

// newKey returns the key of a token. Whether expired tokens may pass is a part of it: Keystone's
// answer about the same token may differ.
func newKey(raw string, allowExpired bool) key {
	var room [512]byte // for any usual token
	return key{sha256.Sum256(append(room[:0], raw...)), allowExpired}
}

// token returns the key of the token itself, whatever the question.
func (k key) token() key { return key{sum: k.sum} }

// A cache contains a bounded number of answers, each until its expiry. The least recently used one
// is evicted.
type cache[V any] struct {
	size int

	mu      sync.Mutex // guards what follows
	entries map[key]*list.Element
	order   *list.List // of entry[V]; the most recently used first
}

type entry[V any] struct {
	key   key
	value V
	// until is when the entry stops being an answer. It is removed when it is next requested or
	// evicted.
	until time.Time
}

// newCache returns an empty cache of at most size entries; size is at least 1.
func newCache[V any](size int) *cache[V] {
	return &cache[V]{size: size, entries: make(map[key]*list.Element), order: list.New()}
}

// get returns the value of a key, unless it has expired, and makes it the most recently used.
func (c *cache[V]) get(k key) (v V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	el, ok := c.entries[k]
	if !ok {
		return v, false
	}
	e := el.Value.(entry[V])
	if !time.Now().Before(e.until) {
		c.remove(el)
		return v, false
	}
	c.order.MoveToFront(el)
	return e.value, true
}

// put stores a value in place of the one that the key has, and evicts others when there is no room.
func (c *cache[V]) put(k key, v V, until time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if el, ok := c.entries[k]; ok {
		c.remove(el)
	}
	for len(c.entries) >= c.size {
		c.remove(c.order.Back())
	}
	c.entries[k] = c.order.PushFront(entry[V]{k, v, until})
}

// remove removes an entry; the caller has locked mu.
func (c *cache[V]) remove(el *list.Element) {
	delete(c.entries, c.order.Remove(el).(entry[V]).key)
}
