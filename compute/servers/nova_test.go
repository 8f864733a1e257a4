package servers_test

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/computetest"
	"github.com/berthcloud/berth/compute/fleet"
	"github.com/berthcloud/berth/compute/inventory"
	"github.com/berthcloud/berth/compute/request"
	"github.com/berthcloud/berth/compute/servers"
	answers "github.com/berthcloud/berth/internal/golden"
	"github.com/berthcloud/berth/internal/sweep"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/providertree"
	"github.com/berthcloud/berth/placement/providertree/providertreetest"
)

// TestNovaScenarios plays the situations of Nova's functional tests, a file of testdata/nova for
// each of their modules, with the names of the tests in the comments: from the machine of a host
// and its nova.conf, by the agent's report, to the tree in placement, and servers on it. Lines of a
// scenario are:
//
//	machine cn1 [nodes=2] [cores=2] …  a host: see novaHost
//	pci cn1 … ; mdev cn1 CARD TYPE N   devices of it
//	device cn1 NAME CLASS N [TRAIT …]  one that Berth's agent does not find, and Nova's does
//	set cn1 [GROUP] OPTION = VALUE     a setting of its nova.conf
//	start cn1 …                        the agents start, or start again
//	report cn1                         the agent reports again, some minutes later
//	alias {…}                          a PCI alias of the service, with pci_in_placement
//	same-host                          the service resizes servers on their hosts
//	no-fallback                        it has [workarounds] disable_fallback_pcpu_query
//	quota RESOURCE N                   of the project
//	has PROVIDER CLASS=N[:reserved=N] TRAIT …
//	                                   somebody writes that to placement; CLASS=- and -TRAIT remove
//	flavor NAME CPUS [memory=N] SPEC=VALUE …
//	                                   2048 MB and 20 GB when nothing else is said
//	boot SERVER[,SERVER] FLAVOR [on HOST] [image NAME]
//	migrate, live, confirm, revert, delete SERVER; resize SERVER FLAVOR; rebuild SERVER IMAGE
//	fail HOST                          what a host does next fails
//	file cn1 PATH TEXT                 a file of the host
//	unit SERVER DEVICE CLASS N         the host says at its next start what the server has
//	server SERVER …                    shows what servers have
//	migration SERVER                   shows what the last migration of a server has
//	tree cn1                           shows the tree, without traits of the root
//	traits PROVIDER PREFIX …           shows the traits that begin so
//
// The answer has what is shown, and what hosts and servers come to. What a server has is shown by
// provider, and after it what of the host was chosen for it.
func TestNovaScenarios(t *testing.T) {
	for _, file := range sweep.Raced(t, answers.Files(t, "testdata/nova/*.txt"), 3) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			answers.Answer(t, file, func(t *testing.T, question []string) []string {
				t.Helper()
				n := &novaCloud{
					fixture: newFixture(t, 0), novaHosts: map[string]*novaHost{}, servers: map[string]compute.ID{},
					units: map[string][]inventory.Unit{}, names: map[string]string{},
				}
				for _, line := range question {
					n.step(line)
				}
				n.calm("the scenario")
				return n.lines
			})
		})
	}
}

// A novaCloud is a cloud of hosts with agents, while a scenario is played.
type novaCloud struct {
	*fixture
	novaHosts map[string]*novaHost
	servers   map[string]compute.ID
	aliases   []string
	sameHost  bool                        // servers are resized on their hosts
	strict    bool                        // dedicated CPUs are never requested as VCPU
	units     map[string][]inventory.Unit // what hosts say of servers
	names     map[string]string           // of providers, by UUID
	failing   string                      // the host that fails at what it is to do next
	lines     []string                    // the answer
}

func (n *novaCloud) say(format string, args ...any) {
	n.lines = append(n.lines, fmt.Sprintf(format, args...))
}

