package node_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	_ "embed"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/agent/node"
	"github.com/berthcloud/berth/agent/settings"
	"github.com/berthcloud/berth/config"
	"github.com/berthcloud/berth/config/configtest"
	"github.com/berthcloud/berth/internal/upstreamtest"
	"github.com/berthcloud/berth/osloconfig"
)

// apart are options with another default than Debian's Nova has, and why.
var apart = map[string]string{
	"DEFAULT.host":                         "upstream's is the name of the machine",
	"DEFAULT.my_ip":                        "upstream's is the address of the machine, which Report requests",
	"DEFAULT.state_path":                   "upstream's is where its modules are; packages set /var/lib/nova",
	"DEFAULT.instances_path":               "the same with instances behind it, which is $state_path/instances upstream",
	"DEFAULT.cpu_allocation_ratio":         "0.0 is none, there and here",
	"DEFAULT.ram_allocation_ratio":         "0.0 is none, there and here",
	"DEFAULT.disk_allocation_ratio":        "0.0 is none, there and here",
	"DEFAULT.initial_cpu_allocation_ratio": "16.0 up to Zed",
	"DEFAULT.initial_ram_allocation_ratio": "1.5 up to Zed",
	"DEFAULT.default_log_levels":           "Nova adds those of its own libraries when it starts",
	"DEFAULT.pybasedir":                    "upstream computes it from where it is installed",
	"DEFAULT.console_host":                 "upstream's is the name of the machine",
	"keystone_authtoken.auth_uri":          "an older name of www_authenticate_uri here",
	"keystone_authtoken.tenant_id":         "an older name of project_id here",
	"keystone_authtoken.tenant_name":       "an older name of project_name here",
	"placement.tenant_id":                  "an older name of project_id here",
	"placement.tenant_name":                "an older name of project_name here",
	"neutron.tenant_id":                    "an older name of project_id here",
	"neutron.tenant_name":                  "an older name of project_name here",
}

// TestUpstreamOptions compares the table with the installed Nova: each of its options is
// known, unless its group is not examined, and those that hosts have have its defaults and
// its older names.
func TestUpstreamOptions(t *testing.T) {
	ours, ignored := configtest.Table(t, table(t)), configtest.Ignored(node.Ignored())
	for _, u := range novaOptions(t) {
		name := u.Key()
		s, ok := ours[name]
		switch {
		case apart[name] != "" || ours[name].Name.Option == "" && ignored(name):
		case !ok:
			t.Errorf("upstream has %s, the table does not", name)
		case s.Secret():
		case s.Display() != u.Default && s.Display()+".0" != u.Default:
			t.Errorf("default of %s = %q, upstream's is %q", name, s.Display(), u.Default)
		default:
			configtest.Older(t, name, s, u.Older)
		}
	}
}

// table is that of an empty file.
func table(t *testing.T) []config.Setting {
	t.Helper()
	s, _, err := node.Load(osloconfig.Sources{}, settings.Names{Host: "h", Canonical: "h"})
	if err != nil {
		t.Fatal(err)
	}
	return s.Table()
}

// novaOptions are those of the installed Nova.
func novaOptions(t *testing.T) []configtest.Option {
	t.Helper()
	notShort(t)
	return configtest.Nova(t)
}

// notShort skips what queries the installed Nova, which takes its time to start.
func notShort(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("NOT COMPARED with Nova: not under -short")
	}
}

// queryNova queries the installed Nova.
func queryNova(t *testing.T, script string, in, out any) {
	t.Helper()
	notShort(t)
	upstreamtest.Run(t, "python3-nova", script, in, out)
}

//go:embed testdata/parity.py
var parityScript string

// The questions of TestParity.
type questions struct {
	CPUs      []string         `json:"cpus"`
	Specs     [][]string       `json:"specs"`
	Devices   []map[string]any `json:"devices"`
	Names     []string         `json:"names"`
	Providers [][]string       `json:"providers"`
	Placement [][]string       `json:"placement"`
	Sets      []map[string]any `json:"sets"`
	Mdevs     []mdevQuestion   `json:"mdevs"`
	Pages     [][]string       `json:"pages"`
	Models    []modelQuestion  `json:"models"`
	// Features of models, by libvirt's names.
	CPUTable map[string][]string `json:"cpu_table"`
}

// An mdevQuestion is what [devices] and its groups say, and the cards of the machine: by
// libvirt's name and type, how many devices there are, and how many more there can be.
type mdevQuestion struct {
	Types  []string                     `json:"types"`
	Groups map[string]map[string]any    `json:"groups"`
	Cards  map[string]map[string][2]int `json:"cards"`
}

// A modelQuestion is what [libvirt] says of the CPUs of servers, and what those of the host can do,
// by libvirt's names.
type modelQuestion struct {
	Mode   string   `json:"mode"`
	Models []string `json:"models"`
	Flags  []string `json:"flags"`
	Skip   bool     `json:"skip"`
	Host   []string `json:"host"`
}

// The answers; nil where Nova refuses.
type answers struct {
	CPUs      [][]int             `json:"cpus"`
	Specs     [][]int             `json:"specs"`
	Names     []*specNames        `json:"names"`
	Providers [][]providerAnswer  `json:"providers"`
	CPUTraits map[string][]string `json:"cpu_traits"`
	// By the names of providers.
	Placement []map[string]providerOf     `json:"placement"`
	Sets      [][]int                     `json:"sets"`
	Mdevs     []map[string]map[string]int `json:"mdevs"`
	Pages     []map[int]map[int64]int64   `json:"pages"`
	Models    [][]string                  `json:"models"`
}

type providerOf struct {
	Class  string   `json:"class"`
	Total  int      `json:"total"`
	Traits []string `json:"traits"`
}

