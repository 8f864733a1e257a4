package request_test

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/compute/request"
	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/internal/golden"
	"github.com/berthcloud/berth/placement"
)

// A question is one of a file, as it is read:
//
//	flavor vcpus=1 ram=256 disk=1 ephemeral=0 swap=0    the numbers
//	spec resources1:VGPU=1                              extra specs, one or more
//	image qcow2 hw_cpu_policy=dedicated                 disk format and properties
//	port p1 direct old numa=socket                      a port; what follows is its
//	group g1 NET_BW_EGR_KILOBIT_PER_SEC:1000 CUSTOM_PHYSNET_0 CUSTOM_A|CUSTOM_B
//	same-subtree g1 g2
//	serves g1 rp1 rp2                                   the mapping of a candidate
//	aggregate a1 availability_zone=az1                  a host aggregate
//	project p, zone az1, in-tree cn1, unlimited, volume, routed a1 a2
//	on image_metadata_prefilter                         settings
//	alias {"name": "a", "resource_class": "GPU"}        a PCI alias, with pci_in_placement
//	release 29                                          of Nova
//	off accelerators                                    filters that are on otherwise
//	attach cn1                                          request the first port alone
//
// Names of ports, groups and providers that are to be UUIDs are made such.
type question struct {
	spec       request.Spec
	settings   request.Settings
	aggregates []request.Aggregate
	mappings   request.Mappings
	attach     placement.UUID
	aliases    []string
	names      map[string]string // by UUID
}

func parse(t *testing.T, lines []string) *question {
	a := &question{settings: request.DefaultSettings(), names: map[string]string{}}
	a.spec.Flavor.Name, a.spec.Image.Name = "m1", "cirros"
	a.spec.Flavor.Specs = map[string]string{}
	for _, line := range lines {
		a.line(t, line)
	}
	return a
}

func (a *question) line(t *testing.T, line string) {
	words := strings.Fields(line)
	rest := words[1:]
	switch words[0] {
	case "flavor":
		f := &a.spec.Flavor
		at := map[string]*int64{
			"vcpus": &f.VCPUs, "ram": &f.MemoryMB, "disk": &f.RootGB, "ephemeral": &f.EphemeralGB, "swap": &f.SwapMB,
		}
		for key, v := range pairs(rest) {
			*at[key], _ = strconv.ParseInt(v, 10, 64)
		}
	case "spec":
		maps.Copy(a.spec.Flavor.Specs, pairs(rest))
	case "image":
		a.spec.Image.DiskFormat, a.spec.Image.Properties = rest[0], pairs(rest[1:])
	case "port":
		a.spec.Ports = append(a.spec.Ports, request.Port{
			ID: a.id(rest[0]), VNIC: rest[1], LegacyFormat: slices.Contains(rest, "old"),
			NUMAPolicy: pairs(rest)["numa"],
		})
	case "group":
		a.group(rest)
	case "same-subtree":
		p := &a.spec.Ports[len(a.spec.Ports)-1]
		for _, name := range rest {
			p.SameSubtree = append(p.SameSubtree, a.id(name))
		}
	case "serves":
		if a.mappings == nil {
			a.mappings = request.Mappings{}
		}
		a.mappings[a.id(rest[0])] = a.uuids(rest[1:])
	case "aggregate":
		a.aggregates = append(a.aggregates, request.Aggregate{UUID: placement.UUID(rest[0]), Metadata: pairs(rest[1:])})
	case "project":
		a.spec.Project = rest[0]
	case "zone":
		a.spec.Zone = rest[0]
	case "in-tree":
		a.spec.InTree = placement.UUID(rest[0])
	case "unlimited":
		a.spec.Unlimited = true
	case "volume":
		a.spec.FromVolume = true
	case "routed":
		var all []placement.UUID
		for _, name := range rest {
			all = append(all, placement.UUID(name))
		}
		a.spec.Routed = append(a.spec.Routed, all)
	case "on":
		for _, name := range rest {
			set(t, &a.settings, name, true)
		}
	case "alias":
		_, text, _ := strings.Cut(line, " ")
		a.aliases = append(a.aliases, text)
		var err error
		if a.settings.PCI, err = request.ParseAliases(a.aliases); err != nil {
			t.Fatal(err)
		}
	case "release":
		n, err := strconv.Atoi(rest[0])
		if err != nil {
			t.Fatal(err)
		}
		a.settings.Release = request.Release(n)
	case "off":
		a.settings.Off = rest
	case "attach":
		a.attach = placement.UUID(rest[0])
	default:
		t.Fatalf("unknown line %q", line)
	}
}

func pairs(words []string) map[string]string {
	m := map[string]string{}
	for _, w := range words {
		key, v, _ := strings.Cut(w, "=")
		m[key] = v
	}
	return m
}

func (a *question) group(words []string) {
	g := request.Group{ID: a.id(words[0]), Resources: map[string]int64{}}
	for _, w := range words[1:] {
		class, n, isResource := strings.Cut(w, ":")
		switch {
		case isResource:
			g.Resources[class], _ = strconv.ParseInt(n, 10, 64)
		case strings.Contains(w, "|"):
			g.AnyOf = strings.Split(w, "|")
		default:
			g.Required = append(g.Required, w)
		}
	}
	p := &a.spec.Ports[len(a.spec.Ports)-1]
	p.Groups = append(p.Groups, g)
}

// id returns the UUID that stands for a name. One that begins with _ is no UUID.
func (a *question) id(name string) string {
	if strings.HasPrefix(name, "_") {
		return name
	}
	id := guarantee.Name{Driver: guarantee.SRIOV, Hypervisor: name}.UUID().String()
	a.names[id] = name
	return id
}

