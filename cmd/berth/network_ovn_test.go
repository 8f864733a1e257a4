package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/agent/ovn"
	"github.com/berthcloud/berth/agent/ovsdb"
	"github.com/berthcloud/berth/daemon"
	"github.com/berthcloud/berth/internal/dbtest"
	"github.com/berthcloud/berth/internal/ovstest"
)

// A southboundCloud is OVN's southbound database, a placement service, and a network
// service that watches it.
type southboundCloud struct {
	t                *testing.T
	db               *ovsdb.Client
	places, networks *running
	conf             string
}

// newSouthboundCloud starts one, without the network service.
func newSouthboundCloud(t *testing.T, s *ovstest.Server) *southboundCloud {
	t.Helper()
	remotes, err := ovsdb.ParseRemotes(s.Remote())
	if err != nil {
		t.Fatal(err)
	}
	c := &southboundCloud{t: t, db: ovsdb.New(ovsdb.Config{Remotes: remotes, Database: ovn.Database})}
	t.Cleanup(daemon.Background(func(ctx context.Context) { _ = c.db.Run(ctx) }))
	c.places = start(t, t.TempDir(), "placement", "serve", "--listen", "127.0.0.1:0")
	request(t, c.places, "POST", "/resource_providers", `{"name": "devstack0"}`)
	return c
}

// configure writes the settings of the network service, with its database and lines of [ovn]. An
// agent counts as dead after 3 s.
func (c *southboundCloud) configure(database string, lines ...string) {
	c.conf = neutronConf(c.t, "agent_down_time = 3\nservice_plugins = placement", networkDatabaseAt(database),
		"[placement]\nauth_type = none\nendpoint_override = "+c.places.url, "[ml2]\nmechanism_drivers = ovn\n[ovn]",
		strings.Join(lines, "\n"))
}

// serve starts the network service, or another one.
func (c *southboundCloud) serve() {
	c.t.Helper()
	c.networks = start(c.t, c.t.TempDir(), "network", "serve", "--listen", "127.0.0.1:0", "--config", c.conf)
}

func (c *southboundCloud) transact(ops ...ovsdb.Operation) {
	c.t.Helper()
	if _, err := c.db.Transact(c.t.Context(), ops...); err != nil {
		c.t.Fatal(err)
	}
}

// add adds a chassis as ovn-controller does.
func (c *southboundCloud) add(name, hostname, options string) {
	c.t.Helper()
	c.transact(
		ovsdb.Insert("Encap", ovsdb.Row{"type": "geneve", "ip": name, "chassis_name": name}, "e"),
		ovsdb.Insert("Chassis", ovsdb.Row{
			"name": name, "hostname": hostname, "encaps": ovsdb.Named("e"),
			"other_config": ovsdb.MapOf(map[string]string{"ovn-cms-options": options, "ovn-bridge-mappings": "physnet0:br-ex"}),
		}, "c"),
		ovsdb.Insert("Chassis_Private", ovsdb.Row{"name": name, "chassis": ovsdb.Named("c")}, ""),
	)
}

// change sets other options of a chassis.
func (c *southboundCloud) change(name, options string) {
	c.t.Helper()
	c.transact(ovsdb.Mutate("Chassis", []ovsdb.Mutation{
		{Column: "other_config", Mutator: "delete", Value: ovsdb.SetOf("ovn-cms-options")},
		{Column: "other_config", Mutator: "insert", Value: ovsdb.MapOf(map[string]string{"ovn-cms-options": options})},
	}, ovsdb.Is("name", name)))
}

func (c *southboundCloud) remove(name string) {
	c.t.Helper()
	c.transact(ovsdb.Delete("Chassis", ovsdb.Is("name", name)), ovsdb.Delete("Chassis_Private", ovsdb.Is("name", name)))
}

// A shownAgent is a part of an agent in the API.
type shownAgent struct {
	Type           string `json:"agent_type"`
	Binary         string
	Host           string
	Zone           string `json:"availability_zone"`
	Alive          bool
	Synced         *bool  `json:"resources_synced"`
	Failure        string `json:"berth:sync_error"`
	Beat           string `json:"heartbeat_timestamp"`
	Configurations struct {
		Chassis    string `json:"chassis_name"`
		Mappings   string `json:"bridge-mappings"`
		Bandwidths map[string]struct{ Egress int }
		Findings   []string
	}
}

