package operators

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/berthcloud/berth/cmd/berth/internal/cli"
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/cloud/cloudtest"
)

// runOn runs a command on a file of records, and returns its exit code and what it printed.
func runOn(
	t *testing.T, c *cloud.Cloud, command func(cli.Env) *cobra.Command, args ...string,
) (code int, out, notes string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "cloud.json")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := cloud.Write(f, c); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return runWith(t, nil, command, append(args, "--from-file", file)...)
}

// confFile writes a nova.conf.
func confFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "nova.conf")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// inPlacement is a nova.conf with PCI devices in placement.
const inPlacement = "[filter_scheduler]\npci_in_placement = true\n[pci]\n" +
	"alias = {\"name\": \"nic\", \"resource_class\": \"CUSTOM_NIC\"}\n"

// devices returns records of two hosts with a PCI device each, of which a server on the first one
// has that of its host.
func devices(traits ...string) *cloud.Cloud {
	b := cloudtest.New()
	for _, host := range []string{"cn1", "cn2"} {
		b.Host(host, "")
		root := cloudtest.UUID("host " + host)
		b.Placement.Providers = append(b.Placement.Providers, cloud.Provider{
			UUID: cloudtest.UUID("nic of " + host), Name: host + "_0000:81:00.0", Parent: root, Root: root,
			Traits: append([]string{"COMPUTE_MANAGED_PCI_DEVICE"}, traits...),
			Inventories: map[string]cloud.Inventory{
				"CUSTOM_NIC": {Total: 1, MinUnit: 1, MaxUnit: 1, StepSize: 1, AllocationRatio: 1},
			},
		})
	}
	b.Placement.Classes = append(b.Placement.Classes, "CUSTOM_NIC")
	b.Placement.Traits = append(b.Placement.Traits, append([]string{"COMPUTE_MANAGED_PCI_DEVICE"}, traits...)...)
	b.Server("web", "cn1")
	b.At("web").Flavor.Specs = map[string]string{"pci_passthrough:alias": "nic:1"}
	c := b.Done()
	c.Compute.Version = "2.96"
	c.Placement.Consumers[0].Allocations[cloudtest.UUID("nic of cn1")] = map[string]int64{"CUSTOM_NIC": 1}
	cloudtest.Count(c)
	return c
}

// PCI devices in placement count with the nova.conf that has their aliases, in every command.
func TestDevicesInPlacement(t *testing.T) {
	conf := confFile(t, inPlacement)
	c := devices()
	if code, out, notes := runOn(t, c, NewExplain, "--server", "web", "--nova-config", conf); code != cli.ExitOK ||
		!strings.Contains(out, "CUSTOM_NIC") {
		t.Errorf("explain: %d\n%s%s", code, out, notes)
	}
	if _, out, _ := runOn(t, c, NewExplain, "--server", "web"); strings.Contains(out, "CUSTOM_NIC") {
		t.Errorf("explain without a nova.conf:\n%s", out)
	}
	code, out, notes := runOn(t, c, newCapacityDrain, "cn1", "--nova-config", conf)
	if code != cli.ExitOK || !strings.Contains(out, "cn2") ||
		!strings.Contains(notes, "cannot migrate live (no HW_PCI_LIVE_MIGRATABLE); migrate them cold: web") {
		t.Errorf("drain: %d\n%s%s", code, out, notes)
	}
	if _, _, notes := runOn(t, devices("HW_PCI_LIVE_MIGRATABLE"), newCapacityDrain, "cn1", "--nova-config",
		conf); strings.Contains(
		notes, "cannot migrate live") {
		t.Errorf("drain of devices that migrate live:\n%s", notes)
	}
	if code, out, notes := runOn(t, c, NewAudit, "--nova-config", conf); code != cli.ExitOK {
		t.Errorf("audit: %d\n%s%s", code, out, notes)
	}
	delete(c.Placement.Consumers[0].Allocations, cloudtest.UUID("nic of cn1"))
	cloudtest.Count(c)
	if code, out, notes := runOn(t, c, NewAudit, "--nova-config", conf); code != cli.ExitFindings ||
		!strings.Contains(out, "flavor-amount-missing") {
		t.Errorf("audit of a server without its device: %d\n%s%s", code, out, notes)
	}
	if code, out, notes := runOn(t, c, NewHeal, "--force", "--nova-config", conf); code != cli.ExitFindings ||
		!strings.Contains(out, `"CUSTOM_NIC":1`) {
		t.Errorf("heal: %d\n%s%s", code, out, notes)
	}
	wrong := confFile(t, "[filter_scheduler]\npci_in_placement = true\n[pci]\nalias = {\"name\": \"nic\"}\n")
	for name, command := range map[string]func(cli.Env) *cobra.Command{"audit": NewAudit, "heal": NewHeal} {
		if code, _, notes := runOn(t, c, command, "--nova-config", wrong); code != cli.ExitUsage ||
			!strings.Contains(notes, "[pci] alias: the alias") {
			t.Errorf("%s with an alias that Nova refuses: %d, %s", name, code, notes)
		}
	}
}

// One-time-use devices that are reserved after their use are named.
func TestSpentDevicesAreNamed(t *testing.T) {
	c := devices("HW_PCI_ONE_TIME_USE")
	for i := range c.Placement.Providers {
		if p := &c.Placement.Providers[i]; p.Parent != "" {
			inventory := p.Inventories["CUSTOM_NIC"]
			inventory.Reserved = 1
			p.Inventories["CUSTOM_NIC"] = inventory
		}
	}
	for name, run := range map[string]func() (int, string, string){
		"audit":             func() (int, string, string) { return runOn(t, c, NewAudit) },
		"capacity headroom": func() (int, string, string) { return runOn(t, c, newCapacityHeadroom, "--server", "web") },
	} {
		if code, out, notes := run(); code != cli.ExitOK ||
			!strings.Contains(notes, "until an operator sets reserved to 0: cn2_0000:81:00.0\n") {
			t.Errorf("%s: %d\n%s%s", name, code, out, notes)
		}
	}
}