func (a *question) uuids(names []string) []placement.UUID {
	var all []placement.UUID
	for _, n := range names {
		all = append(all, placement.UUID(a.id(n)))
	}
	return all
}

// named replaces UUIDs by the names that they stand for.
func (a *question) named(lines []string) []string {
	out := slices.Clone(lines)
	for i := range out {
		for id, name := range a.names {
			out[i] = strings.ReplaceAll(out[i], id, name)
		}
	}
	slices.Sort(out)
	return out
}

// fieldOf are the settings by the names of their options.
var fieldOf = map[string]string{
	"limit_tenants_to_placement_aggregate":          "LimitTenants",
	"placement_aggregate_required_for_tenants":      "TenantsNeedAggregate",
	"query_placement_for_availability_zone":         "Zones",
	"query_placement_for_image_type_support":        "ImageTypes",
	"enable_isolated_aggregate_filtering":           "IsolateAggregates",
	"image_metadata_prefilter":                      "ImageMetadata",
	"query_placement_for_routed_network_aggregates": "RoutedNetworks",
	"owner":                       "Owner",
	"numa":                        "NUMA",
	"non_numa":                    "NonNUMA",
	"no_socket_affinity":          "NoSocketAffinity",
	"disable_fallback_pcpu_query": "DisableFallbackPCPU",
}

func set(t *testing.T, s *request.Settings, name string, on bool) {
	field := reflect.ValueOf(s).Elem().FieldByName(fieldOf[name])
	if !field.IsValid() {
		t.Fatalf("unknown setting %q", name)
	}
	field.SetBool(on)
}

func (a *question) request() (request.Request, error) {
	if a.attach != "" {
		return request.Attach(a.spec.Ports[0], a.attach, a.settings)
	}
	return request.New(a.spec, a.settings, a.aggregates)
}

// failure prints an error, with what administrators see of it.
func failure(err error) []string {
	lines := []string{strings.TrimRight("error "+err.Error(), " ")}
	if none, ok := err.(*request.NoValidHost); ok {
		for _, d := range none.Details {
			lines = append(lines, "detail "+d)
		}
	}
	return lines
}

// The answer to a question is what placement is queried for, what of the flavor was passed
// over, and what ports get of a mapping.
func TestRequestScenarios(t *testing.T) {
	for _, file := range []string{
		"testdata/flavor.txt", "testdata/pci.txt", "testdata/ports.txt", "testdata/mappings.txt",
		"testdata/numa.txt",
	} {
		golden.Answer(t, file, func(t *testing.T, question []string) []string {
			a := parse(t, question)
			r, err := a.request()
			if err != nil {
				return failure(err)
			}
			lines := a.named(params(r.Query))
			for i, q := range r.Fallbacks() {
				before := slices.Clone(lines)
				for _, p := range a.named(params(q)) {
					if !slices.Contains(before, p) {
						lines = append(lines, strings.Repeat("or ", i+1)+p)
					}
				}
			}
			for _, w := range r.Warnings {
				lines = append(lines, "warning "+w)
			}
			if a.mappings != nil {
				lines = append(lines, a.bindings(r)...)
			}
			return lines
		})
	}
}

// bindings are what ports get of the mapping.
func (a *question) bindings(r request.Request) []string {
	all, err := r.Bindings(a.mappings)
	if err != nil {
		return a.named([]string{"binding error " + err.Error()})
	}
	var lines []string
	for port, allocation := range all {
		text, _ := allocation.MarshalJSON()
		lines = append(lines, fmt.Sprintf("binding %s %s", port, text))
	}
	for _, p := range a.spec.Ports {
		if device, ok := p.Device(a.mappings); ok {
			lines = append(lines, fmt.Sprintf("device %s %s", p.ID, device))
		}
	}
	return a.named(lines)
}

// The answer to a question about a filter is what the settings make of the query: what
// goes and what comes. Without them it must be as if there were nothing for the
// filter to look at. What is always on otherwise is on without them.
func TestFilterScenarios(t *testing.T) {
	golden.Answer(t, "testdata/filters.txt", func(t *testing.T, question []string) []string {
		a := parse(t, question)
		off := a.off(t, question)
		r, err := a.request()
		if err != nil {
			return failure(err)
		}
		on := a.named(params(r.Query))
		var lines []string
		for _, p := range off {
			if !slices.Contains(on, p) {
				lines = append(lines, "- "+p)
			}
		}
		for _, p := range on {
			if !slices.Contains(off, p) {
				lines = append(lines, "+ "+p)
			}
		}
		if lines == nil {
			lines = []string{"unchanged"}
		}
		return lines
	})
}

// off returns the query with all filters off that can be, and checks that it is the one
// of a cloud in which they find nothing.
func (a *question) off(t *testing.T, question []string) []string {
	off := parse(t, question)
	off.settings.Off = nil
	for name := range fieldOf {
		set(t, &off.settings, name, false)
	}
	with, err := off.request()
	if err != nil {
		t.Fatal(err)
	}
	off.aggregates, off.spec.Zone, off.spec.Routed, off.spec.Project, off.spec.Image.DiskFormat = nil, "", nil, "", ""
	maps.DeleteFunc(off.spec.Image.Properties, func(name, _ string) bool {
		return strings.HasSuffix(name, "_bus") || strings.HasSuffix(name, "_model") && name != "hw_sound_model" ||
			strings.HasSuffix(name, "architecture")
	})
	without, err := off.request()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(without.Query, with.Query); diff != "" {
		t.Errorf("%q: the query with the filters off (-nothing to look at +something):\n%s", question, diff)
	}
	return off.named(params(with.Query))
}
