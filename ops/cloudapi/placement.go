package cloudapi

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/berthcloud/berth/ops/cloud"
)

// placementVersion is the newest of OpenStack Zed, and of all releases since.
const placementVersion = "1.39"

// attempts is how often a provider is read that changes meanwhile.
const attempts = 4

// readPlacement reads the records of the placement service.
func (c *Client) readPlacement(
	ctx context.Context, parts cloud.Parts, r *cloud.Cloud, m *meter,
) (*cloud.Placement, error) {
	s, err := c.service("placement", placementVersion)
	if err != nil {
		return nil, err
	}
	p := &placementReader{ServiceClient: s, consumers: parts.Any(cloud.ConsumersPart)}
	if err := p.lists(ctx, parts.Tree); err != nil {
		return nil, err
	}
	if err := p.readProviders(ctx, m.begin("providers", len(p.listed))); err != nil {
		return nil, err
	}
	if p.consumers {
		if err := p.readConsumers(ctx, m); err != nil {
			return nil, err
		}
	}
	records := p.records()
	if n := p.restless(); n > 0 {
		r.Unread = append(r.Unread,
			fmt.Sprintf("%d providers changed whenever they were read; their records are of several moments.", n))
	}
	return records, nil
}

// A placementReader reads the placement service.
type placementReader struct {
	*gophercloud.ServiceClient
	consumers bool

	classes, traits []string
	listed          []listedProvider
	read            []readProvider // by the index in listed
	owners          []cloud.Consumer

	known       map[listedProvider]readProvider // of an earlier reading, where their generation did not change
	knownOwners map[string]cloud.Consumer
	incomplete  bool // it has failed: providers are absent from read, and consumers from owners
}

// know has the reader take from an earlier one what belongs to providers that are listed as they
// were then.
func (p *placementReader) know(earlier *placementReader) {
	p.known, p.knownOwners = make(map[listedProvider]readProvider), make(map[string]cloud.Consumer)
	for _, c := range earlier.owners {
		p.knownOwners[c.UUID] = c
	}
	for i, listed := range earlier.listed {
		read := earlier.read[i]
		if read.UUID == "" || read.deleted || read.restless {
			continue
		}
		if !earlier.incomplete { // else some of the others have not been read yet
			read.consumers = slices.DeleteFunc(slices.Clone(read.consumers), func(uuid string) bool {
				_, exists := p.knownOwners[uuid]
				return !exists
			})
		}
		read.Usages = map[string]int64{} // summed up again
		p.known[listed] = read
	}
}

// interrupted leaves of a reading that has failed what the next one need not read again. Earlier is
// the one before, or nil.
func (p *placementReader) interrupted(earlier *placementReader) {
	p.incomplete, p.owners = true, nil
	if earlier == nil {
		return
	}
	changed := map[string]bool{}
	for i := range p.read {
		if _, known := p.known[p.listed[i]]; !known {
			for _, uuid := range p.read[i].consumers {
				changed[uuid] = true
			}
		}
	}
	for _, c := range earlier.owners {
		if !changed[c.UUID] {
			p.owners = append(p.owners, c)
		}
	}
}

// A listedProvider is a provider as lists have it.
type listedProvider struct {
	UUID       string `json:"uuid"`
	Name       string `json:"name"`
	Generation int64  `json:"generation"`
	Parent     string `json:"parent_provider_uuid"`
	Root       string `json:"root_provider_uuid"`
}

// A readProvider is a provider with the consumers that have allocations of it. It was deleted when
// it was removed meanwhile, and restless when no two requests found the same generation.
type readProvider struct {
	cloud.Provider
	consumers         []string
	deleted, restless bool
}

