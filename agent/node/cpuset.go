package node

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// maxCPU is the largest number of a CPU: more than Linux can have.
const maxCPU = 1<<16 - 1

// A cpuSet has the numbers of CPUs.
type cpuSet map[int]bool

// sorted lists the numbers in order.
func (c cpuSet) sorted() []int {
	all := make([]int, 0, len(c))
	for n := range c {
		all = append(all, n)
	}
	slices.Sort(all)
	return all
}

// String writes the set as options have it: "0-3,7".
func (c cpuSet) String() string {
	var parts []string
	all := c.sorted()
	for i := 0; i < len(all); {
		j := i
		for j+1 < len(all) && all[j+1] == all[j]+1 {
			j++
		}
		part := strconv.Itoa(all[i])
		if j > i {
			part += "-" + strconv.Itoa(all[j])
		}
		parts = append(parts, part)
		i = j + 1
	}
	return strings.Join(parts, ",")
}

// missing are the numbers of c that are not in other.
func (c cpuSet) missing(other cpuSet) cpuSet {
	missing := cpuSet{}
	for n := range c {
		if !other[n] {
			missing[n] = true
		}
	}
	return missing
}

// A ruleError is a part of a set of CPUs that cannot be meant.
type ruleError struct{ rule, reason string }

func (e *ruleError) Error() string { return fmt.Sprintf("%q: %s", e.rule, e.reason) }

// parseCPUs reads a set of CPUs: numbers and ranges, separated by commas, and ^ before excluded
// ones, in any order. The error joins a ruleError for each invalid rule.
func parseCPUs(text string) (cpuSet, error) {
	added, out := make(changes, maxCPU+2), make(changes, maxCPU+2)
	var errs []error
	for rule := range strings.SplitSeq(text, ",") {
		rule = strings.TrimSpace(rule)
		if rule == "" {
			continue
		}
		removed, numbers := added, rule
		if rest, ok := strings.CutPrefix(rule, "^"); ok {
			removed, numbers = out, rest
		}
		first, last, err := parseRange(numbers)
		if err != nil {
			errs = append(errs, &ruleError{rule, err.Error()})
			continue
		}
		removed[first]++
		removed[last+1]--
	}
	return added.set().missing(out.set()), errors.Join(errs...)
}

// changes say at which numbers how many more ranges are open than before.
type changes []int

func (c changes) set() cpuSet {
	set := cpuSet{}
	open := 0
	for n, change := range c {
		if open += change; open > 0 {
			set[n] = true
		}
	}
	return set
}

func parseRange(text string) (first, last int, err error) {
	from, dst, isRange := strings.Cut(text, "-")
	if first, err = parseCPU(from); err != nil || !isRange {
		return first, first, err
	}
	if last, err = parseCPU(dst); err == nil && first > last {
		err = errors.New("want the lower number first")
	}
	return first, last, err
}

// cpuNumber is what Python takes for a number that is not negative.
var cpuNumber = regexp.MustCompile(`^\+?[0-9]+(_[0-9]+)*$`)

func parseCPU(text string) (int, error) {
	text = strings.TrimSpace(text)
	if !cpuNumber.MatchString(text) {
		return 0, errors.New("want a number or a range, such as 4 or 4-7, or either after ^")
	}
	n, err := strconv.Atoi(strings.ReplaceAll(text, "_", ""))
	if err != nil || n > maxCPU {
		return 0, fmt.Errorf("want numbers of CPUs up to %d", maxCPU)
	}
	return n, nil
}

// sets are the sets of CPUs that the options name; nil for one that is not set.
type sets struct{ shared, dedicated cpuSet }

// understand reads the sets of CPUs by Nova's rules of what goes with what.
func (r *resources) understand(rd *reader) {
	pinned := rd.cpus(groupDefault, "vcpu_pin_set", r.pinned)
	r.sets = sets{
		rd.cpus(groupCompute, "cpu_shared_set", r.shared), rd.cpus(groupCompute, "cpu_dedicated_set", r.dedicated),
	}
	if r.pinned != "" {
		r.understandPinned(rd, pinned)
		return
	}
	if union := r.sets.dedicated.common(r.sets.shared); len(union) > 0 {
		rd.wrong(groupCompute, "cpu_dedicated_set", r.dedicated,
			"%s is in cpu_shared_set too; a CPU is for one of the two", union)
	}
	if r.reservedCPUs > 0 && (r.shared != "" || r.dedicated != "") {
		rd.wrong(groupDefault, "reserved_host_cpus", strconv.Itoa(r.reservedCPUs),
			"leave it out with [compute] cpu_shared_set or cpu_dedicated_set: what is in neither set is reserved")
	}
}

func (r *resources) understandPinned(rd *reader, pinned cpuSet) {
	switch {
	case r.dedicated != "":
		rd.wrong(groupDefault, "vcpu_pin_set", r.pinned,
			"leave it out: it is outdated and excludes [compute] cpu_dedicated_set")
	case r.shared != "":
		rd.warn("[DEFAULT] vcpu_pin_set is outdated and overrules [compute] cpu_shared_set, which does nothing: leave " +
			"vcpu_pin_set out")
	default:
		rd.warn("[DEFAULT] vcpu_pin_set is outdated: use [compute] cpu_shared_set and cpu_dedicated_set")
	}
	r.sets.shared = pinned
}

// common are the numbers in both sets.
func (c cpuSet) common(other cpuSet) cpuSet { return c.missing(c.missing(other)) }

// cpus reads an option with a set of CPUs.
func (rd *reader) cpus(group, option, text string) cpuSet {
	if text == "" {
		return nil
	}
	set, err := parseCPUs(text)
	for _, e := range parts(err) {
		if wrong, ok := errors.AsType[*ruleError](e); ok {
			rd.wrong(group, option, wrong.rule, "%s", wrong.reason)
		}
	}
	if err == nil && len(set) == 0 {
		rd.wrong(group, option, text, "no CPU is left in it")
	}
	return set
}

// parts takes a joined error apart.
func parts(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return nil
}

// split says how many of the CPUs that are online are VCPU and PCPU.
func (r *resources) split(online cpuSet) (vcpu, pcpu int, err error) {
	for _, s := range []struct {
		option string
		set    cpuSet
	}{{r.sharedOption(), r.sets.shared}, {"[compute] cpu_dedicated_set", r.sets.dedicated}} {
		if offline := s.set.missing(online); len(offline) > 0 {
			err = errors.Join(err, fmt.Errorf("%s: %s: not online are %s; online are %s", s.option, s.set, offline, online))
		}
	}
	if r.sets.shared == nil && r.sets.dedicated == nil {
		return len(online), 0, err
	}
	return len(r.sets.shared), len(r.sets.dedicated), err
}

func (r *resources) sharedOption() string {
	if r.pinned != "" {
		return "[DEFAULT] vcpu_pin_set"
	}
	return "[compute] cpu_shared_set"
}
