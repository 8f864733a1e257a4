package keystone

import (
	"fmt"
	"testing"
	"time"
)

func TestCacheIsBounded(t *testing.T) {
	c := newCache[int](3)
	later := time.Now().Add(time.Hour)
	keyAt := func(i int) key { return newKey(fmt.Sprint(i), false) }
	for i := range 3 {
		c.put(keyAt(i), i, later)
	}
	c.get(keyAt(0)) // was used last
	c.put(keyAt(3), 3, later)
	c.put(keyAt(3), 33, later)
	for i, want := range map[int]bool{0: true, 1: false, 2: true, 3: true} {
		if v, got := c.get(keyAt(i)); got != want || i == 3 && v != 33 {
			t.Errorf("get(%d) = %d, %v; want it to be there: %v", i, v, got, want)
		}
	}
	if len(c.entries) != 3 || c.order.Len() != 3 {
		t.Errorf("%d entries in the map and %d in the list, want 3", len(c.entries), c.order.Len())
	}
	c.put(keyAt(4), 4, time.Now())
	if _, ok := c.get(keyAt(4)); ok || len(c.entries) != 2 {
		t.Errorf("an entry whose time is over is there, among %d", len(c.entries))
	}
}