// lists reads what a request each has: classes, traits, and all providers, or those of the tree
// that a name or UUID is in. An unknown one has no providers.
func (p *placementReader) lists(ctx context.Context, tree string) error {
	var classes struct {
		List []struct{ Name string } `json:"resource_classes"`
	}
	var traits struct{ Traits []string }
	var providers struct {
		List []listedProvider `json:"resource_providers"`
	}
	for _, list := range []struct {
		path string
		into any
	}{{"resource_classes", &classes}, {"traits", &traits}} {
		if err := get(ctx, p.ServiceClient, list.path, list.into); err != nil {
			return err
		}
	}
	path := "resource_providers"
	if tree != "" {
		if err := get(ctx, p.ServiceClient, path+"?name="+url.QueryEscape(tree), &providers); err != nil {
			return err
		}
		if len(providers.List) > 0 {
			tree, providers.List = providers.List[0].UUID, nil
		}
		path += "?in_tree=" + tree
	}
	if tree == "" || isUUID.MatchString(tree) { // the service refuses a tree that has not the form of a UUID
		if err := get(ctx, p.ServiceClient, path, &providers); err != nil {
			return err
		}
	}
	p.classes = nil
	for _, class := range classes.List {
		p.classes = append(p.classes, class.Name)
	}
	p.traits, p.listed = traits.Traits, providers.List
	return nil
}

var isUUID = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// readProviders reads what belongs to each provider.
func (p *placementReader) readProviders(ctx context.Context, done func()) error {
	p.read = make([]readProvider, len(p.listed))
	for i, listed := range p.listed {
		p.read[i] = p.known[listed] // all of them, also when a request fails
	}
	return each(ctx, len(p.listed), func(ctx context.Context, i int) error {
		defer done()
		listed := p.listed[i]
		if _, ok := p.known[listed]; ok {
			return nil
		}
		for n := 1; ; n++ {
			read, same, err := p.readProvider(ctx, listed)
			switch {
			case isStatus(err, http.StatusNotFound):
				p.read[i].deleted = true
				return nil
			case err != nil:
				return err
			case same || n == attempts:
				read.restless = !same
				p.read[i] = read
				return nil
			}
			switch err := get(ctx, p.ServiceClient, "resource_providers/"+listed.UUID, &listed); {
			case isStatus(err, http.StatusNotFound):
				p.read[i].deleted = true
				return nil
			case err != nil:
				return err
			}
		}
	})
}

// readProvider reads what belongs to a provider, and reports whether all answers had the generation
// that it was listed with.
func (p *placementReader) readProvider(
	ctx context.Context, listed listedProvider,
) (read readProvider, same bool, err error) {
	read.Provider = cloud.Provider{
		UUID: listed.UUID, Name: listed.Name, Generation: listed.Generation, Parent: listed.Parent, Root: listed.Root,
		Inventories: map[string]cloud.Inventory{}, Usages: map[string]int64{},
	}
	same = true
	request := func(subject string, into any, generation *int64) {
		if err == nil {
			*generation = listed.Generation // services that do not say it
			err = get(ctx, p.ServiceClient, "resource_providers/"+listed.UUID+"/"+subject, into)
			same = same && *generation == listed.Generation
		}
	}
	var inventories struct {
		Generation  int64 `json:"resource_provider_generation"`
		Inventories map[string]cloud.Inventory
	}
	request("inventories", &inventories, &inventories.Generation)
	var traits struct {
		Generation int64 `json:"resource_provider_generation"`
		Traits     []string
	}
	request("traits", &traits, &traits.Generation)
	var aggregates struct {
		Generation int64 `json:"resource_provider_generation"`
		Aggregates []string
	}
	request("aggregates", &aggregates, &aggregates.Generation)
	read.Inventories, read.Traits, read.Aggregates = inventories.Inventories, traits.Traits, aggregates.Aggregates
	if !p.consumers {
		var usages struct {
			Generation int64 `json:"resource_provider_generation"`
			Usages     map[string]int64
		}
		request("usages", &usages, &usages.Generation)
		for class, used := range usages.Usages {
			if used != 0 {
				read.Usages[class] = used
			}
		}
		return read, same, err
	}
	var allocations struct {
		Generation  int64 `json:"resource_provider_generation"`
		Allocations map[string]struct{}
	}
	request("allocations", &allocations, &allocations.Generation)
	for consumer := range allocations.Allocations {
		read.consumers = append(read.consumers, consumer)
	}
	return read, same, err
}