func (c *southboundCloud) agent(host string) (a shownAgent) {
	c.t.Helper()
	var all struct{ Agents []shownAgent }
	_, body := c.networks.get("/v2.0/agents?host=" + host)
	decodeFrom(c.t, body, &all)
	if len(all.Agents) > 1 {
		c.t.Fatalf("%s has several agents: %s", host, body)
	}
	if len(all.Agents) == 1 {
		a = all.Agents[0]
	}
	return a
}

func (c *southboundCloud) synced(host string) func() bool {
	return func() bool {
		a := c.agent(host)
		return a.Synced != nil && *a.Synced
	}
}

// offers reports whether the bridge of devstack0 offers the total in one direction.
func (c *southboundCloud) offers(total string) func() bool {
	return func() bool {
		return strings.Contains(request(c.t, c.places, "GET", "/resource_providers/"+exBridge+"/inventories", ""),
			`"total": `+total)
	}
}

// The providers of the guide, for the driver ovn on the host devstack0.
const (
	exBridge = "95b9a155-32f4-509d-8d97-3d9072fce738"
	exAgent  = "e3f2c998-fd69-5284-af02-a23406b25ed1"
)

// devstackOptions are those of a host with a bridge.
func devstackOptions(bandwidths string) string {
	return "resource_provider_bandwidths=" + bandwidths +
		",resource_provider_hypervisors=br-ex:devstack0,availability-zones=az1:az0"
}

// A chassis is an agent whose devices are in placement: one from before the service's start, one
// that changes, and one that is removed.
func TestChassisAreAgents(t *testing.T) {
	s := ovstest.NewSouthbound(t)
	c := newSouthboundCloud(t, s)
	c.add("hv0", "devstack0", devstackOptions("br-ex:1000:2000"))
	c.configure("sqlite://", "ovn_sb_connection = unix:/nonexistent,"+s.Remote())
	c.serve()
	wait(t, "the chassis is in placement", c.synced("devstack0"))
	want := []string{
		"devstack0 0",
		"devstack0:OVN Controller agent " + exAgent + " 0 below devstack0",
		"devstack0:OVN Controller agent:br-ex " + exBridge + " 2 below devstack0:OVN Controller agent",
	}
	if diff := cmp.Diff(want, providers(t, c.places)); diff != "" {
		t.Errorf("the providers (-want +got):\n%s", diff)
	}
	a := c.agent("devstack0")
	if a.Type != "OVN Controller agent" || a.Binary != "ovn-controller" || a.Zone != "az0, az1" || !a.Alive ||
		a.Configurations.Chassis != "hv0" || a.Configurations.Mappings != "physnet0:br-ex" ||
		a.Configurations.Findings != nil {
		t.Errorf("the agent is %+v", a)
	}

	c.change("hv0", devstackOptions("br-ex:1500:2000"))
	wait(t, "a changed bandwidth is in placement", c.offers("1500"))
	wait(t, "an agent that is alive beats on", func() bool { return c.agent("devstack0").Beat > a.Beat })

	c.change("hv0", devstackOptions("br-ex:pony:2000"))
	wait(t, "the record says what is wrong", func() bool {
		a := c.agent("devstack0")
		return a.Synced != nil && !*a.Synced && strings.Contains(a.Failure, "resource_provider_bandwidths") &&
			strings.Contains(a.Failure, "pony")
	})
	if line := c.networks.logged(`(?m)^(.*cannot be parsed.*)$`); !strings.Contains(line, "hv0") ||
		!strings.Contains(line, "resource_provider_bandwidths") {
		t.Errorf("the log names neither chassis nor option: %s", line)
	}
	if !c.offers("1500")() {
		t.Error("placement has not kept what it had")
	}
	c.change("hv0", devstackOptions("br-ex:1700:2000;br-other:1:1"))
	wait(t, "what is right is in placement", c.offers("1700"))
	wait(t, "the record says so", c.synced("devstack0"))
	if a := c.agent("devstack0"); a.Failure != "" || len(a.Configurations.Findings) != 1 ||
		!strings.Contains(a.Configurations.Findings[0], "br-other") {
		t.Errorf("of a bridge that is nowhere the agent says %+v", a)
	}
	if line := c.networks.logged(`(?m)^(.*br-other.*)$`); !strings.Contains(line, "hv0") {
		t.Errorf("the log does not name the chassis: %s", line)
	}

	c.remove("hv0")
	wait(t, "a chassis that is gone is dead", func() bool { return !c.agent("devstack0").Alive })
	if got := providers(t, c.places); len(got) != 3 {
		t.Errorf("its providers are %q, want them as they were", got)
	}
}

