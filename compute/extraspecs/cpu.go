package extraspecs

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/berthcloud/berth/fault"
)

// The policies for CPUs of the guest.
const (
	Shared    = "shared"
	Dedicated = "dedicated"
	Mixed     = "mixed"
)

// A CPU says how a server's CPUs are provided.
type CPU struct {
	Policy string // Shared, Dedicated, Mixed; "" for the usual, which is Shared
	// Explicit says that the policy follows from resources:VCPU or resources:PCPU,
	// which say themselves how many.
	Explicit bool
	// Pinned is how many CPUs of a Mixed server are dedicated ones.
	Pinned int64
	// Threads is "prefer", "isolate" or "require", "" for none; ThreadsTrait says
	// that it follows from a trait.
	Threads      string
	ThreadsTrait bool
	// Isolate requires one more CPU for the emulator.
	Isolate bool
}

// CPUs returns what a flavor and an image say of CPUs together, or a fault (Invalid)
// with Nova's text when they say what cannot be.
func CPUs(f Flavor, i Image) (CPU, error) {
	c, _, err := cpusOf(f, i)
	return c, err
}

// cpusOf is CPUs, with the CPUs that a mask makes dedicated ones.
func cpusOf(f Flavor, i Image) (c CPU, pinned CPUSet, err error) {
	if c.Policy, err = cpuPolicy(f, i); err != nil {
		return c, nil, err
	}
	if c.Threads, err = threadPolicy(f, i); err != nil {
		return c, nil, err
	}
	realtime, err := realtimeCPUs(f, i)
	if err != nil {
		return c, nil, err
	}
	dedicated, err := dedicatedCPUs(f)
	if err != nil {
		return c, nil, err
	}
	if c.Isolate, err = isolatesEmulator(f); err != nil {
		return c, nil, err
	}
	if err := c.explicit(f); err != nil {
		return c, nil, err
	}
	if err := c.hyperthreading(f, i); err != nil {
		return c, nil, err
	}
	if pinned = dedicated; realtime.Len() > dedicated.Len() {
		pinned = realtime
	}
	c.Pinned = pinned.Len()
	return c, pinned, c.fits(len(dedicated) > 0, len(realtime) > 0)
}

func conflict(format string, args ...any) error { return fault.New(fault.Invalid, "", format, args...) }

// cpuPolicy is the policy of the flavor, or the image's where that is allowed.
func cpuPolicy(f Flavor, i Image) (string, error) {
	ours, theirs := f.Specs["hw:cpu_policy"], i.Property("hw_cpu_policy")
	if err := among("CPU policy", ours, theirs, cpuPolicies); err != nil {
		return "", err
	}
	if ours == Mixed && theirs == Dedicated || ours == Shared && (theirs == Mixed || theirs == Dedicated) {
		return "", conflict("Image property 'hw_cpu_policy' is not permitted to override CPU pinning policy set " +
			"against the flavor")
	}
	if ours == "" {
		return theirs, nil
	}
	return ours, nil
}

func threadPolicy(f Flavor, i Image) (string, error) {
	ours, theirs := f.Specs["hw:cpu_thread_policy"], i.Property("hw_cpu_thread_policy")
	if err := among("CPU thread policy", ours, theirs, threadPolicies); err != nil {
		return "", err
	}
	switch {
	case (ours == "" || ours == "prefer") && theirs != "":
		return theirs, nil
	case theirs != "" && theirs != ours:
		return "", conflict("Image property 'hw_cpu_thread_policy' is not permitted to override CPU thread pinning policy " +
			"set against the flavor")
	}
	return ours, nil
}

// among refuses policies of the flavor and the image that are none of the words.
func among(what, ours, theirs string, words []string) error {
	for _, requested := range []struct{ source, policy string }{
		{"flavor extra specs", ours}, {"image properties", theirs},
	} {
		if requested.policy != "" && !slices.Contains(words, requested.policy) {
			return conflict("%s requested from '%s' is invalid, given: '%s', available: '%s'.", what, requested.source,
				requested.policy, tuple(words))
		}
	}
	return nil
}

// tuple is words as Python shows a tuple of them.
func tuple(words []string) string { return "('" + strings.Join(words, "', '") + "')" }

// isolatesEmulator reports whether the emulator gets a CPU of its own.
func isolatesEmulator(f Flavor) (bool, error) {
	policy := f.Specs["hw:emulator_threads_policy"]
	if policy != "" && !slices.Contains(emulatorPolicies, policy) {
		return false, conflict("CPU emulator threads option requested is invalid, given: '%s', available: '%s'.", policy,
			tuple(emulatorPolicies))
	}
	return policy == "isolate", nil
}

// realtimeCPUs are the real-time CPUs, nil for none.
func realtimeCPUs(f Flavor, i Image) (CPUSet, error) {
	if on, _ := Bool(f.Specs["hw:cpu_realtime"]); !on {
		return nil, nil
	}
	mask := i.Property("hw_cpu_realtime_mask")
	if mask == "" {
		mask = f.Specs["hw:cpu_realtime_mask"]
	}
	all := firstCPUs(f.VCPUs)
	set := all
	if mask != "" {
		var err error
		if set, err = masked(mask, f.VCPUs); err != nil {
			return nil, err
		}
	}
	if _, err := isolatesEmulator(f); err != nil {
		return nil, err
	}
	if n := set.Len(); n == 0 || set.within(all) && n == all.Len() && f.Specs["hw:emulator_threads_policy"] == "" {
		return nil, conflict("Use of realtime CPUs requires either one or more non-realtime CPU(s) or offloaded " +
			"emulator threads.")
	}
	if !set.within(all) {
		return nil, conflict("Realtime policy vCPU(s) mask is configured with RT vCPUs that are not a subset of the " +
			"vCPUs in the flavor. See hw:cpu_realtime_mask or hw_cpu_realtime_mask")
	}
	return set, nil
}