func (n *novaCloud) step(line string) {
	n.Helper()
	verb, rest, _ := strings.Cut(line, " ")
	words := strings.Fields(rest)
	prepares := map[string]func(){
		"machine": func() { n.novaHosts[words[0]] = n.novaHost(words[0], words[1:]) },
		"pci":     func() { n.novaHosts[words[0]].pci(words[1:]) },
		"mdev":    func() { n.novaHosts[words[0]].mdev(words[1], words[2], words[3]) },
		"device":  func() { n.device(words) },
		"set":     func() { n.novaHosts[words[0]].set(strings.TrimPrefix(rest, words[0]+" ")) },
		"start":   func() { n.start(words, true) },
		"report":  func() { n.later(10 * time.Minute); n.start(words, false) },
		"alias":   func() { n.aliases = append(n.aliases, rest); n.serveAgain() },
		"same-host": func() {
			n.sameHost = true
			n.serveAgain()
		},
		"no-fallback": func() {
			n.strict = true
			n.serveAgain()
		},
		"quota": func() {
			must(n.SetQuotas(ctx, computetest.Project, "", compute.Quotas{words[0]: int64(n.number(words[1]))}, true))
		},
		"has":  func() { n.has(words) },
		"fail": func() { n.failing = words[0] },
		"file": func() {
			n.novaHosts[words[0]].write(words[1], strings.TrimPrefix(rest, words[0]+" "+words[1]+" ")+"\n")
		},
		"flavor": func() { n.flavor(words) },
		"unit": func() {
			id := string(n.servers[words[0]])
			u := inventory.Unit{Device: words[1], Class: words[2], Count: int64(n.number(words[3]))}
			n.units[id] = append(n.units[id], u)
		},
		"server": func() {
			for _, name := range words {
				n.server(name)
			}
		},
		"migration": func() { n.say("migration of %s has %s", words[0], n.allocated(n.lastMigration().ID)) },
		"tree":      func() { n.tree(words[0]) },
		"traits":    func() { n.traits(words[0], words[1:]) },
		"boot":      func() { n.boot(words) },
	}
	if fn := prepares[verb]; fn != nil {
		fn()
		return
	}
	n.operate(verb, words)
}

// operate does something with a server, and shows what comes of it.
func (n *novaCloud) operate(verb string, words []string) {
	n.Helper()
	name, id := words[0], n.servers[words[0]]
	operations := map[string]func() error{
		"migrate": func() error { return n.MigrateServer(ctx, root, id, "") },
		"live":    func() error { return n.LiveMigrateServer(ctx, root, id, servers.LiveMigration{}) },
		"confirm": func() error { return n.ConfirmResize(ctx, ann, id) },
		"revert":  func() error { return n.RevertResize(ctx, ann, id) },
		"resize":  func() error { return n.ResizeServer(ctx, ann, id, servers.Resizing{Flavor: compute.ID(words[1])}) },
		"delete":  func() error { return n.DeleteServer(ctx, ann, id) },
		"rebuild": func() error {
			_, err := n.RebuildServer(ctx, ann, id, servers.Rebuilding{Image: computetest.ID(words[1])})
			return err
		},
	}
	operation := operations[verb]
	if operation == nil {
		n.Fatalf("%q is no line of a scenario", verb)
	}
	if err := operation(); err != nil {
		n.say("%s of %s is refused: %v", verb, name, err)
		return
	}
	n.work(n.cloudService, func(host string, _ fleet.Wanted) *fleet.Result {
		if host != n.failing {
			return nil
		}
		n.failing = ""
		return &fleet.Result{Error: "the host fails"}
	})
	if n.state(id) == "gone" {
		n.say("%s is deleted and has %s", name, n.allocated(id))
		return
	}
	n.server(name)
	if verb == "live" {
		n.say("  the migration is %s", n.lastMigration().Status)
		lines := strings.Split(n.readable(n.why(id)), "; ")
		slices.Sort(lines)
		for _, line := range slices.Compact(lines) {
			if strings.HasPrefix(line, "host ") { // why one was not chosen
				n.say("  %s", line)
			}
		}
	}
}

func (n *novaCloud) serveAgain() {
	n.Helper()
	aliases := must(request.ParseAliases(n.aliases))
	n.cloudService = n.serve(n.store, func(s *compute.Settings) {
		s.ResizeOnHost, s.Requests.DisableFallbackPCPU = n.sameHost, n.strict
		if n.aliases != nil {
			s.Requests.PCI = aliases
		}
	})
}

