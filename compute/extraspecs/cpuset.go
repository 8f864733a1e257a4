package extraspecs

import (
	"cmp"
	"iter"
	"slices"
	"strconv"
	"strings"
)

// A CPUSet is a set of CPU numbers: spans in order that do not touch. Masks may name
// more CPUs than anybody could list. The nil set is empty.
type CPUSet []span

// Len is how many CPUs a set has.
func (s CPUSet) Len() (n int64) {
	for _, one := range s {
		n += max(0, one.last-one.first+1)
	}
	return n
}

// Numbers returns the numbers in a set, in order.
func (s CPUSet) Numbers() iter.Seq[int64] {
	return func(yield func(int64) bool) {
		for _, one := range s {
			for n := one.first; n <= one.last; n++ {
				if !yield(n) {
					return
				}
			}
		}
	}
}

// String returns a set as extra specs have it: "0-3,6", "" for none.
func (s CPUSet) String() string {
	words := make([]string, len(s))
	for i, one := range s {
		words[i] = strconv.FormatInt(one.first, 10)
		if one.last > one.first {
			words[i] += "-" + strconv.FormatInt(one.last, 10)
		}
	}
	return strings.Join(words, ",")
}

// firstCPUs are the CPUs of a guest with so many.
func firstCPUs(n int64) CPUSet {
	if n <= 0 {
		return nil
	}
	return CPUSet{{0, n - 1}}
}

// A span is a range of numbers, both ends included; it is empty when last is less than first.
type span struct{ first, last int64 }

// parseCPUs reads "1-4,^3,6". The fault has Nova's text.
func parseCPUs(text string) (CPUSet, error) {
	var in, out CPUSet
	for rule := range strings.SplitSeq(text, ",") {
		rule = strings.TrimFunc(rule, space)
		if rule == "" {
			continue
		}
		number, excluded := strings.CutPrefix(rule, "^")
		low, high, ranged := strings.Cut(number, "-")
		if !ranged {
			high = low
		}
		first, ok := cpuNumber(low)
		last, also := cpuNumber(high)
		switch {
		case ranged && (!ok || !also || first > last):
			return nil, conflict("Invalid range expression %s", repr(rule))
		case !ok && excluded:
			return nil, conflict("Invalid exclusion expression %s", repr(rule))
		case !ok:
			return nil, conflict("Invalid inclusion expression %s", repr(rule))
		case excluded:
			out = append(out, span{first, last})
		default:
			in = append(in, span{first, last})
		}
	}
	return in.merged().without(out.merged()), nil
}

// maxCPU bounds the numbers of CPUs; beyond any flavor's.
const maxCPU = 1 << 40

func cpuNumber(s string) (int64, bool) {
	n, ok := Integer(s)
	if !ok || !n.IsInt64() || n.Int64() > maxCPU || n.Int64() < -maxCPU {
		return 0, false
	}
	return n.Int64(), true
}

// merged sorts spans and joins those that overlap.
func (s CPUSet) merged() CPUSet {
	slices.SortFunc(s, func(a, b span) int { return cmp.Compare(a.first, b.first) })
	var all CPUSet
	for _, one := range s {
		if n := len(all); n > 0 && one.first <= all[n-1].last+1 {
			all[n-1].last = max(all[n-1].last, one.last)
		} else {
			all = append(all, one)
		}
	}
	return all
}

// and returns what two sets have in common.
func (s CPUSet) and(other CPUSet) CPUSet { return s.without(s.without(other)) }

// without takes others, which must be merged, out of a set.
func (s CPUSet) without(others CPUSet) CPUSet {
	var remaining CPUSet
	for _, one := range s {
		for _, o := range others {
			if o.last < one.first || o.first > one.last {
				continue
			}
			if o.first > one.first {
				remaining = append(remaining, span{one.first, o.first - 1})
			}
			one.first = o.last + 1
		}
		if one.first <= one.last {
			remaining = append(remaining, one)
		}
	}
	return remaining
}

// within reports whether all of a set is in another one, covers whether the other one
// is in it.
func (s CPUSet) within(other CPUSet) bool { return s.without(other).Len() == 0 }

func (s CPUSet) covers(other CPUSet) bool { return other.within(s) }

// repr is a text as Python shows it.
func repr(s string) string {
	quoted := strconv.Quote(s)
	inner := strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		return `"` + inner + `"`
	}
	return "'" + strings.ReplaceAll(inner, "'", `\'`) + "'"
}