// Several services on one database watch the same chassis without interfering. Of two chassis on a
// host one is effective, and the other after its removal.
func TestServicesShareChassis(t *testing.T) {
	s := ovstest.NewSouthbound(t)
	c := newSouthboundCloud(t, s)
	c.configure(dbtest.MariaDB(t).NewDatabase(t), "ovn_sb_connection = "+s.Remote())
	c.serve()
	c.add("hv0", "devstack0", devstackOptions("br-ex:1000:2000"))
	c.add("hv1", "devstack0", devstackOptions("br-ex:1100:2000"))
	c.add("hv2", "devstack2", "")
	wait(t, "the chassis is in placement", c.synced("devstack0"))
	if line := c.networks.logged(`(?m)^(.*several chassis.*)$`); !strings.Contains(line, "hv0 hv1") {
		t.Errorf("the log does not name the chassis: %s", line)
	}
	if !c.offers("1000")() {
		t.Error("the first of two chassis does not count")
	}
	first := *c
	c.serve()
	before := c.agent("devstack2").Beat
	wait(t, "an agent lives on next to both", func() bool { return c.agent("devstack2").Beat > before })
	c.remove("hv0")
	wait(t, "the other chassis counts", c.offers("1100"))
	wait(t, "the record says so", c.synced("devstack0"))
	first.networks.signal(syscall.SIGTERM)
	if err := first.networks.cmd.Wait(); err != nil {
		t.Errorf("after SIGTERM: %v", err)
	}
	c.change("hv1", devstackOptions("br-ex:1200:2000"))
	wait(t, "the service that is left goes on", c.offers("1200"))
	wait(t, "the record says so", c.synced("devstack0"))
	if got := providers(t, c.places); len(got) != 3 {
		t.Errorf("the providers are %q, want those of one host", got)
	}
}

// The connection to the database has TLS: both sides present certificates, the database's is for
// another name.
func TestSouthboundOverTLS(t *testing.T) {
	s := ovstest.NewSouthbound(t)
	dir := t.TempDir()
	roots := certificate(t, dir, 1)
	_, port, err := net.SplitHostPort(secured(t, dir, roots, strings.TrimPrefix(s.Remote(), "unix:")))
	if err != nil {
		t.Fatal(err)
	}
	c := newSouthboundCloud(t, s)
	c.add("hv0", "devstack0", "")
	other := t.TempDir()
	certificate(t, other, 2)
	connection := "ovn_sb_connection = ssl:localhost:" + port
	own := "ovn_sb_certificate = " + dir + "/cert.pem\novn_sb_private_key = " + dir + "/key.pem"
	c.configure("sqlite://", connection, own, "ovn_sb_ca_cert = "+other+"/cert.pem")
	// The error may precede readiness.
	refused := launch(t, nil, nil, "network", "serve", "--listen", "127.0.0.1:0", "--config", c.conf)
	if line := refused.logged(`(OVSDB server not in use.*)`); !strings.Contains(line,
		"certificate signed by unknown authority") {
		t.Errorf("with another authority the log says %s", line)
	}
	c.configure("sqlite://", connection, own, "ovn_sb_ca_cert = "+dir+"/cert.pem")
	c.serve()
	wait(t, "the chassis is an agent", func() bool { return c.agent("devstack0").Alive })
}

// secured listens at an address with TLS, with the certificate of a directory and for clients with
// a certificate of one of the authorities, and forwards connections to a socket.
func secured(t *testing.T, dir string, roots *x509.CertPool, socket string) (address string) {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(dir+"/cert.pem", dir+"/key.pem")
	if err != nil {
		t.Fatal(err)
	}
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
		Certificates: []tls.Certificate{pair}, ClientCAs: roots, ClientAuth: tls.RequireAndVerifyClientCert,
	})
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	t.Cleanup(func() { l.Close(); running.Wait() })
	running.Go(func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() { passBetween(from, socket) })
		}
	})
	return l.Addr().String()
}

func passBetween(from net.Conn, socket string) {
	defer from.Close()
	to, err := net.Dial("unix", socket)
	if err != nil {
		return
	}
	go func() {
		_, _ = io.Copy(to, from)
		to.Close()
	}()
	_, _ = io.Copy(from, to)
}

