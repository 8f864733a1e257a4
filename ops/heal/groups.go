package heal

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/berthcloud/berth/ops/audit"
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/cloud/index"
)

// A group is a group of the resource request of a port that is bound on the host of its server.
type group struct {
	port *cloud.Port
	cloud.PortGroup
	// provider is the one that the group's amounts are allocated from, "" while it is not chosen.
	provider string
	// former is the provider in the port's binding profile that is replaced, "" for none.
	former string
}

// suffix is the suffix of the group in queries. Groups of the older format have that of their port.
func (g group) suffix() string { return cmp.Or(g.ID, g.port.UUID) }

// A portGroups is the groups of a server's ports.
type portGroups struct {
	named []group // whose provider the ports name, and keep
	open  []group // whose provider is to be chosen
	// complete says that these are all that the server's ports take from its host.
	complete bool
}

// keyCodes are the codes about the providers in a port's binding profile that are repaired by
// others.
var keyCodes = []audit.Code{
	audit.BoundWithoutKey, audit.KeyGroupMissing, audit.KeyGroupUnknown, audit.KeyProviderMissing,
	audit.KeyProviderOfOtherHost, audit.KeyProviderLacksClass, audit.KeyProviderLacksTrait,
}

// portGroups returns the groups of the server's ports. A group without a provider that can serve it
// is open when its finding is repaired and its port is not left. Otherwise it keeps a provider of
// its host, which its port uses, and is in neither list without one.
func (sp *serverPlan) portGroups(excluded map[string]*problem) portGroups {
	var all portGroups
	s := sp.server
	if s.Root == nil {
		return all
	}
	all.complete = !sp.o.SkipPorts
	ports := slices.Clone(sp.PortsOf[s.UUID])
	slices.SortFunc(ports, func(a, b *cloud.Port) int { return strings.Compare(a.UUID, b.UUID) })
	for _, port := range ports {
		if port.Host != s.Host || !index.HasRequest(port) {
			all.complete = all.complete && !index.HasRequest(port) && (len(port.Allocation) == 0 || sp.keyRemoved[port.UUID])
			continue
		}
		for _, requested := range port.Request.Groups {
			if index.Total(requested.Resources) == 0 {
				continue
			}
			g := group{port: port, PortGroup: requested, provider: index.NamedProvider(port, requested)}
			actual := sp.ByUUID[g.provider]
			elsewhere := actual != nil && !index.Shares(actual) && sp.RootOf(actual) != s.Root
			var wrong bool
			switch {
			case g.provider == "":
				wrong = sp.has(port, audit.BoundWithoutKey, audit.KeyGroupMissing, audit.KeyGroupUnknown)
			case actual == nil:
				wrong = sp.has(port, audit.KeyProviderMissing)
			case elsewhere:
				wrong = sp.has(port, audit.KeyProviderOfOtherHost)
			default:
				lacksClass := slices.ContainsFunc(slices.Collect(maps.Keys(g.Resources)), func(class string) bool {
					_, ok := actual.Inventories[class]
					return !ok
				})
				lacksTrait := slices.ContainsFunc(g.Required, func(trait string) bool {
					return !slices.Contains(actual.Traits, trait)
				})
				wrong = lacksClass && sp.has(port, audit.KeyProviderLacksClass) ||
					lacksTrait && sp.has(port, audit.KeyProviderLacksTrait)
			}
			switch {
			case wrong && excluded[port.UUID] == nil:
				g.former, g.provider = g.provider, ""
				all.open = append(all.open, g)
			case actual == nil || elsewhere || sp.remaining[port.UUID]:
				all.complete = false
			default:
				all.named = append(all.named, g)
			}
		}
	}
	return all
}
