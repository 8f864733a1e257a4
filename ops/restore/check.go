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

// Check returns what no placement service can have of records, in a sentence each: none for records
// that agree with themselves. A file that was changed by hand or read from a damaged database has
// such sentences.
func Check(p *cloud.Placement) []string {
	c := &checker{at: map[string]*cloud.Provider{}}
	c.providers(p.Providers)
	used := c.consumers(p.Consumers)
	for i := range p.Providers {
		provider := &p.Providers[i]
		for _, class := range slices.Sorted(maps.Keys(provider.Usages)) {
			c.want(provider.Usages[class] == used[inventoryKey{provider.UUID, class}],
				"provider %s has %d of %s in use, and consumers have %d of it",
				provider.UUID, provider.Usages[class], class, used[inventoryKey{provider.UUID, class}])
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
		provider := &list[i]
		c.want(isUUID.MatchString(provider.UUID), "provider %q has no UUID: %q", provider.Name, provider.UUID)
		c.want(c.at[provider.UUID] == nil, "provider %s is there twice", provider.UUID)
		c.want(provider.Name != "" && len([]rune(provider.Name)) <= longestName,
			"provider %s has the name %q, which is empty or too long", provider.UUID, provider.Name)
		c.want(names[provider.Name] == "", "providers %s and %s have the same name %q", names[provider.Name], provider.UUID,
			provider.Name)
		c.at[provider.UUID], names[provider.Name] = provider, provider.UUID
		for _, class := range slices.Sorted(maps.Keys(provider.Inventories)) {
			c.inventory(provider, class)
		}
		for _, trait := range provider.Traits {
			c.want(isName.MatchString(trait), "provider %s has the trait %q, which is no name of a trait", provider.UUID, trait)
		}
		for _, aggregate := range provider.Aggregates {
			c.want(isUUID.MatchString(aggregate), "provider %s has the aggregate %q, which is no UUID", provider.UUID, aggregate)
		}
		c.want(len(slices.Compact(slices.Clone(provider.Traits))) == len(provider.Traits), "provider %s has a trait twice",
			provider.UUID)
		c.want(len(slices.Compact(slices.Clone(provider.Aggregates))) == len(provider.Aggregates),
			"provider %s has an aggregate twice", provider.UUID)
	}
	for i := range list {
		c.root(&list[i], len(list))
	}
}

// root follows the parents of a provider to its root, in so many steps at most.
func (c *checker) root(provider *cloud.Provider, steps int) {
	ancestor := provider
	for ; ancestor.Parent != "" && steps > 0; steps-- {
		above := c.at[ancestor.Parent]
		if above == nil {
			// once, for the lowest one
			c.want(ancestor != provider, "provider %s has the parent %s, which is not there", provider.UUID, ancestor.Parent)
			return
		}
		ancestor = above
	}
	if c.want(ancestor.Parent == "", "provider %s is below itself", provider.UUID) {
		c.want(provider.Root == ancestor.UUID, "provider %s has the root %s, and its parents lead to %s", provider.UUID,
			provider.Root, ancestor.UUID)
	}
}

func (c *checker) inventory(provider *cloud.Provider, class string) {
	i := provider.Inventories[class]
	within := func(n, least int64) bool { return n >= least && n <= maxInt }
	c.want(isName.MatchString(class), "provider %s has the class %q, which is no name of a class", provider.UUID, class)
	c.want(within(i.Total, 1) && within(i.Reserved, 0) && within(i.MinUnit, 1) && within(i.MaxUnit, 1) &&
		within(i.StepSize, 1) &&
		placement.Inventory(i).Capacity() >= 0 && math.Abs(i.AllocationRatio) <= math.MaxFloat32,
		"provider %s has an inventory of %s that cannot be: %+v", provider.UUID, class, i)
}

// consumers checks consumers, and returns what they have.
func (c *checker) consumers(list []cloud.Consumer) map[inventoryKey]int64 {
	used, seen := map[inventoryKey]int64{}, map[string]bool{}
	for i := range list {
		consumer := &list[i]
		c.want(isUUID.MatchString(consumer.UUID), "consumer %q has no UUID", consumer.UUID)
		c.want(!seen[consumer.UUID], "consumer %s is there twice", consumer.UUID)
		seen[consumer.UUID] = true
		c.want(consumer.Project != "" && len(consumer.Project) <= longestID && consumer.User != "" &&
			len(consumer.User) <= longestID,
			"consumer %s has the project %q and the user %q, of which one is empty or too long", consumer.UUID, consumer.Project,
			consumer.User)
		c.want(consumer.Type == "" || isName.MatchString(consumer.Type),
			"consumer %s has the type %q, which is no name of a type", consumer.UUID, consumer.Type)
		c.want(len(consumer.Allocations) > 0, "consumer %s has no allocations", consumer.UUID)
		for _, provider := range slices.Sorted(maps.Keys(consumer.Allocations)) {
			ancestor := c.at[provider]
			if !c.want(ancestor != nil, "consumer %s has an allocation of provider %s, which is not there", consumer.UUID,
				provider) {
				continue
			}
			c.want(len(consumer.Allocations[provider]) > 0, "consumer %s has an allocation of nothing of provider %s",
				consumer.UUID, provider)
			for _, class := range slices.Sorted(maps.Keys(consumer.Allocations[provider])) {
				n := consumer.Allocations[provider][class]
				_, ok := ancestor.Inventories[class]
				c.want(ok, "consumer %s has %d of %s of provider %s, which has no inventory of it", consumer.UUID, n, class,
					provider)
				c.want(n > 0 && n <= maxInt, "consumer %s has %d of %s of provider %s", consumer.UUID, n, class, provider)
				used[inventoryKey{provider, class}] += n
			}
		}
	}
	return used
}
