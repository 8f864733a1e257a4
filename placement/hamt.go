package placement

import (
	"hash/maphash"
	"math/bits"
)

// A hamt is an immutable map: set and remove return a new map that shares all
// but one path with the old one, so that pictures of the world can follow each
// other cheaply. The zero value is an empty map.
//
// It is a hash array mapped trie with 32 children a node. Keys whose hashes
// agree in all 60 bits that are used share a leaf.
type hamt[K comparable, V any] struct {
	root *hamtNode[K, V]
	size int
}

type hamtNode[K comparable, V any] struct {
	// bitmap has a bit for each of the 32 places that is in use; children
	// holds those places in order. Leaves have entries and no children.
	bitmap   uint32
	children []*hamtNode[K, V]
	entries  []hamtEntry[K, V]
}

type hamtEntry[K comparable, V any] struct {
	hash uint64
	key  K
	val  V
}

const (
	hamtBits  = 5
	hamtDepth = 12 // 60 bits of hash
)

var hamtSeed = maphash.MakeSeed()

// get returns the value of key, or the zero value and false.
func (m hamt[K, V]) get(key K) (V, bool) {
	h := maphash.Comparable(hamtSeed, key)
	n := m.root
	for shift := uint(0); n != nil; shift += hamtBits {
		if n.children == nil {
			for i := range n.entries {
				if n.entries[i].key == key {
					return n.entries[i].val, true
				}
			}
			break
		}
		bit := uint32(1) << (h >> shift & 31)
		if n.bitmap&bit == 0 {
			break
		}
		n = n.children[bits.OnesCount32(n.bitmap&(bit-1))]
	}
	var zero V
	return zero, false
}

// set returns a map in which key has val.
func (m hamt[K, V]) set(key K, val V) hamt[K, V] {
	e := hamtEntry[K, V]{maphash.Comparable(hamtSeed, key), key, val}
	root, added := m.root.set(e, 0)
	if added {
		m.size++
	}
	m.root = root
	return m
}

// remove returns a map without key.
func (m hamt[K, V]) remove(key K) hamt[K, V] {
	root, removed := m.root.remove(maphash.Comparable(hamtSeed, key), key, 0)
	if removed {
		m.size--
		m.root = root
	}
	return m
}

func (n *hamtNode[K, V]) set(e hamtEntry[K, V], depth uint) (*hamtNode[K, V], bool) {
	if n == nil {
		return &hamtNode[K, V]{entries: []hamtEntry[K, V]{e}}, true
	}
	if n.children == nil {
		return n.setLeaf(e, depth)
	}
	bit := uint32(1) << (e.hash >> (depth * hamtBits) & 31)
	at := bits.OnesCount32(n.bitmap & (bit - 1))
	next := &hamtNode[K, V]{bitmap: n.bitmap | bit}
	if n.bitmap&bit == 0 {
		child, _ := (*hamtNode[K, V])(nil).set(e, depth+1)
		next.children = insertAt(n.children, at, child)
		return next, true
	}
	child, added := n.children[at].set(e, depth+1)
	next.children = append([]*hamtNode[K, V](nil), n.children...)
	next.children[at] = child
	return next, added
}

// setLeaf sets e in a leaf, which splits when another hash is in it.
func (n *hamtNode[K, V]) setLeaf(e hamtEntry[K, V], depth uint) (*hamtNode[K, V], bool) {
	for i := range n.entries {
		if n.entries[i].key == e.key {
			next := &hamtNode[K, V]{entries: append([]hamtEntry[K, V](nil), n.entries...)}
			next.entries[i] = e
			return next, false
		}
	}
	if depth == hamtDepth || n.entries[0].hash == e.hash {
		return &hamtNode[K, V]{entries: insertAt(n.entries, len(n.entries), e)}, true
	}
	bit := uint32(1) << (n.entries[0].hash >> (depth * hamtBits) & 31)
	split := &hamtNode[K, V]{bitmap: bit, children: []*hamtNode[K, V]{n}}
	return split.set(e, depth)
}

func (n *hamtNode[K, V]) remove(h uint64, key K, depth uint) (*hamtNode[K, V], bool) {
	if n == nil {
		return nil, false
	}
	if n.children == nil {
		return n.removeLeaf(key)
	}
	bit := uint32(1) << (h >> (depth * hamtBits) & 31)
	if n.bitmap&bit == 0 {
		return n, false
	}
	at := bits.OnesCount32(n.bitmap & (bit - 1))
	child, removed := n.children[at].remove(h, key, depth+1)
	if !removed {
		return n, false
	}
	if child == nil && len(n.children) == 1 {
		return nil, true
	}
	next := &hamtNode[K, V]{bitmap: n.bitmap}
	if child == nil {
		next.bitmap &^= bit
		next.children = removeAt(n.children, at)
		return next, true
	}
	next.children = append([]*hamtNode[K, V](nil), n.children...)
	next.children[at] = child
	return next, true
}

func (n *hamtNode[K, V]) removeLeaf(key K) (*hamtNode[K, V], bool) {
	for i := range n.entries {
		if n.entries[i].key != key {
			continue
		}
		if len(n.entries) == 1 {
			return nil, true
		}
		return &hamtNode[K, V]{entries: removeAt(n.entries, i)}, true
	}
	return n, false
}

// insertAt returns a copy of s with v at index i.
func insertAt[T any](s []T, i int, v T) []T {
	out := make([]T, 0, len(s)+1)
	out = append(out, s[:i]...)
	out = append(out, v)
	return append(out, s[i:]...)
}

// removeAt returns a copy of s without index i.
func removeAt[T any](s []T, i int) []T {
	out := make([]T, 0, len(s)-1)
	out = append(out, s[:i]...)
	return append(out, s[i+1:]...)
}
