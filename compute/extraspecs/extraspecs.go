// Package extraspecs knows the extra specs of flavors and the properties of images: their names,
// their values, and which of them contradict each other. It is pure. It does not turn them into a
// query for placement, which package request does, and it does not check who may set them.
//
// Names, patterns and texts are Nova's (nova.api.validation.extra_specs, nova.virt.hardware), as of
// its API version 2.86 for the names.
//
// Validate is what the flavor API requires (table.go), Check what the server API requires of a
// flavor and an image (check.go, cpu.go, image.go).
package extraspecs

import (
	"regexp"
	"slices"
	"strings"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/placement"
)

// A Flavor is what a flavor says of servers.
type Flavor struct {
	Name        string
	VCPUs       int64
	MemoryMB    int64
	RootGB      int64
	EphemeralGB int64
	SwapMB      int64
	Specs       map[string]string
}

// Validate returns a fault (Invalid) when an extra spec has a name of one of Nova's
// namespaces that Nova does not know, or a value that this name cannot have. What is
// in no namespace of Nova's may be anything.
func Validate(name, value string) error {
	if v, known := find(name); known {
		return v.check(value)
	}
	namespace, _, namespaced := strings.Cut(name, ":")
	if namespaced && (slices.Contains(namespaces, namespace) || grouped.MatchString(namespace)) {
		return refuse("extra spec '%s' does not appear to be a valid extra spec.", name)
	}
	return nil
}

func refuse(format string, args ...any) error {
	return fault.New(fault.Invalid, "", "Validation failed; "+format, args...)
}

// find returns what the value of a name may be, if Nova knows the name.
func find(name string) (value, bool) {
	if v, ok := single[name]; ok {
		return v, true
	}
	for _, f := range families {
		if f.names.MatchString(name) {
			return f.value, true
		}
	}
	prefix, _, item, ok := Split(name)
	switch {
	case !ok:
		return value{}, false
	case prefix == Resources && (standardClass[item] || custom.MatchString(item)):
		return integer(), true
	case prefix == Trait && (standardTrait[item] || custom.MatchString(item)):
		return oneOf("required", "forbidden"), true
	}
	return value{}, false
}

// The prefixes of the extra specs that are about groups.
const (
	Resources = "resources"
	Trait     = "trait"
)

// Split takes the name of an extra spec about a group apart: "resources_NET:VCPU" is
// Resources, "_NET" and "VCPU". It returns false for other names.
func Split(name string) (prefix, suffix, item string, ok bool) {
	m := groupKey.FindStringSubmatch(name)
	if m == nil {
		return "", "", "", false
	}
	return m[1], m[2], m[3], true
}

// suffixes are those of groups, Nova's XS_KEYPAT.
const suffixes = `([a-zA-Z0-9_-]{1,64})?`

var (
	groupKey = regexp.MustCompile(`\A(resources|trait)` + suffixes + `:([^\n]*)\z`)
	grouped  = regexp.MustCompile(`\A(?:resources|trait)` + suffixes + `\z`)
	custom   = regexp.MustCompile(`\ACUSTOM_[A-Z0-9_]+\z`)

	standardClass = set(placement.StandardClasses)
	standardTrait = set(placement.StandardTraits)
)

func set(names []string) map[string]bool {
	m := make(map[string]bool, len(names))
	for _, n := range names {
		m[n] = true
	}
	return m
}