// readConsumers reads the consumers that providers have named, each with its allocations of one
// moment. What providers have in use is the sum of these, so that both agree also while the cloud
// changes.
func (p *placementReader) readConsumers(ctx context.Context, m *meter) error {
	seen, changed := map[string]bool{}, map[string]bool{}
	var uuids []string
	for i := range p.read {
		_, known := p.known[p.listed[i]]
		for _, uuid := range p.read[i].consumers {
			changed[uuid] = changed[uuid] || !known
			if !seen[uuid] {
				seen[uuid] = true
				uuids = append(uuids, uuid)
			}
		}
	}
	all := make([]cloud.Consumer, len(uuids))
	done := m.begin("consumers", len(uuids))
	err := each(ctx, len(uuids), func(ctx context.Context, i int) (err error) {
		defer done()
		if c, ok := p.knownOwners[uuids[i]]; ok && !changed[uuids[i]] {
			all[i] = c
			return nil
		}
		all[i], err = p.readConsumer(ctx, uuids[i])
		return err
	})
	if err != nil {
		return err
	}
	p.setOwners(all)
	return nil
}

// readAgain reads consumers again that were read before.
func (p *placementReader) readAgain(ctx context.Context, uuids []string) error {
	index := make(map[string]int, len(p.owners))
	for i := range p.owners {
		index[p.owners[i].UUID] = i
	}
	read := make([]cloud.Consumer, len(uuids))
	err := each(ctx, len(uuids), func(ctx context.Context, i int) (err error) {
		read[i], err = p.readConsumer(ctx, uuids[i])
		return err
	})
	if err != nil {
		return err
	}
	owners := slices.Clone(p.owners)
	for i, uuid := range uuids {
		owners[index[uuid]] = read[i]
	}
	p.setOwners(owners)
	return nil
}

// readConsumer reads a consumer. One that was deleted has no allocations.
func (p *placementReader) readConsumer(ctx context.Context, uuid string) (c cloud.Consumer, err error) {
	var answer struct {
		Allocations map[string]struct{ Resources map[string]int64 }
		Generation  int64  `json:"consumer_generation"`
		Project     string `json:"project_id"`
		User        string `json:"user_id"`
		Type        string `json:"consumer_type"`
	}
	if err := get(ctx, p.ServiceClient, "allocations/"+uuid, &answer); err != nil {
		return c, err
	}
	if answer.Type == "unknown" {
		answer.Type = ""
	}
	c = cloud.Consumer{
		UUID: uuid, Generation: answer.Generation, Project: answer.Project, User: answer.User, Type: answer.Type,
		Allocations: map[string]map[string]int64{},
	}
	for provider, a := range answer.Allocations {
		c.Allocations[provider] = a.Resources
	}
	return c, nil
}

// setOwners sets the consumers, but for those without allocations, which were deleted meanwhile,
// and what they use of each provider.
func (p *placementReader) setOwners(consumers []cloud.Consumer) {
	p.owners = slices.DeleteFunc(consumers, func(c cloud.Consumer) bool { return len(c.Allocations) == 0 })
	byUUID := make(map[string]*cloud.Provider, len(p.read))
	for i := range p.read {
		if !p.read[i].deleted {
			p.read[i].Usages = map[string]int64{}
			byUUID[p.read[i].UUID] = &p.read[i].Provider
		}
	}
	for i := range p.owners {
		for provider, resources := range p.owners[i].Allocations {
			for class, amount := range resources {
				if rp := byUUID[provider]; rp != nil {
					rp.Usages[class] += amount
				}
			}
		}
	}
}

// records returns what was read. A provider whose parent or root was removed meanwhile was itself,
// and is omitted.
func (p *placementReader) records() *cloud.Placement {
	records := &cloud.Placement{Classes: p.classes, Traits: p.traits, Consumers: p.owners}
	if p.consumers && records.Consumers == nil {
		records.Consumers = []cloud.Consumer{}
	}
	listed := map[string]bool{}
	for i := range p.read {
		if !p.read[i].deleted {
			listed[p.read[i].UUID] = true
		}
	}
	for incomplete := true; incomplete; {
		incomplete = false
		for i := range p.read {
			read := &p.read[i]
			if listed[read.UUID] && (!listed[read.Root] || read.Parent != "" && !listed[read.Parent]) {
				delete(listed, read.UUID)
				incomplete = true
			}
		}
	}
	for i := range p.read {
		if listed[p.read[i].UUID] {
			records.Providers = append(records.Providers, p.read[i].Provider)
		}
	}
	records.Sort()
	return records
}

// restless counts the providers that changed whenever they were read.
func (p *placementReader) restless() (n int) {
	for i := range p.read {
		if p.read[i].restless {
			n++
		}
	}
	return n
}
