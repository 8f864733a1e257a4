package guarantee

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
)

// A ProfileAllocation is binding:profile.allocation: which provider serves which
// group of a port's request. Compute writes it when it binds the port.
type ProfileAllocation struct {
	Groups map[UUID]UUID // provider by group
	// Old is the provider in the format without groups, in which a port requests bandwidth only. It
	// is zero when there are Groups.
	Old UUID
}

// UnmarshalJSON reads an object or, in the old format, a string. Null is nothing.
func (a *ProfileAllocation) UnmarshalJSON(data []byte) error {
	var v ProfileAllocation
	var err error
	if data = bytes.TrimSpace(data); bytes.HasPrefix(data, []byte{'"'}) {
		err = json.Unmarshal(data, &v.Old)
	} else {
		err = json.Unmarshal(data, &v.Groups)
	}
	if err != nil {
		return fmt.Errorf("the allocation of a binding profile must be the UUID of a provider, "+
			"or an object from UUIDs of groups to those of providers, not %s", short(data))
	}
	*a = v
	return nil
}

// MarshalJSON writes the format that was read; nothing is an empty object.
func (a ProfileAllocation) MarshalJSON() ([]byte, error) {
	switch {
	case a.Old != UUID{}:
		return json.Marshal(a.Old)
	case a.Groups == nil:
		return []byte("{}"), nil
	}
	return json.Marshal(a.Groups)
}

// Empty says whether no provider serves the port. Such a port is bound as if there
// were no allocation.
func (a ProfileAllocation) Empty() bool { return a.Old == UUID{} && len(a.Groups) == 0 }

// Providers returns the providers, each once, sorted.
func (a ProfileAllocation) Providers() []UUID {
	return sortedUUIDs(maps.Values(a.byGroup()))
}

// ProviderOf returns the provider that serves what rules of one type ask for a port,
// and whether there is one. Groups are found whatever the order of rules was when
// they were named.
func (a ProfileAllocation) ProviderOf(port UUID, t RuleType, rules []Rule) (UUID, bool) {
	group, ok := a.find(port, t, rules)
	if !ok {
		return UUID{}, false
	}
	return a.byGroup()[group], true
}

// find returns the group that rules of one type make, and whether a provider serves
// it.
func (a ProfileAllocation) find(port UUID, t RuleType, rules []Rule) (UUID, bool) {
	if len(ofType(rules, t)) == 0 {
		return UUID{}, false
	}
	if a.Old != (UUID{}) {
		return oldGroup, t == MinimumBandwidth
	}
	for _, id := range GroupIDs(port, t, rules) {
		if _, ok := a.Groups[id]; ok {
			return id, true
		}
	}
	return UUID{}, false
}

// oldGroup stands for the one group of the format without groups, which has no id.
var oldGroup UUID

// byGroup returns the providers by group in either format.
func (a ProfileAllocation) byGroup() map[UUID]UUID {
	if a.Old != (UUID{}) {
		return map[UUID]UUID{oldGroup: a.Old}
	}
	return a.Groups
}

// Amounts are the allocations of a consumer, or a difference of them: by provider, whose UUID is
// written as UUID.String does, and class.
type Amounts map[string]map[string]int64

// ErrNotAllocated says that a consumer has no allocations at all. Neutron answers
// PlacementAllocationRemoved (400).
var ErrNotAllocated = errors.New("the server has no allocations; move it, or detach and attach the port")

// A ProviderMissing says that a consumer has no allocation on a provider whose amounts change.
// Neutron answers PlacementAllocationRpNotExists (400).
type ProviderMissing struct{ Provider string }

func (e *ProviderMissing) Error() string {
	return fmt.Sprintf("the server has no allocation on the provider %s; move it, or detach and attach the port", e.Provider)
}

// Add returns the amounts with differences added. Classes whose amount becomes zero are dropped,
// and so are providers without classes. Neither a nor differences change. The errors are
// ErrNotAllocated and *ProviderMissing.
func (a Amounts) Add(differences Amounts) (Amounts, error) {
	if len(a) == 0 {
		return nil, ErrNotAllocated
	}
	sum := Amounts{}
	for provider, held := range a {
		sum[provider] = maps.Clone(held)
	}
	for _, provider := range sortedKeys(differences) {
		if _, ok := sum[provider]; !ok {
			return nil, &ProviderMissing{Provider: provider}
		}
		for class, n := range differences[provider] {
			sum[provider][class] += n
		}
	}
	sum.dropEmpty()
	return sum, nil
}

func (a Amounts) dropEmpty() {
	for _, held := range a {
		maps.DeleteFunc(held, func(_ string, n int64) bool { return n <= 0 })
	}
	maps.DeleteFunc(a, func(_ string, held map[string]int64) bool { return len(held) == 0 })
}
