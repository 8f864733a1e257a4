package restore

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"

	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/placement"
)

// The limits of the API's schemas.
const (
	longestName = 200
	longestID   = 255
	maxInt      = math.MaxInt32
)

var (
	isUUID = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)
	isName = regexp.MustCompile(`^[A-Z0-9_]{1,255}$`) // of a class, a trait or the type of a consumer
)

// Check returns what no placement service can have of records, in a sentence each: none for records that agree with themselves. A
// file that was changed by hand or read from a damaged database has such sentences.
func Check(p *cloud.Placement) []string {
	c := &checker{at: map[string]*cloud.Provider{}}
	c.providers(p.Providers)
	used := c.consumers(p.Consumers)
	for i := range p.Providers {
		of := &p.Providers[i]
		for _, class := range sortedKeys(of.Usages) {
			c.want(of.Usages[class] == used[inventoryKey{of.UUID, class}], "provider %s has %d of %s in use, and consumers have %d of it",
				of.UUID, of.Usages[class], class, used[inventoryKey{of.UUID, class}])
		}
	}
	return c.wrong
}

// An inventoryKey names what a provider has of a class.
type inventoryKey struct{ provider, class string }

type checker struct {
	at    map[string]*cloud.Provider
	wrong []string
}

func (c *checker) want(ok bool, format string, args ...any) bool {
	if !ok {
		c.wrong = append(c.wrong, fmt.Sprintf(format, args...))
	}
	return ok
}

func (c *checker) providers(list []cloud.Provider) {
	names := map[string]string{}
	for i := range list {
		of := &list[i]
		c.want(isUUID.MatchString(of.UUID), "provider %q has no UUID: %q", of.Name, of.UUID)
		c.want(c.at[of.UUID] == nil, "provider %s is there twice", of.UUID)
		c.want(of.Name != "" && len([]rune(of.Name)) <= longestName, "provider %s has the name %q, which is empty or too long", of.UUID, of.Name)
		c.want(names[of.Name] == "", "providers %s and %s have the same name %q", names[of.Name], of.UUID, of.Name)
		c.at[of.UUID], names[of.Name] = of, of.UUID
		for _, class := range sortedKeys(of.Inventories) {
			c.inventory(of, class)
		}
		for _, trait := range of.Traits {
			c.want(isName.MatchString(trait), "provider %s has the trait %q, which is no name of a trait", of.UUID, trait)
		}
		for _, aggregate := range of.Aggregates {
			c.want(isUUID.MatchString(aggregate), "provider %s has the aggregate %q, which is no UUID", of.UUID, aggregate)
		}
		c.want(len(slices.Compact(slices.Clone(of.Traits))) == len(of.Traits), "provider %s has a trait twice", of.UUID)
		c.want(len(slices.Compact(slices.Clone(of.Aggregates))) == len(of.Aggregates), "provider %s has an aggregate twice", of.UUID)
	}
	for i := range list {
		c.root(&list[i], len(list))
	}
}

// root follows the parents of a provider to its root, in so many steps at most.
func (c *checker) root(of *cloud.Provider, steps int) {
	at := of
	for ; at.Parent != "" && steps > 0; steps-- {
		above := c.at[at.Parent]
		if above == nil {
			c.want(at != of, "provider %s has the parent %s, which is not there", of.UUID, at.Parent) // once, for the lowest one
			return
		}
		at = above
	}
	if c.want(at.Parent == "", "provider %s is below itself", of.UUID) {
		c.want(of.Root == at.UUID, "provider %s has the root %s, and its parents lead to %s", of.UUID, of.Root, at.UUID)
	}
}

func (c *checker) inventory(of *cloud.Provider, class string) {
	i := of.Inventories[class]
	within := func(n, least int64) bool { return n >= least && n <= maxInt }
	c.want(isName.MatchString(class), "provider %s has the class %q, which is no name of a class", of.UUID, class)
	c.want(within(i.Total, 1) && within(i.Reserved, 0) && within(i.MinUnit, 1) && within(i.MaxUnit, 1) && within(i.StepSize, 1) &&
		placement.Inventory(i).Capacity() >= 0 && math.Abs(i.AllocationRatio) <= math.MaxFloat32,
		"provider %s has an inventory of %s that cannot be: %+v", of.UUID, class, i)
}

// consumers checks consumers, and returns what they have.
func (c *checker) consumers(list []cloud.Consumer) map[inventoryKey]int64 {
	used, seen := map[inventoryKey]int64{}, map[string]bool{}
	for i := range list {
		of := &list[i]
		c.want(isUUID.MatchString(of.UUID), "consumer %q has no UUID", of.UUID)
		c.want(!seen[of.UUID], "consumer %s is there twice", of.UUID)
		seen[of.UUID] = true
		c.want(of.Project != "" && len(of.Project) <= longestID && of.User != "" && len(of.User) <= longestID,
			"consumer %s has the project %q and the user %q, of which one is empty or too long", of.UUID, of.Project, of.User)
		c.want(of.Type == "" || isName.MatchString(of.Type), "consumer %s has the type %q, which is no name of a type", of.UUID, of.Type)
		c.want(len(of.Allocations) > 0, "consumer %s has no allocations", of.UUID)
		for _, provider := range sortedKeys(of.Allocations) {
			at := c.at[provider]
			if !c.want(at != nil, "consumer %s has an allocation of provider %s, which is not there", of.UUID, provider) {
				continue
			}
			c.want(len(of.Allocations[provider]) > 0, "consumer %s has an allocation of nothing of provider %s", of.UUID, provider)
			for _, class := range sortedKeys(of.Allocations[provider]) {
				n := of.Allocations[provider][class]
				_, ok := at.Inventories[class]
				c.want(ok, "consumer %s has %d of %s of provider %s, which has no inventory of it", of.UUID, n, class, provider)
				c.want(n > 0 && n <= maxInt, "consumer %s has %d of %s of provider %s", of.UUID, n, class, provider)
				used[inventoryKey{provider, class}] += n
			}
		}
	}
	return used
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