// dedicatedCPUs are those that a mask makes dedicated ones, nil without a mask.
func dedicatedCPUs(f Flavor) (CPUSet, error) {
	mask := f.Specs["hw:cpu_dedicated_mask"]
	if mask == "" {
		return nil, nil
	}
	set, err := masked(mask, f.VCPUs)
	if err != nil {
		return nil, err
	}
	all := firstCPUs(f.VCPUs)
	if set.Len() == 0 || set.covers(all) {
		return nil, conflict("Mixed instance must have at least 1 pinned vCPU and 1 unpinned vCPU. See " +
			"'hw:cpu_dedicated_mask'.")
	}
	if !set.within(all) {
		return nil, conflict(`Mixed instance dedicated vCPU(s) mask is not a subset of vCPUs in the flavor. See ` +
			`"hw:cpu_dedicated_mask"`)
	}
	return set, nil
}

// explicit derives the policy from resources:VCPU or resources:PCPU.
func (c *CPU) explicit(f Flavor) error {
	vcpus, pcpus := f.sum("VCPU"), f.sum("PCPU")
	switch {
	case c.Policy != "" && (vcpus != 0 || pcpus != 0):
		return conflict("It is not possible to use the 'resources:VCPU' or 'resources:PCPU' extra specs in " +
			"combination with the 'hw:cpu_policy' extra spec or 'hw_cpu_policy' image metadata property; use one or the other")
	case vcpus != 0 && pcpus != 0:
		return conflict("It is not possible to specify both 'resources:VCPU' and 'resources:PCPU' extra specs; use one " +
			"or the other")
	case vcpus != 0:
		c.Policy, c.Explicit = Shared, true
	case pcpus == 0:
	case c.Isolate && f.VCPUs+1 != pcpus:
		return conflict("You have requested 'hw:emulator_threads_policy=isolate' but have not requested sufficient " +
			"PCPUs to handle this policy; you must allocate exactly flavor.vcpus + 1 PCPUs.")
	case !c.Isolate && f.VCPUs != pcpus:
		return conflict("There is a mismatch between the number of PCPUs requested via 'resourcesNN:PCPU' and the flavor); " +
			"you must allocate exactly flavor.vcpus PCPUs")
	default:
		c.Policy, c.Explicit = Dedicated, true
	}
	return nil
}

// numbered matches the prefix of a class in the extra specs that Nova sums up here: numbered
// groups, and the one without a suffix. It is Nova's rule that names need only begin with it.
var numbered = regexp.MustCompile(`\A(?:resources|trait)(?:[1-9][0-9]*)?:`)

// sum is the amount of a class in the flavor's numbered groups.
func (f Flavor) sum(class string) (n int64) {
	for key, v := range f.Specs {
		at := numbered.FindString(key)
		if !strings.HasPrefix(at, Resources) || !strings.HasPrefix(key[len(at):], class) {
			continue
		}
		if amount, ok := cpuNumber(v); ok {
			n += amount
		}
	}
	return n
}

const hyperthreading = "HW_CPU_HYPERTHREADING"

// hyperthreading derives the policy for threads from the trait.
func (c *CPU) hyperthreading(f Flavor, i Image) error {
	trait := ""
	for key, v := range f.Specs {
		at := numbered.FindString(key)
		if strings.HasPrefix(at, Trait) && strings.HasPrefix(key[len(at):], hyperthreading) {
			trait = max(trait, v) // of several the same one each time
		}
	}
	if trait == "" && slices.Contains(i.Required(), hyperthreading) {
		trait = "required"
	}
	if trait != "" && c.Threads != "" {
		return conflict("It is not possible to use the 'trait:HW_CPU_HYPERTHREADING' extra spec in combination with the " +
			"'hw:cpu_thread_policy' extra spec or 'hw_cpu_thread_policy' image metadata property; use one or the other")
	}
	if policy, ok := map[string]string{"forbidden": "isolate", "required": "require"}[trait]; ok {
		c.Threads, c.ThreadsTrait = policy, true
	}
	return nil
}

// fits refuses what does not go with the policy.
func (c *CPU) fits(dedicated, realtime bool) error {
	switch {
	case c.Policy == Mixed && dedicated == realtime:
		return conflict("Dedicated CPU set can be specified from either 'hw:cpu_dedicated_mask' or " +
			"'hw:cpu_realtime_mask' when using 'mixed' CPU policy. 'hw:cpu_dedicated_mask' and 'hw:cpu_realtime_mask' can not " +
			"be specified at the same time, or be specified with none of them.")
	case c.Policy == Mixed || c.Policy == Dedicated && !dedicated:
		return nil
	case c.Policy == Dedicated:
		return conflict("%s", mixedOnly)
	case c.Threads != "":
		return conflict("Cannot set cpu thread pinning policy in a non dedicated cpu pinning policy")
	case c.Isolate:
		return conflict("An isolated CPU emulator threads option requires a dedicated CPU policy option.")
	case dedicated:
		return conflict("%s", mixedOnly)
	case realtime:
		return conflict("Cannot set realtime policy in a non dedicated cpu pinning policy")
	}
	return nil
}

const mixedOnly = "Cannot specify 'hw:cpu_dedicated_mask' without the 'mixed' policy."

// masked reads a mask of CPUs; one that begins with an exclusion excludes from all.
func masked(mask string, vcpus int64) (CPUSet, error) {
	if strings.HasPrefix(strings.TrimSpace(mask), "^") {
		mask = fmt.Sprintf("0-%d,%s", vcpus-1, mask)
	}
	return parseCPUs(mask)
}
