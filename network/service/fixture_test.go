package service_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/internal/storetest"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/networktest"
	"github.com/berthcloud/berth/network/service"
	"github.com/berthcloud/berth/placement/providertree/providertreetest"
	"github.com/berthcloud/berth/sqlstore"
	"github.com/berthcloud/berth/sqlstore/rowtable"
)

// A fixture is the network service and the placement service of a scenario.
type fixture struct {
	t         *testing.T
	store     *dying
	placement *failing
	service   *service.Service
	warnings  *warnings

	ids     map[string]network.ID // of networks, policies, ports, by their names
	names   map[string]string     // of all UUIDs that have one
	ports   []string
	server  map[string]string // of ports
	shown   map[string]string // what was shown last, by what it is of
	answers []string          // by what is being done
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	store, err := rowtable.OpenNetwork(t.Context(), sqlstore.Options{Path: sqlstore.Memory})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	w := &fixture{
		t: t, store: &dying{Store: storetest.Rerun(store)}, placement: &failing{Placement: newPlacement(t)},
		warnings: &warnings{},
		ids:      map[string]network.ID{}, names: map[string]string{}, server: map[string]string{},
		shown: map[string]string{},
	}
	settings := network.DefaultSettings()
	settings.VLANs = map[string][]network.Range{"physnet0": nil, "physnet1": nil}
	settings.Tunnels = map[string][]network.Range{network.VXLAN: {{Low: 1, High: 100}}}
	w.service = service.New(w.store, settings, service.Peers{Placement: w.placement, Log: slog.New(w.warnings)})
	return w
}

func (w *fixture) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// name gives a UUID a name for the answers.
func (w *fixture) name(id, name string) { w.names[id] = name }

// id is the id of what has a name in the scenario.
func (w *fixture) id(name string) network.ID {
	w.t.Helper()
	id, ok := w.ids[name]
	if !ok && name != "none" {
		w.t.Fatalf("there is no %s", name)
	}
	return id
}

// serverID is the UUID of a server.
func (w *fixture) serverID(name string) string {
	id := string(networktest.ID(name))
	w.name(id, name)
	return id
}

// named replaces the UUIDs in a text by their names.
func (w *fixture) named(text string) string {
	for id, name := range w.names {
		text = strings.ReplaceAll(text, id, name)
	}
	return text
}

// state is all ports, and what their servers hold, a line each.
func (w *fixture) state() []string {
	w.t.Helper()
	now := w.objects()
	lines := make([]string, 0, len(now))
	for _, key := range slices.Sorted(maps.Keys(now)) {
		lines = append(lines, key+": "+now[key])
	}
	return lines
}

// objects returns the state of each port and server, by name.
func (w *fixture) objects() map[string]string {
	w.t.Helper()
	now := map[string]string{}
	for _, name := range w.ports {
		all, err := w.service.Ports(context.Background(), network.Where(network.ByID, w.ids[name]))
		w.must(err)
		if len(all) > 0 {
			now[name] = w.portText(&all[0])
		}
		if s := w.server[name]; s != "" {
			allocated, err := w.placement.Placement.Allocations(context.Background(), w.serverID(s))
			w.must(err)
			now[s] = w.allocatedText(allocated.Amounts)
		}
	}
	return now
}

// portText says how a port is bound, and which providers serve its resource request.
func (w *fixture) portText(p *network.Port) string {
	words := []string{p.Binding.VIF}
	if p.Binding.Driver != "" {
		words = append(words, "by "+p.Binding.Driver)
	}
	if i := slices.IndexFunc(p.Network.Segments,
		func(s network.SegmentRow) bool { return s.ID == p.Binding.Segment }); i >= 0 && len(p.Network.Segments) > 1 {
		words = append(words,
			fmt.Sprintf("on %s:%s", p.Network.Segments[i].Type, p.Network.Segments[i].PhysicalNetwork))
	}
	if id := p.EffectivePolicy(); id != "" {
		words = append(words, "policy "+w.named(string(id)))
	}
	return strings.Join(append(words, w.profileText(p)), ", ")
}

// profileText is a profile with names for the groups and the providers.
func (w *fixture) profileText(p *network.Port) string {
	var profile map[string]any
	w.must(json.Unmarshal(p.Binding.Profile, &profile))
	if groups, ok := profile["allocation"].(map[string]any); ok {
		named := map[string]any{}
		for id, provider := range groups {
			named[w.groupName(p, id)] = provider
		}
		profile["allocation"] = named
	}
	text, err := json.Marshal(profile)
	w.must(err)
	return w.named(string(text))
}

