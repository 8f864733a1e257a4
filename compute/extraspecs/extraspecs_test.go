package extraspecs_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/compute/extraspecs"
	"github.com/berthcloud/berth/fault"
)

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// isProperty distinguishes image properties from extra specs, which have a colon.
func isProperty(name string) bool { return !strings.Contains(name, ":") }

func TestValidate(t *testing.T) {
	f := func(name, value, want string) {
		t.Helper()
		got := ""
		if err := extraspecs.Validate(name, value); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("Validate(%q, %q) = %q, want %q", name, value, got, want)
		}
	}
	f("resources:VCPU", "4", "")
	f("resources:VCPU", "four", "Validation failed; 'four' is not a valid integer value.")
	f("resources_PORT:CUSTOM_GOLD", "4", "")
	f("resources:GOLD", "4", "Validation failed; extra spec 'resources:GOLD' does not appear to be a valid extra spec.")
	f("trait:COMPUTE_NODE", "preferred", "Validation failed; 'preferred' is not one of: required, forbidden.")
	f("group_policy", "any", "Validation failed; 'any' is not one of: isolate, none.")
	f("hw:cpu_dedicated_mask", "x", `Validation failed; 'x' is not of the format '\^?\d+((-\d+)?(,\^?\d+(-\d+)?)?)*'.`)
	f("os:monitors", "9", "Validation failed; '9' is greater than the max value of '8'.")
	f("anything", "at all", "")
	f("our:own", "at all", "")
}

func TestCPUs(t *testing.T) {
	f := func(specs map[string]string, want extraspecs.CPU) {
		t.Helper()
		got, err := extraspecs.CPUs(extraspecs.Flavor{VCPUs: 4, Specs: specs}, extraspecs.Image{})
		if err != nil || got != want {
			t.Errorf("CPUs(%v) = %+v, %v, want %+v", specs, got, err, want)
		}
	}
	f(nil, extraspecs.CPU{})
	f(map[string]string{"hw:cpu_policy": "dedicated", "hw:emulator_threads_policy": "isolate"},
		extraspecs.CPU{Policy: "dedicated", Isolate: true})
	f(map[string]string{"hw:cpu_policy": "mixed", "hw:cpu_dedicated_mask": "^0"},
		extraspecs.CPU{Policy: "mixed", Pinned: 3})
	f(map[string]string{"hw:cpu_policy": "mixed", "hw:cpu_realtime": "1", "hw:cpu_realtime_mask": "2-3"},
		extraspecs.CPU{Policy: "mixed", Pinned: 2})
	f(map[string]string{"resources:PCPU": "4", "trait:HW_CPU_HYPERTHREADING": "forbidden"},
		extraspecs.CPU{Policy: "dedicated", Explicit: true, Threads: "isolate", ThreadsTrait: true})
}

// A mask may name more CPUs than there is memory to list.
func TestHugeMasks(t *testing.T) {
	specs := map[string]string{"hw:cpu_policy": "mixed", "hw:cpu_dedicated_mask": "0-1000000000000,^2-1000000000000"}
	c, err := extraspecs.CPUs(extraspecs.Flavor{VCPUs: 4, Specs: specs}, extraspecs.Image{})
	if err != nil || c.Pinned != 2 {
		t.Errorf("CPUs = %+v, %v, want 2 pinned", c, err)
	}
}

func TestSplit(t *testing.T) {
	f := func(name string, want ...string) {
		t.Helper()
		prefix, suffix, item, ok := extraspecs.Split(name)
		var got []string
		if ok {
			got = []string{prefix, suffix, item}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("Split(%q) (-want +got):\n%s", name, diff)
		}
	}
	f("resources:VCPU", "resources", "", "VCPU")
	f("trait_a-B9:X", "trait", "_a-B9", "X")
	f("resources1:A:B", "resources", "1", "A:B")
	f("resources:", "resources", "", "")
	f("resourcesé:VCPU")
	f("resource:VCPU")
	f("resources" + strings.Repeat("x", 65) + ":VCPU")
}

// FuzzValidate holds that every name and value gets an answer: none, or a fault of
// the caller's; and that a number which is admitted can be read.
func FuzzValidate(f *testing.F) {
	for _, v := range everyValue() {
		f.Add(v[0], v[1])
	}
	f.Fuzz(func(t *testing.T, name, value string) {
		err := extraspecs.Validate(name, value)
		if kind, _ := fault.Of(err); err != nil &&
			(kind != fault.Invalid || !strings.HasPrefix(err.Error(), "Validation failed; ")) {
			t.Errorf("Validate(%q, %q) = %v", name, value, err)
		}
		prefix, _, item, ok := extraspecs.Split(name)
		if ok && prefix == extraspecs.Resources && strings.HasPrefix(item, "CUSTOM_") && err == nil {
			if _, ok := extraspecs.Integer(value); !ok {
				t.Errorf("Validate(%q, %q) admits what is no number", name, value)
			}
		}
		f := extraspecs.Flavor{
			VCPUs: 4, Specs: map[string]string{name: value, "hw:cpu_dedicated_mask": value, "hw:cpu_policy": "mixed"},
		}
		c, err := extraspecs.CPUs(f, extraspecs.Image{})
		if kind, _ := fault.Of(err); err != nil && kind != fault.Invalid {
			t.Errorf("CPUs(%q) = %v", f.Specs, err)
		}
		if err == nil && c.Policy == extraspecs.Mixed && (c.Pinned < 1 || c.Pinned > 3) {
			t.Errorf("CPUs(%q) pins %d of 4", f.Specs, c.Pinned)
		}
	})
}
