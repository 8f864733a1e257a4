package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/berthcloud/berth/cmd/berth/internal/cli"
)

// What is requested a server that failed, that exists or that is to be created is found in the APIs
// of a running cloud, and explained and counted as Nova would request it.
func TestExplainInACloud(t *testing.T) {
	dir := t.TempDir()
	u := startUp(t, dir)
	defer func() { u.stop() }()
	rule := func(kbps int) map[string]any { return map[string]any{"min_kbps": kbps, "direction": "egress"} }
	rules := func(policy string) string { return u.network + "/qos/policies/" + policy + "/minimum_bandwidth_rules" }
	gold := u.made(u.network+"/qos/policies", "policy", map[string]any{"name": "gold"})
	u.made(rules(gold), "minimum_bandwidth_rule", rule(3_000_000))
	huge := u.made(u.network+"/qos/policies", "policy", map[string]any{"name": "huge"})
	u.made(rules(huge), "minimum_bandwidth_rule", rule(12_000_000))
	net0 := u.made(u.network+"/networks", "network", map[string]any{
		"name": "net0", "provider:network_type": "vlan", "provider:physical_network": "physnet0",
		"provider:segmentation_id": 100,
	})
	u.made(u.network+"/networks", "network", map[string]any{
		"name": "promising", "provider:network_type": "vlan", "provider:physical_network": "physnet0",
		"provider:segmentation_id": 101, "qos_policy_id": gold,
	})
	u.made(u.network+"/subnets", "subnet", map[string]any{"network_id": net0, "ip_version": 4, "cidr": "10.0.4.0/24"})
	port := u.made(u.network+"/ports", "port", map[string]any{"name": "fast0", "network_id": net0, "qos_policy_id": huge})
	failed := u.made(u.compute+"/servers", "server", map[string]any{
		"name": "failed", "flavorRef": "c1", "imageRef": upImage, "networks": []map[string]any{{"port": port}},
	})
	group := u.made(u.compute+"/os-server-groups", "server_group", map[string]any{
		"name": "apart", "policy": "anti-affinity",
	})
	var made struct{ Server struct{ ID string } }
	u.request(http.MethodPost, u.compute+"/servers", map[string]any{
		"server":             map[string]any{"name": "member", "flavorRef": "c1", "imageRef": upImage, "networks": "none"},
		"os:scheduler_hints": map[string]any{"group": group},
	}, &made)
	u.await(map[string]int{"ACTIVE": 1, "ERROR": 1})
	var member struct {
		Server struct {
			Node string `json:"OS-EXT-SRV-ATTR:hypervisor_hostname"`
		}
	}
	u.request(http.MethodGet, u.compute+"/servers/"+made.Server.ID, nil, &member)
	node := member.Server.Node
	var actions struct {
		List []struct {
			Request string `json:"request_id"`
		} `json:"instanceActions"`
	}
	u.request(http.MethodGet, u.compute+"/servers/"+failed+"/os-instance-actions", nil, &actions)

	tenants, images := filepath.Join(dir, "tenants.conf"), filepath.Join(dir, "images.conf")
	for path, text := range map[string]string{
		tenants: "[scheduler]\nlimit_tenants_to_placement_aggregate = true\n" +
			"placement_aggregate_required_for_tenants = true\n",
		images: "[scheduler]\nquery_placement_for_image_type_support = true\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, "cloud.json")
	named := map[string]string{"OS_CLIENT_CONFIG_FILE": filepath.Join(dir, "clouds.yaml"), "OS_CLOUD": "berth-admin"}
	if code, _, stderr := berthIn(t, "", named, "records", "export", "--all", file); code != cli.ExitOK {
		t.Fatal(stderr)
	}
	none := []string{"no host remains\n", "no free capacity for NET_BW_EGR_KILOBIT_PER_SEC:12000000", "Port fast0, group "}
	const ofFlavor = " --flavor cirros256 --image cirros-0.5.1-x86_64-disk"
	assumed := "note: Nova is taken to have the request filters of its default nova.conf"
	for _, tc := range []struct {
		args string
		code int
		want []string // in what is printed
	}{
		{
			"explain --server failed", cli.ExitOK,
			[]string{"3 hosts fit", assumed, "note: The server failed has no host and no ports."},
		},
		{"explain --server failed --port fast0", cli.ExitFindings, none},
		{
			"explain --port " + port + " --request-id " + actions.List[0].Request, cli.ExitFindings,
			[]string{"Port " + port + ", group "},
		},
		{"explain --request-id req-none", cli.ExitFailure, []string{"no server has an action with the request id req-none"}},
		{"explain --port fast0" + ofFlavor, cli.ExitFindings, none},
		{"explain --port none" + ofFlavor, cli.ExitFailure, []string{`no port with the id or name "none"`}},
		{"explain --network net0" + ofFlavor, cli.ExitOK, []string{"3 hosts fit"}},
		{"explain" + ofFlavor + " --connection sqlite:///" + filepath.Join(dir, "placement.db"), cli.ExitOK, []string{
			"3 hosts fit", "note: servers, flavors, images, ports and networks are looked up in the cloud berth-admin at http",
		}},
		{"explain --network promising" + ofFlavor, cli.ExitOK, []string{
			"1 host fits, of 3: devstack0", "The port in network promising, group ",
			"Nova does not boot servers with such a network",
		}},
		{
			"explain --network promising --network promising --network promising --network promising" + ofFlavor,
			cli.ExitFindings,
			[]string{"devstack0"},
		},
		{
			"explain --availability-zone nova:devstack1" + ofFlavor, cli.ExitOK,
			[]string{"1 host fits, of 3: devstack1", "not the requested"},
		},
		{
			"explain --availability-zone west" + ofFlavor, cli.ExitUsage,
			[]string{`no enabled service is in the availability zone "west"`},
		},
		{"explain --availability-zone nova:cn9" + ofFlavor, cli.ExitUsage, []string{`"cn9"`}},
		{
			"explain --hint group=" + group + ofFlavor, cli.ExitOK,
			[]string{"3 hosts fit", node + ": servers of the group apart that are there: 1, of 1 at most (anti-affinity)"},
		},
		{
			"explain --hint group=6f1b1a5e-0000-4000-8000-000000000001" + ofFlavor, cli.ExitFailure,
			[]string{"there is no server group with the id"},
		},
		{"explain --server member --hint group=" + group + " --from-file " + file, cli.ExitOK, []string{"3 hosts fit"}},
		{
			"explain --hint different_host=" + made.Server.ID + ofFlavor, cli.ExitOK,
			[]string{node + ": server " + made.Server.ID + " is there (hint different_host)"},
		},
		{
			"explain --hint same_host=" + made.Server.ID + ofFlavor, cli.ExitOK,
			[]string{"no server of the hint same_host is there"},
		},
		{
			"explain --server member -f json", cli.ExitOK,
			[]string{`"not_taken": []`, `"[scheduler] image_metadata_prefilter = false"`},
		},
		{
			"explain --server member --nova-config " + tenants, cli.ExitFindings,
			[]string{"placement is not queried: no host aggregate has metadata filter_tenant_id for project " + upProjectID},
		},
		{"explain --project nobody --nova-config " + tenants + ofFlavor, cli.ExitFindings, []string{"for project nobody"}},
		{
			"explain --nova-config " + images + ofFlavor, cli.ExitOK,
			[]string{"3 hosts fit", "note: images.conf has Nova's defaults for: [scheduler] max_placement_results = 1000, "},
		},
		{"explain --server failed --port fast0 --from-file " + file, cli.ExitFindings, none},
		{
			"explain --server failed --from-file " + file, cli.ExitOK,
			[]string{"note: Which traits the image of the server failed requires is not among the records of a file"},
		},

		{
			"capacity headroom --network promising" + ofFlavor, cli.ExitOK,
			[]string{"3 more fit (exact)", "Nova does not boot servers with such a network"},
		},
		{"capacity headroom --port fast0" + ofFlavor, cli.ExitFindings, []string{"0 more fit (exact)"}},
		{
			"capacity headroom --flavor 2*cirros256 --flavor nothing", cli.ExitFailure,
			[]string{`no flavor with the id or name "nothing"`},
		},
		{
			"capacity headroom --network promising --flavor 3*cirros256 --query 2*resources=VCPU:1", cli.ExitOK,
			[]string{"1 rounds fit (exact)\nno further claim of cirros256"},
		},
		{
			"capacity headroom --server failed --port fast0 --nova-config " + images, cli.ExitFindings,
			[]string{"0 more fit (exact)", "note: images.conf has"},
		},
		{
			"capacity headroom --server member --from-file " + file, cli.ExitOK,
			[]string{"278 more fit (exact)", "is not among the records of a file"},
		},
		{"capacity headroom --availability-zone nova:devstack1" + ofFlavor + " -f csv", cli.ExitOK, []string{`"devstack1",`}},
		{"capacity drain " + node, cli.ExitOK, []string{node + " can be drained with 1 move\n", assumed}},
		{
			"capacity drain " + node + " --from-file " + file, cli.ExitOK,
			[]string{node + " can be drained with 1 move\n", assumed},
		},
	} {
		code, stdout, stderr := berthIn(t, "", named, strings.Fields(tc.args)...)
		if code != tc.code {
			t.Errorf("berth %s exits with %d, want %d", tc.args, code, tc.code)
		}
		contains(t, "berth "+tc.args, stdout+stderr, tc.want)
	}

	// A server for which its group leaves no host stays.
	spread := u.made(u.compute+"/os-server-groups", "server_group", map[string]any{
		"name": "spread", "policy": "anti-affinity",
	})
	for range 3 {
		u.request(http.MethodPost, u.compute+"/servers", map[string]any{
			"server":             map[string]any{"name": "one", "flavorRef": "c1", "imageRef": upImage, "networks": "none"},
			"os:scheduler_hints": map[string]any{"group": spread},
		}, &made)
	}
	u.await(map[string]int{"ACTIVE": 4, "ERROR": 1})
	code, stdout, stderr := berthIn(t, "", named, "capacity", "drain", node)
	if code != cli.ExitFindings {
		t.Errorf("berth capacity drain of a host with a server that is to be apart exits with %d", code)
	}
	contains(t, "berth capacity drain of a host with a server that is to be apart", stdout+stderr, []string{
		node + " cannot be drained; these moves can be made, 1 of 2\n",
		"fits on no other host: its server group spread (anti-affinity, 1 for each host at most)",
	})

	// Servers that are created without a zone get nova.conf's. Those that exist say to which zone they
	// are pinned (2.96), if to any.
	u.request(http.MethodPost, u.compute+"/os-aggregates",
		map[string]any{"aggregate": map[string]any{"name": "one", "availability_zone": "az1"}}, nil)
	u.request(http.MethodPost, u.compute+"/os-aggregates/1/action",
		map[string]any{"add_host": map[string]any{"host": "devstack1"}}, nil)
	zone := filepath.Join(dir, "zone.conf")
	if err := os.WriteFile(zone, []byte("[DEFAULT]\ndefault_schedule_zone = az1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ args, want string }{
		{"explain" + ofFlavor, "3 hosts fit"},
		{"explain --nova-config " + zone + ofFlavor, "1 host fits, of 3: devstack1"},
		{"explain --availability-zone nova --nova-config " + zone + ofFlavor, "3 hosts fit"},
		{"explain --availability-zone az1:devstack0" + ofFlavor, "1 host fits, of 3: devstack0"},
		{"explain --server member --nova-config " + zone, "3 hosts fit"},
		{"capacity headroom -f csv -c host -c fits --nova-config " + zone + ofFlavor, `"devstack0",0`},
	} {
		_, stdout, stderr := berthIn(t, "", named, strings.Fields(tc.args)...)
		contains(t, "berth "+tc.args, stdout+stderr, []string{tc.want})
	}

	// The image of a server that exists may have been deleted since.
	u.stop()
	path := filepath.Join(dir, "images.json")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	rewrite(t, path, strings.ReplaceAll(string(text), upImage, "c1440051-0000-4000-8000-000000000052"))
	u = startUp(t, dir)
	code, stdout, stderr = berthIn(t, "", named, "explain", "--server", "member")
	if code != cli.ExitOK {
		t.Errorf("berth explain of a server without its image exits with %d", code)
	}
	contains(t, "berth explain of a server without its image", stdout+stderr, []string{
		"3 hosts fit",
		"note: Traits that the image of the server member requires are ignored: there is no image with the id or name",
	})
}

// Shells complete the names of what is in a running cloud, or in a file, as flags' values and as
// the argument HOST. They wait for it two seconds, and get no failure.
func TestCompleteNames(t *testing.T) {
	dir := t.TempDir()
	u := startUp(t, dir)
	defer u.stop()
	net0 := u.made(u.network+"/networks", "network", map[string]any{"name": "net0"})
	fast := u.made(u.network+"/ports", "port", map[string]any{"name": "fast0", "network_id": net0})
	nameless := u.made(u.network+"/ports", "port", map[string]any{"network_id": net0})
	var twins []string
	for _, name := range []string{"web.1", "webs", "twin", "twin"} {
		id := u.made(u.compute+"/servers", "server", map[string]any{
			"name": name, "flavorRef": "c1", "imageRef": upImage, "networks": "none",
		})
		if name == "twin" {
			twins = append(twins, id)
		}
	}
	slices.Sort(twins)
	u.await(map[string]int{"ACTIVE": 4})
	hanging := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer hanging.Close()
	named := map[string]string{"OS_CLIENT_CONFIG_FILE": filepath.Join(dir, "clouds.yaml")}
	file := filepath.Join(dir, "cloud.json")
	if code, _, stderr := berthIn(t, "", named, "records", "export", "--os-cloud", "berth-admin", "--all",
		file); code != cli.ExitOK {
		t.Fatal(stderr)
	}
	hosts := []string{"devstack0", "devstack1", "devstack2"}
	ports := []string{"fast0", nameless}
	slices.Sort(ports)
	for _, tc := range []struct {
		line string
		want []string
	}{
		{"explain --os-cloud berth-admin --host ", hosts},
		{"explain --os-cloud berth-admin --host=devstack1", hosts[1:2]},
		{"explain --os-cloud berth-admin --server web.", []string{"web.1"}},
		{"explain --os-cloud berth-admin --server ", append(slices.Clone(twins), "web.1", "webs")},
		{"explain --os-cloud berth-admin --flavor cirros", []string{"cirros256"}},
		{"explain --os-cloud berth-admin --image cirros", []string{"cirros-0.5.1-x86_64-disk"}},
		{"explain --os-cloud berth-admin --port ", ports},
		{"explain --os-cloud berth-admin --port " + fast, nil}, // which has a name
		{"explain --os-cloud berth-admin --network ", []string{"net0"}},
		{"capacity headroom --os-cloud berth-admin --flavor 3*ci", []string{"3*cirros256"}},
		{"capacity headroom --os-cloud berth-admin --without ", hosts},
		{"capacity drain --os-cloud berth-admin devs", hosts},
		{"capacity drain --os-cloud berth-admin devstack0 ", nil},
		{"records tree --os-cloud berth-admin ", hosts},
		{"audit --os-cloud berth-admin --server webs", []string{"webs"}},
		{"audit --os-cloud berth-admin --port fas", []string{"fast0"}},
		{"doctor --os-cloud berth-admin --host ", hosts},
		{"heal --os-cloud berth-admin --server webs", []string{"webs"}},
		{"watch --os-cloud berth-admin --tree ", hosts},
		{"watch --os-cloud berth-admin --class VCP", []string{"VCPU"}},
		{"watch --os-cloud berth-admin --consumer " + twins[0], twins[:1]},
		{"records top --os-cloud berth-admin --class NET_BW_E", []string{"NET_BW_EGR_KILOBIT_PER_SEC"}},
		{"records top --from-file " + file + " --class VCP", []string{"VCPU"}},
		{"records tree --from-file " + file + " ", hosts},
		{"audit --from-file " + file + " --server webs", []string{"webs"}},
		{"audit --from-file " + file + " --port f", nil}, // it has no device
		{"audit --from-file /nowhere --server ", nil},
		{"explain --connection sqlite:////nowhere --host ", nil},
		{"explain --os-cloud nobody --server ", nil},
		{"explain --server ", nil},
	} {
		code, stdout, stderr := berthIn(t, "", named,
			append([]string{cobra.ShellCompNoDescRequestCmd}, strings.Split(tc.line, " ")...)...)
		lines := strings.Split(strings.TrimSuffix(stdout, "\n"), "\n")
		if last := len(lines) - 1; code != cli.ExitOK || !slices.Equal(lines[:last], tc.want) || lines[last] != ":4" {
			t.Errorf("berth %s completes to %q, want %q; %s", tc.line, lines, tc.want, stderr)
		}
	}
	begin := time.Now()
	code, stdout, _ := berthIn(t, "", map[string]string{
		"OS_AUTH_URL": hanging.URL, "OS_USERNAME": "u", "OS_PASSWORD": "p", "OS_PROJECT_NAME": "p",
	},
		cobra.ShellCompNoDescRequestCmd, "explain", "--server", "")
	if took := time.Since(begin); code != cli.ExitOK || stdout != ":4\n" || took > 10*time.Second {
		t.Errorf("a cloud that does not answer completes to %q after %v", stdout, took)
	}
}