func (n *novaCloud) device(words []string) {
	h := n.novaHosts[words[0]]
	h.devices = slices.DeleteFunc(h.devices, func(d inventory.Device) bool { return d.Suffix == words[1] })
	if len(words) > 2 {
		h.devices = append(h.devices, inventory.Device{
			Suffix: words[1], Class: words[2], Total: int64(n.number(words[3])), Traits: words[4:],
		})
	}
}

// start has agents start, or report. Hosts that do not are alive.
func (n *novaCloud) start(hosts []string, starting bool) {
	n.Helper()
	n.report()
	for _, name := range hosts {
		warnings, err := n.novaHosts[name].start(maps.Clone(n.units), starting)
		for _, w := range warnings {
			n.say("%s warns: %s", name, n.readable(w))
		}
		if err != nil {
			n.say("%s does not serve: %s", name, n.readable(err.Error()))
		}
	}
}

// report has all hosts say that they are alive.
func (n *novaCloud) report() {
	n.Helper()
	for _, row := range computetest.Read[compute.NodeRow](n, n.store) {
		n.must(n.Report(ctx, compute.Report{Host: row.Host, Version: 66, Node: row}))
	}
}

// readable says names for servers' UUIDs, and none of directories.
func (n *novaCloud) readable(text string) string {
	for name, id := range n.servers {
		text = strings.ReplaceAll(text, string(id), name)
	}
	for _, h := range n.novaHosts {
		text = strings.ReplaceAll(text, h.dir, "DIR")
	}
	return strings.ReplaceAll(strings.TrimSpace(text), "\n", "; ")
}

func (n *novaCloud) flavor(words []string) {
	n.Helper()
	f := computetest.Flavor(words[0], int64(n.number(words[1])), 2048, 20)
	f.Specs = map[string]string{}
	for _, word := range words[2:] {
		name, value, _ := strings.Cut(word, "=")
		if name == "memory" {
			f.MemoryMB = int64(n.number(value))
		} else {
			f.Specs[name] = value
		}
	}
	n.add(f)
}

func (n *novaCloud) boot(words []string) {
	n.Helper()
	names := strings.Split(words[0], ",")
	spec := servers.ServerSpec{Name: "vm", Flavor: compute.ID(words[1]), Image: cirros, Min: len(names), Max: len(names)}
	for i := 2; i < len(words); i += 2 {
		if words[i] == "on" {
			spec.Host = words[i+1]
		} else {
			spec.Image = computetest.ID(words[i+1])
		}
	}
	created, err := n.CreateServers(ctx, ann, spec)
	if err != nil {
		n.say("%s is refused: %v", words[0], err)
		return
	}
	n.work(n.cloudService, nil)
	for i, name := range names {
		n.servers[name] = created[i].ID
		if len(names) == 1 {
			n.server(name)
		} else { // which one gets what is chance
			n.say("%s is %s", name, n.state(created[i].ID))
		}
	}
}

// server shows a server.
func (n *novaCloud) server(name string) {
	n.Helper()
	one := must(n.Server(ctx, n.servers[name]))
	where := ""
	if one.Host != "" {
		where = " on " + one.Host
	}
	n.say("%s is %s%s and has %s", name, one.State, where, n.allocated(one.ID))
	if f, ok := one.Failure(); ok {
		n.say("  %s", strings.TrimSpace(f.Message))
	}
	if one.Host == "" {
		return
	}
	given := n.givenAt(one.Host, one.ID)
	for _, c := range given.Cells {
		text := fmt.Sprintf("  vCPUs %s on node %d, %d MB", joined(c.VCPUs), c.Node, c.MemoryMB)
		if c.PageKB > 0 {
			text += fmt.Sprintf(" in pages of %d kB", c.PageKB)
		}
		if len(c.CPUs) > 0 {
			text += ", pinned to " + joined(slices.Sorted(maps.Values(c.CPUs)))
		}
		if len(c.Blocked) > 0 {
			text += ", blocked " + joined(c.Blocked)
		}
		n.say("%s", text)
	}
	for _, d := range given.PCIDevices {
		n.say("  device %s for %s", d.Address, d.Alias)
	}
	mdevs := map[string]int{}
	for _, d := range given.Mdevs {
		mdevs[d.Type+" of "+d.Provider]++
	}
	for _, what := range slices.Sorted(maps.Keys(mdevs)) {
		n.say("  %d %s", mdevs[what], what)
	}
}