func (w *fixture) groupName(p *network.Port, id string) string {
	for _, t := range []guarantee.RuleType{guarantee.MinimumBandwidth, guarantee.MinimumPacketRate} {
		if slices.ContainsFunc(w.groups(p, t), func(g guarantee.UUID) bool { return g.String() == id }) {
			return string(t)
		}
	}
	return "another group"
}

func (w *fixture) groups(p *network.Port, t guarantee.RuleType) []guarantee.UUID {
	id, err := guarantee.ParseUUID(string(p.ID))
	w.must(err)
	var rules []guarantee.Rule
	for _, r := range p.Rules {
		rules = append(rules,
			guarantee.Rule{ID: string(r.ID), Type: guarantee.RuleType(r.Type), Direction: r.Direction, Amount: r.Rate})
	}
	return guarantee.GroupIDs(id, t, rules)
}

// classes are short for the resource classes.
var classes = map[string]string{
	guarantee.EgressBandwidth: "EGR", guarantee.IngressBandwidth: "IGR",
	guarantee.EgressPacketRate: "PKT-EGR", guarantee.IngressPacketRate: "PKT-IGR", guarantee.PacketRate: "PKT",
}

func (w *fixture) allocatedText(allocated map[string]map[string]int64) string {
	var words []string
	for provider, amounts := range allocated {
		part := w.named(provider)
		for _, class := range slices.Sorted(maps.Keys(amounts)) {
			part += fmt.Sprintf(" %s=%d", classes[class], amounts[class])
		}
		words = append(words, part)
	}
	if len(words) == 0 {
		return "allocated nothing"
	}
	slices.Sort(words)
	return "allocated " + strings.Join(words, ", ")
}

// answer is how a call ended.
func (w *fixture) answer(err error) string {
	if err == nil {
		return ""
	}
	kind, code := fault.Of(err)
	if kind == fault.Internal {
		return "error " + w.named(err.Error())
	}
	return fmt.Sprintf("%s: %s", code, w.named(err.Error()))
}

func (w *fixture) intents() (n int) {
	w.t.Helper()
	w.must(w.store.View(context.Background(), func(r network.Reader) error {
		rows, err := network.Rows[network.IntentRow](r)
		n = len(rows)
		return err
	}))
	return n
}

// A failing placement can fail from a call on, or report concurrent changes.
type failing struct {
	providertreetest.Placement
	calls      int
	writes     []int // which of them are
	failAt     int   // the call that fails, and all after it; 0 for none
	afterwards bool  // it fails after it was done
	rivals     int   // how many writes come too late
}

// call counts a call and reports whether it is to fail, and whether it is done
// before.
func (f *failing) call() (fail, done bool) {
	f.calls++
	return f.failAt > 0 && f.calls >= f.failAt, f.calls == f.failAt && f.afterwards
}

func (f *failing) Allocations(ctx context.Context, consumer string) (allocations.Consumer, error) {
	if fail, _ := f.call(); fail {
		return allocations.Consumer{}, errDead
	}
	return f.Placement.Allocations(ctx, consumer)
}

func (f *failing) SetAllocations(ctx context.Context, consumer string, a allocations.Consumer) error {
	if f.rivals > 0 {
		f.rivals--
		return allocations.ErrGeneration
	}
	fail, done := f.call()
	f.writes = append(f.writes, f.calls)
	if fail && !done {
		return errDead
	}
	if err := f.Placement.SetAllocations(ctx, consumer, a); err != nil || !fail {
		return err
	}
	return errDead
}

// warnings are what a service logs for operators.
type warnings struct{ lines []string }

func (*warnings) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelWarn }

func (l *warnings) Handle(_ context.Context, r slog.Record) error {
	l.lines = append(l.lines, r.Message)
	return nil
}
func (l *warnings) WithAttrs([]slog.Attr) slog.Handler { return l }
func (l *warnings) WithGroup(string) slog.Handler      { return l }

// silence makes the last heartbeats of a host's agents an hour old.
func (w *fixture) silence(host string) error {
	now := time.Now().UTC()
	return w.store.Update(context.Background(), now, func(wr network.Writer) error {
		rows, err := network.Rows[network.AgentRow](wr, network.Where(network.ByHost, host))
		for _, row := range rows {
			row.HeartbeatAt = now.Add(-time.Hour)
			err = wr.Replace(&row)
		}
		return err
	})
}
