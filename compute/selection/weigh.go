package selection

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// order returns the hosts that will do for the current server, the best first. Why the
// others will not is noted.
func (c *Chooser) order() []*state {
	c.filtered, c.tight, c.refused = nil, nil, nil
	remaining := make([]*state, 0, len(c.hosts))
	for _, h := range c.hosts {
		if ok, why := c.passes(h); ok {
			remaining = append(remaining, h)
		} else {
			c.filtered = append(c.filtered, "host "+h.Name+": "+why)
		}
	}
	c.weigh(remaining)
	slices.SortStableFunc(remaining, func(a, b *state) int {
		switch d := b.weight - a.weight; {
		case d > 0:
			return 1
		case d < 0:
			return -1
		}
		return 0
	})
	c.shuffle(remaining)
	return remaining
}

// shuffle draws the first host among the best, as the operator wants it.
func (c *Chooser) shuffle(hosts []*state) {
	if len(hosts) < 2 {
		return
	}
	if c.settings.Shuffle {
		same := 1
		for same < len(hosts) && hosts[same].weight == hosts[0].weight {
			same++
		}
		c.draw.Shuffle(same, func(i, j int) { hosts[i], hosts[j] = hosts[j], hosts[i] })
	}
	if subset := min(c.settings.Subset, len(hosts)); subset > 1 {
		i := c.draw.IntN(subset)
		first := hosts[i]
		copy(hosts[1:i+1], hosts[:i])
		hosts[0] = first
	}
}

// A weigher gives hosts a number, which is brought between 0 and 1 and multiplied.
type weigher struct {
	option     string // that metadata of aggregates can have another value for
	multiplier float64
	less       bool                 // than the other hosts is better
	bounded    bool                 // numbers below 0 are 0, which is the least
	of         func(*state) float64 // nil: the same for all
}

func (c *Chooser) weighers() []weigher {
	s := c.settings
	free := func(class string) func(*state) float64 {
		return func(h *state) float64 { return float64(c.offer.free(h.Provider, class)) }
	}
	members := func(policy string, sign int) func(*state) float64 {
		if c.wanted.Group == nil || c.wanted.Group.Policy != policy {
			return nil
		}
		return func(h *state) float64 { return float64(sign * shared(h.Servers, c.wanted.Group.Members)) }
	}
	return []weigher{
		{"ram_weight_multiplier", s.RAM, false, true, free("MEMORY_MB")},
		{"cpu_weight_multiplier", s.CPU, false, true, free("VCPU")},
		{"disk_weight_multiplier", s.Disk, false, true, free("DISK_GB")},
		{"io_ops_weight_multiplier", s.IOOps, false, true, func(h *state) float64 { return float64(h.Busy) }},
		{"build_failure_weight_multiplier", s.BuildFailure, true, false, func(h *state) float64 { return float64(h.Failed) }},
		{"soft_affinity_weight_multiplier", s.SoftAffinity, false, false, members(SoftAffinity, 1)},
		{"soft_anti_affinity_weight_multiplier", s.SoftAntiAffinity, false, false, members(SoftAntiAffinity, -1)},
	}
}

// weigh sets the weights of hosts.
func (c *Chooser) weigh(hosts []*state) {
	c.offer.mu.Lock()
	defer c.offer.mu.Unlock()
	for _, h := range hosts {
		h.weight = 0
	}
	raw := make([]float64, len(hosts))
	for _, w := range c.weighers() {
		if w.of == nil {
			continue
		}
		for i, h := range hosts {
			raw[i] = w.of(h)
		}
		w.normalize(raw)
		for i, h := range hosts {
			m := h.multiplier(w.option, w.multiplier)
			if w.less {
				m = -m
			}
			h.weight += m * raw[i]
		}
	}
}

// normalize brings numbers between 0 and 1. Where all are the same, or none is above
// the least that there can be, they are 0.
func (w weigher) normalize(numbers []float64) {
	if len(numbers) == 0 {
		return
	}
	low := slices.Min(numbers)
	if w.bounded {
		low = 0
	}
	high := max(low, slices.Max(numbers))
	for i, n := range numbers {
		if high == low {
			numbers[i] = 0
		} else {
			numbers[i] = (max(n, low) - low) / (high - low)
		}
	}
}

// multiplier returns the least of the values that the host's aggregates have for an
// option, the usual one when there is none, or one that is no number.
func (h *state) multiplier(option string, usual float64) float64 {
	found := false
	least := usual
	for _, m := range h.Metadata {
		text, ok := m[option]
		if !ok {
			continue
		}
		n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		if err != nil || math.IsNaN(n) {
			return usual
		}
		if !found || n < least {
			found, least = true, n
		}
	}
	return least
}