func joined(numbers []int) string {
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(numbers), "[]"), " ", ",")
}

// allocated is what a consumer has in placement, by the names of providers.
func (n *novaCloud) allocated(id compute.ID) string {
	n.Helper()
	for _, h := range computetest.Read[compute.NodeRow](n, n.store) {
		for _, p := range n.read(h.Name).Providers {
			n.names[string(p.ID)] = p.Name
		}
	}
	c, err := n.places.Allocations(ctx, string(id))
	n.must(err)
	if len(c.Amounts) == 0 {
		return "nothing"
	}
	return n.shownAmounts(c.Amounts)
}

func (n *novaCloud) shownAmounts(all allocations.Amounts) string {
	var words []string
	for provider, classes := range all {
		var amounts []string
		for _, class := range slices.Sorted(maps.Keys(classes)) {
			amounts = append(amounts, fmt.Sprintf("%s=%d", class, classes[class]))
		}
		words = append(words, fmt.Sprintf("%s of %s", strings.Join(amounts, " "), n.names[provider]))
	}
	slices.SortFunc(words, func(a, b string) int {
		_, a, _ = strings.Cut(a, " of ")
		_, b, _ = strings.Cut(b, " of ")
		return strings.Compare(a, b)
	})
	return strings.Join(words, ", ")
}

// read is the tree of a host, empty when there is none.
func (n *novaCloud) read(host string) providertree.Tree {
	n.Helper()
	tree, err := n.places.Tree(ctx, placement.UUID(computetest.ID(host)), nil)
	n.must(err)
	if len(tree.Providers) == 0 {
		return tree
	}
	tree, err = providertree.Read(ctx, n.places, placement.UUID(computetest.ID(host)))
	n.must(err)
	return tree
}

// tree shows the tree of a host.
func (n *novaCloud) tree(host string) {
	n.Helper()
	all := n.read(host).Providers
	slices.SortFunc(all, func(a, b providertree.Provider) int { return strings.Compare(a.Name, b.Name) })
	for _, p := range all {
		words := []string{p.Name}
		for _, class := range slices.Sorted(maps.Keys(p.Inventories)) {
			i := p.Inventories[class]
			word := fmt.Sprintf("%s=%d", class, i.Total)
			if i.Reserved > 0 {
				word += fmt.Sprintf(":reserved=%d", i.Reserved)
			}
			if p.Used[class] > 0 {
				word += fmt.Sprintf(":used=%d", p.Used[class])
			}
			words = append(words, word)
		}
		if p.Parent != "" {
			words = append(words, slices.Sorted(slices.Values(p.Traits))...)
		}
		n.say("%s", strings.Join(words, " "))
	}
}

// find is a provider of a name.
func (n *novaCloud) find(name string) providertree.Provider {
	n.Helper()
	host, _, _ := strings.Cut(name, "_")
	for _, p := range n.read(host).Providers {
		if p.Name == name {
			return p
		}
	}
	n.Fatalf("there is no provider %s", name)
	return providertree.Provider{}
}

func (n *novaCloud) traits(provider string, prefixes []string) {
	n.Helper()
	words := []string{"traits of", provider + ":"}
	for _, trait := range slices.Sorted(slices.Values(n.find(provider).Traits)) {
		if slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(trait, p) }) {
			words = append(words, trait)
		}
	}
	n.say("%s", strings.Join(words, " "))
}

// has changes a provider in placement.
func (n *novaCloud) has(words []string) {
	n.Helper()
	n.must(providertreetest.Change(ctx, n.places, n.find(words[0]).ID, func(p *providertree.Provider) {
		for _, word := range words[1:] {
			class, value, isClass := strings.Cut(word, "=")
			trait, removed := strings.CutPrefix(word, "-")
			switch {
			case isClass && value == "-":
				delete(p.Inventories, class)
			case isClass:
				total, reserved, _ := strings.Cut(value, ":reserved=")
				i := providertreetest.Offer(int64(n.number(total)))
				if reserved != "" {
					i.Reserved = int64(n.number(reserved))
				}
				p.Inventories[class] = i
			case removed:
				p.Traits = slices.DeleteFunc(p.Traits, func(t string) bool { return t == trait })
			default:
				p.Traits = append(p.Traits, trait)
			}
		}
	}))
}