type specNames struct {
	Class  string   `json:"class"`
	Traits []string `json:"traits"`
}

type providerAnswer struct {
	Name        string                        `json:"name"`
	Inventories map[string]map[string]float64 `json:"inventories"`
	Traits      []string                      `json:"traits"`
}

// TestParity compares what is refused, and what the rest means, with the installed Nova.
func TestParity(t *testing.T) {
	queries := questions{
		CPUs: parityCPUs, Specs: paritySpecs, Names: parityNames, Providers: parityProviders, Placement: parityPlacement,
		Sets: paritySets, Mdevs: parityMdevs, Pages: parityPages, Models: parityModels,
		CPUTable: map[string][]string{},
	}
	_, models := node.CPUModels()
	for name, features := range models {
		queries.CPUTable[name] = append([]string{}, node.LibvirtNamesOf(features)...)
	}
	for _, d := range parityDevices {
		queries.Devices = append(queries.Devices, map[string]any{
			"address": d.Address, "vendor_id": d.Vendor, "product_id": d.Product, "parent_addr": orNil(d.Parent),
		})
	}
	var nova answers
	queryNova(t, parityScript, queries, &nova)
	t.Run("CPUs", func(t *testing.T) {
		for i, text := range parityCPUs {
			got, _, err := node.ParseCPUs(text)
			if text != "" && len(got) == 0 || err != nil {
				got = nil
			}
			same(t, text, nova.CPUs[i], got)
		}
	})
	t.Run("Specs", func(t *testing.T) {
		for i, texts := range paritySpecs {
			got, err := node.Specs(texts, parityDevices)
			if err != nil {
				got = nil
			}
			same(t, strings.Join(texts, " "), nova.Specs[i], got)
		}
	})
	t.Run("Names", func(t *testing.T) {
		for i, text := range parityNames {
			var got *specNames
			if class, traits, err := node.SpecNames(text); err == nil {
				got = &specNames{class, traits}
			}
			same(t, text, nova.Names[i], got)
		}
	})
	t.Run("Providers", func(t *testing.T) {
		for i, files := range parityProviders {
			same(t, strings.Join(files, "\n---\n"), nova.Providers[i], providersHere(t, files))
		}
	})
	t.Run("Placement", func(t *testing.T) {
		for i, texts := range parityPlacement {
			same(t, strings.Join(texts, " "), nova.Placement[i], placedHere(t, texts))
		}
	})
	t.Run("Sets", func(t *testing.T) {
		for i, options := range paritySets {
			same(t, fmt.Sprint(options), nova.Sets[i], setsHere(t, options))
		}
	})
	t.Run("Mdevs", func(t *testing.T) {
		for i, q := range parityMdevs {
			same(t, fmt.Sprint(q), nova.Mdevs[i], mdevsHere(t, q))
		}
	})
	t.Run("Pages", func(t *testing.T) {
		for i, texts := range parityPages {
			got, err := node.ReservedPages(texts)
			if err != nil {
				got = nil
			}
			same(t, strings.Join(texts, " "), nova.Pages[i], got)
		}
	})
	t.Run("Models", func(t *testing.T) {
		for i, q := range parityModels {
			same(t, fmt.Sprint(q), nova.Models[i], modelsHere(t, q))
		}
	})
	t.Run("CPUTraits", func(t *testing.T) { compareTraits(t, nova.CPUTraits) })
}

func orNil(text string) any {
	if text == "" {
		return nil
	}
	return text
}

func same(t *testing.T, query string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-Nova +here):\n%s", query, diff)
	}
}

// kernelNames are the kernel's names of what libvirt, and Nova, call otherwise.
var kernelNames = map[string]string{
	"avx512-vpopcntdq": "avx512_vpopcntdq", "avx512bitalg": "avx512_bitalg", "avx512vbmi2": "avx512_vbmi2",
	"avx512vnni": "avx512_vnni", "pclmuldq": "pclmulqdq", "sha-ni": "sha_ni", "sse3": "pni", "sse4.1": "sse4_1",
	"sse4.2": "sse4_2",
}

// compareTraits wants what Nova makes traits of to be the same traits under the kernel's
// names.
func compareTraits(t *testing.T, nova map[string][]string) {
	t.Helper()
	theirs := map[string][]string{}
	for name, traits := range nova {
		if kernel := kernelNames[name]; kernel != "" {
			name = kernel
		}
		theirs[name] = traits
	}
	same(t, "traits", theirs, node.CPUTraits)
}

// providersHere reads files as parity.py does, nil when they are refused.
func providersHere(t *testing.T, files []string) []providerAnswer {
	t.Helper()
	h := answer(t, nil)
	for i, text := range files {
		h.write(t, "provider_config/"+string(rune('0'+i))+".yaml", text)
	}
	s, _, err := h.load()
	if err != nil {
		return nil
	}
	all := []providerAnswer{}
	for _, a := range s.Additional {
		p := providerAnswer{
			Name: string(a.ID) + a.Name, Inventories: map[string]map[string]float64{},
			Traits: append([]string{}, slices.Sorted(slices.Values(a.Traits))...),
		}
		for class, e := range a.Inventories {
			p.Inventories[class] = map[string]float64{"total": float64(e.Total)}
			for name, n := range map[string]*int64{
				"reserved": e.Reserved, "min_unit": e.MinUnit, "max_unit": e.MaxUnit, "step_size": e.StepSize,
			} {
				if n != nil {
					p.Inventories[class][name] = float64(*n)
				}
			}
			if e.AllocationRatio != nil {
				p.Inventories[class]["allocation_ratio"] = *e.AllocationRatio
			}
		}
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b providerAnswer) int { return strings.Compare(a.Name, b.Name) })
	return all
}
