package guarantee

import (
	"bytes"
	"encoding/json"
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

// ProviderOf returns the provider that serves what the rules of one type request for a
// port, and whether there is one. It finds the group whatever order the rules had when
// the group was named.
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