// The state of ports in OVN's chassis determines their status, and compute is notified: of a port
// that is wired after it is bound, and of one that is wired before.
func TestChassisPlugPorts(t *testing.T) {
	events := make(chan string, 100)
	nova := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var reported struct {
			Events []struct{ Name, Tag string }
		}
		if err := json.NewDecoder(r.Body).Decode(&reported); err != nil {
			t.Errorf("an event: %v", err)
		}
		for _, e := range reported.Events {
			if e.Name != "network-changed" { // as after each request
				events <- e.Name + " " + e.Tag
			}
		}
	}))
	t.Cleanup(nova.Close)
	s := ovstest.NewSouthbound(t)
	c := newSouthboundCloud(t, s)
	c.add("hv0", "devstack0", "")
	c.transact(
		ovsdb.Mutate("Chassis", []ovsdb.Mutation{{
			Column: "other_config", Mutator: "insert", Value: ovsdb.MapOf(map[string]string{"port-up-notif": "true"}),
		}}),
		ovsdb.Insert("Datapath_Binding", ovsdb.Row{"tunnel_key": 1}, ""),
	)
	c.configure("sqlite://", "ovn_sb_connection = "+s.Remote(), "[nova]\nauth_type = none\nendpoint_override = "+nova.URL)
	c.serve()
	wait(t, "the chassis is an agent", func() bool { return c.agent("devstack0").Alive })
	var net struct{ Network struct{ ID string } }
	decodeFrom(t, request(t, c.networks, "POST", "/v2.0/networks",
		`{"network": {"provider:network_type": "flat", "provider:physical_network": "physnet0"}}`), &net)
	type shownPort struct{ Port struct{ ID, Status string } }
	boot := func(host string) string {
		var p shownPort
		decodeFrom(t, request(t, c.networks, "POST", "/v2.0/ports", `{"port": {"network_id": "`+net.Network.ID+
			`", "device_owner": "compute:nova", "device_id": "s", "binding:host_id": "`+host+`"}}`), &p)
		return p.Port.ID
	}
	expect := func(id, what, status, event string) {
		t.Helper()
		wait(t, what, func() bool {
			var p shownPort
			decodeFrom(t, request(t, c.networks, "GET", "/v2.0/ports/"+id, ""), &p)
			return p.Port.Status == status
		})
		select {
		case got := <-events:
			if got != event+" "+id {
				t.Errorf("%s: compute hears %s, want %s %s", what, got, event, id)
			}
		case <-time.After(hangTime):
			t.Errorf("%s: compute hears nothing", what)
		}
	}
	key := 0
	bind := func(id string, up bool) {
		key++
		c.transact(
			ovsdb.Insert("Port_Binding", ovsdb.Row{
				"logical_port": id, "datapath": c.row("Datapath_Binding"), "tunnel_key": key, "chassis": c.row("Chassis"), "up": up,
			}, ""),
		)
	}

	late := boot("devstack0")
	bind(late, false)
	c.transact(ovsdb.Update("Port_Binding", ovsdb.Row{"up": true}, ovsdb.Is("logical_port", late)))
	expect(late, "a bound port is wired", "ACTIVE", "network-vif-plugged")
	c.transact(ovsdb.Update("Port_Binding", ovsdb.Row{"up": false}, ovsdb.Is("logical_port", late)))
	expect(late, "it is not any more", "DOWN", "network-vif-unplugged")

	early := boot("")
	bind(early, true)
	request(t, c.networks, "PUT", "/v2.0/ports/"+early, `{"port": {"binding:host_id": "devstack0"}}`)
	expect(early, "a wired port is bound", "ACTIVE", "network-vif-plugged")
	c.transact(ovsdb.Delete("Port_Binding", ovsdb.Is("logical_port", early)))
	expect(early, "OVN has it no more", "DOWN", "network-vif-unplugged")
}

// row returns the one row of a table.
func (c *southboundCloud) row(table string) ovsdb.UUID {
	c.t.Helper()
	all, err := c.db.Transact(c.t.Context(), ovsdb.Select(table, []string{"_uuid"}))
	if err != nil || len(all) != 1 || len(all[0].Rows) != 1 {
		c.t.Fatalf("rows of %s: %v, %v", table, all, err)
	}
	return ovsdb.Value[ovsdb.UUID](all[0].Rows[0], "_uuid")
}
