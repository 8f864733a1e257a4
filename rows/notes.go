package rows

import (
	"maps"
	"slices"
)

// Notes say what changes concern, by keys: texts that a service chooses for its rows and for what
// is made of them. The zero value says nothing.
type Notes struct {
	// All says that the changes may concern anything.
	All  bool
	keys map[string]struct{}
}

// Add adds keys; the empty text is none.
func (n *Notes) Add(keys ...string) {
	for _, k := range keys {
		if k == "" {
			continue
		}
		if n.keys == nil {
			n.keys = make(map[string]struct{}, len(keys))
		}
		n.keys[k] = struct{}{}
	}
}

// Merge adds what other notes say.
func (n *Notes) Merge(other Notes) {
	n.All = n.All || other.All
	for k := range other.keys {
		n.Add(k)
	}
}

// Has reports whether the changes may concern a key.
func (n Notes) Has(key string) bool {
	_, ok := n.keys[key]
	return ok || n.All
}

// HasAny reports whether the changes may concern one of some keys.
func (n Notes) HasAny(keys map[string]struct{}) bool {
	for k := range n.keys {
		if _, ok := keys[k]; ok {
			return true
		}
	}
	return n.All
}

// Empty reports whether the changes concern nothing.
func (n Notes) Empty() bool { return !n.All && len(n.keys) == 0 }

// Keys returns the keys in order.
func (n Notes) Keys() []string { return slices.Sorted(maps.Keys(n.keys)) }
