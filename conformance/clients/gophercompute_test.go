package clients

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	catalogue "github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/aggregates"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/attachinterfaces"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/availabilityzones"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/flavors"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/hypervisors"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/instanceactions"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/keypairs"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/limits"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/quotasets"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servergroups"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/services"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/tags"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/portsbinding"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/provider"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/qos/policies"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/qos/rules"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
	"github.com/gophercloud/gophercloud/v2/openstack/placement/v1/allocations"
	"github.com/gophercloud/gophercloud/v2/openstack/placement/v1/resourceproviders"
	"go.yaml.in/yaml/v3"

	"github.com/berthcloud/berth/internal/server"
)

// upTime bounds how long "berth up" may take for anything.
const upTime = time.Minute

// A user is a user of "berth up" with gophercloud's clients.
type user struct {
	*gopher                   // of the compute service
	network, placement, image *gophercloud.ServiceClient
}

// login reads the credentials from clouds.yaml, after waiting for the file.
func login(t *testing.T, dir, cloud string) gophercloud.AuthOptions {
	t.Helper()
	var text []byte
	var err error
	for end := time.Now().Add(upTime); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if text, err = os.ReadFile(filepath.Join(dir, "clouds.yaml")); err == nil {
			break
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	var all struct {
		Clouds map[string]struct {
			Auth struct {
				URL           string `yaml:"auth_url"`
				User          string `yaml:"username"`
				Password      string
				Project       string `yaml:"project_name"`
				UserDomain    string `yaml:"user_domain_name"`
				ProjectDomain string `yaml:"project_domain_name"`
			}
		}
	}
	if err := yaml.Unmarshal(text, &all); err != nil {
		t.Fatalf("clouds.yaml: %v\n%s", err, text)
	}
	auth := all.Clouds[cloud].Auth
	return gophercloud.AuthOptions{
		IdentityEndpoint: auth.URL, Username: auth.User, Password: auth.Password, DomainName: auth.UserDomain,
		Scope: &gophercloud.AuthScope{ProjectName: auth.Project, DomainName: auth.ProjectDomain},
	}
}

// newUser logs in to a cloud of clouds.yaml.
func newUser(t *testing.T, dir, cloud string) *user {
	t.Helper()
	p, err := catalogue.AuthenticatedClient(t.Context(), login(t, dir, cloud))
	if err != nil {
		t.Fatalf("logging in as %s: %v", cloud, err)
	}
	u := &user{gopher: &gopher{t: t, ctx: context.Background()}}
	for _, one := range []struct {
		to   **gophercloud.ServiceClient
		make func(*gophercloud.ProviderClient, gophercloud.EndpointOpts) (*gophercloud.ServiceClient, error)
	}{
		{&u.c, catalogue.NewComputeV2},
		{&u.network, catalogue.NewNetworkV2},
		{&u.placement, catalogue.NewPlacementV1},
		{&u.image, catalogue.NewImageV2},
	} {
		if *one.to, err = one.make(p, gophercloud.EndpointOpts{}); err != nil {
			t.Fatal(err)
		}
	}
	u.c.Microversion, u.placement.Microversion = "2.93", "1.36"
	return u
}

// at is the user with another microversion of the compute API.
func (u *user) at(version string) *user {
	other, g, c := *u, *u.gopher, *u.c
	c.Microversion, g.c, other.gopher = version, &c, &g
	return &other
}

// TestGophercloudBoots uses the services of "berth up" through gophercloud as the administrator and
// as the plain user.
func TestGophercloudBoots(t *testing.T) {
	_, dir := server.StartBerthUp(t)
	admin, demo := newUser(t, dir, "berth-admin"), newUser(t, dir, "berth-demo")
	flavor := admin.flavors()
	admin.cloud()
	demo.keypairs()
	group := demo.groups()
	demo.quotas(admin)

	network := admin.makeNetwork()
	policy := admin.makePolicy(1000)
	var all []string
	for range 3 {
		all = append(all, admin.makePort(network, policy))
	}
	demo.tooOld(flavor, all[:2])
	id := demo.boot(flavor, group, all[:2])
	demo.bound(admin, id, all[0], true)
	demo.bound(admin, id, all[1], true)
	demo.same("the use of bandwidth", 2000, admin.used("NET_BW_EGR_KILOBIT_PER_SEC"))
	demo.serves(id)
	demo.powers(id)
	demo.attaches(admin, id, all[2])
	demo.bootsNoMore(admin, flavor, network)
	demo.actions(id)
	demo.deletes(admin, id, group, all)
	admin.clears(flavor, network, policy, all)
}

// flavors creates a flavor with extra specs.
func (u *user) flavors() string {
	u.t.Helper()
	disk := 1
	made, err := flavors.Create(u.ctx, u.c, flavors.CreateOpts{Name: "gopher", RAM: 128, VCPUs: 1, Disk: &disk}).Extract()
	u.ok("create a flavor", err)
	specs, err := flavors.CreateExtraSpecs(u.ctx, u.c, made.ID,
		flavors.ExtraSpecsOpts{"trait:HW_CPU_X86_VMX": "required"}).Extract()
	u.ok("give it extra specs", err)
	u.same("extra specs", map[string]string{"trait:HW_CPU_X86_VMX": "required"}, specs)
	_, err = flavors.CreateExtraSpecs(u.ctx, u.c, made.ID, flavors.ExtraSpecsOpts{"trait/HW": "required"}).Extract()
	u.refused("give it an extra spec without a name", err, 400)
	_, err = flavors.Get(u.ctx, u.c, "none").Extract()
	u.refused("get no flavor", err, 404)
	page, err := flavors.ListDetail(u.c, nil).AllPages(u.ctx)
	u.ok("list flavors", err)
	all, err := flavors.ExtractFlavors(page)
	u.ok("list flavors", err)
	var names []string
	for _, f := range all {
		names = append(names, f.Name)
	}
	slices.Sort(names)
	u.same("flavors", []string{"cirros256", "gopher"}, names)
	return made.ID
}

// cloud reads the hosts, adds one to an aggregate of its own, and removes it.
func (u *user) cloud() {
	u.t.Helper()
	page, err := hypervisors.List(u.c, nil).AllPages(u.ctx)
	u.ok("list hypervisors", err)
	hs, err := hypervisors.ExtractHypervisors(page)
	u.ok("list hypervisors", err)
	if len(hs) != 1 || hs[0].HypervisorHostname != "devstack0" || hs[0].State != "up" {
		u.t.Errorf("the hypervisors are %+v", hs)
	}
	page, err = services.List(u.c, nil).AllPages(u.ctx)
	u.ok("list services", err)
	ss, err := services.ExtractServices(page)
	u.ok("list services", err)
	if len(ss) == 0 || ss[0].State != "up" {
		u.t.Errorf("the services are %+v", ss)
	}
	a, err := aggregates.Create(u.ctx, u.c, aggregates.CreateOpts{Name: "racks", AvailabilityZone: "east"}).Extract()
	u.ok("create an aggregate", err)
	_, err = aggregates.AddHost(u.ctx, u.c, a.ID, aggregates.AddHostOpts{Host: "devstack0"}).Extract()
	u.ok("add a host", err)
	zones, err := availabilityzones.List(u.c).AllPages(u.ctx)
	u.ok("list zones", err)
	zs, err := availabilityzones.ExtractAvailabilityZones(zones)
	u.ok("list zones", err)
	var names []string
	for _, z := range zs {
		names = append(names, z.ZoneName)
	}
	u.same("zones", []string{"east"}, names)
	_, err = aggregates.SetMetadata(u.ctx, u.c, a.ID,
		aggregates.SetMetadataOpts{Metadata: map[string]any{"color": "red"}}).Extract()
	u.ok("set metadata", err)
	got, err := aggregates.Get(u.ctx, u.c, a.ID).Extract()
	u.ok("get the aggregate", err)
	u.same("hosts", []string{"devstack0"}, got.Hosts)
	u.same("metadata", map[string]string{"availability_zone": "east", "color": "red"}, got.Metadata)
	u.refused("delete an aggregate with hosts", aggregates.Delete(u.ctx, u.c, a.ID).ExtractErr(), 400)
	_, err = aggregates.RemoveHost(u.ctx, u.c, a.ID, aggregates.RemoveHostOpts{Host: "devstack0"}).Extract()
	u.ok("remove the host", err)
	u.ok("delete the aggregate", aggregates.Delete(u.ctx, u.c, a.ID).ExtractErr())
}

func (u *user) keypairs() {
	u.t.Helper()
	made, err := keypairs.Create(u.ctx, u.at("2.105").c, keypairs.CreateOpts{Name: "key"}).Extract()
	u.refused("create a keypair at a version there is not", err, 406)
	if made != nil && made.Name != "" {
		u.t.Errorf("made %+v", made)
	}
	_, err = keypairs.Create(u.ctx, u.c, keypairs.CreateOpts{Name: "key", Type: "ssh"}).Extract()
	u.refused("generate a keypair", err, 400) // since 2.92
	made, err = keypairs.Create(u.ctx, u.at("2.91").c, keypairs.CreateOpts{Name: "key", Type: "ssh"}).Extract()
	u.ok("create a keypair", err)
	if made.PrivateKey == "" || made.Fingerprint == "" {
		u.t.Errorf("the keypair is %+v", made)
	}
	got, err := keypairs.Get(u.ctx, u.c, "key", nil).Extract()
	u.ok("get the keypair", err)
	u.same("public key", made.PublicKey, got.PublicKey)
	_, err = keypairs.Create(u.ctx, u.c, keypairs.CreateOpts{Name: "key", Type: "ssh", PublicKey: made.PublicKey}).
		Extract()
	u.refused("import it again", err, 409)
	imported, err := keypairs.Create(u.ctx, u.c,
		keypairs.CreateOpts{Name: "me@host.1", Type: "ssh", PublicKey: made.PublicKey}).Extract()
	u.ok("import it under another name", err)
	u.same("fingerprint", made.Fingerprint, imported.Fingerprint)
}

func (u *user) groups() string {
	u.t.Helper()
	g, err := servergroups.Create(u.ctx, u.c, servergroups.CreateOpts{Name: "apart", Policy: "anti-affinity"}).Extract()
	u.ok("create a server group", err)
	_, err = servergroups.Create(u.ctx, u.c, servergroups.CreateOpts{Name: "odd", Policy: "odd"}).Extract()
	u.refused("create an odd one", err, 400)
	return g.ID
}

// quotas has the administrator change the user's quotas.
func (u *user) quotas(admin *user) {
	u.t.Helper()
	page, err := servergroups.List(u.c, nil).AllPages(u.ctx)
	u.ok("list server groups", err)
	gs, err := servergroups.ExtractServerGroups(page)
	u.ok("list server groups", err)
	if len(gs) != 1 {
		u.t.Fatalf("the server groups are %+v", gs)
	}
	project := gs[0].ProjectID
	q, err := quotasets.Get(u.ctx, u.c, project).Extract()
	u.ok("get quotas", err)
	u.same("instances", 10, q.Instances)
	two := 2
	_, err = quotasets.Update(u.ctx, u.c, project, quotasets.UpdateOpts{Instances: &two}).Extract()
	u.refused("change one's own quotas", err, 403)
	_, err = quotasets.Update(admin.ctx, admin.c, project, quotasets.UpdateOpts{Instances: &two}).Extract()
	u.ok("change quotas", err)
	l, err := limits.Get(u.ctx, u.c, nil).Extract()
	u.ok("get limits", err)
	u.same("instances", 2, l.Absolute.MaxTotalInstances)
}

func (u *user) makeNetwork() string {
	u.t.Helper()
	shared := true
	n, err := networks.Create(u.ctx, u.network, provider.CreateOptsExt{
		CreateOptsBuilder: networks.CreateOpts{Name: "net0", Shared: &shared},
		Segments:          []provider.Segment{{NetworkType: "vlan", PhysicalNetwork: "physnet0", SegmentationID: 100}},
	}).Extract()
	u.ok("create a network", err)
	_, err = subnets.Create(u.ctx, u.network,
		subnets.CreateOpts{NetworkID: n.ID, IPVersion: gophercloud.IPv4, CIDR: "10.0.0.0/24"}).Extract()
	u.ok("create a subnet", err)
	return n.ID
}

func (u *user) makePolicy(kbps int) string {
	u.t.Helper()
	p, err := policies.Create(u.ctx, u.network, policies.CreateOpts{Name: "guaranteed"}).Extract()
	u.ok("create a policy", err)
	for _, direction := range []string{"egress", "ingress"} {
		_, err := rules.CreateMinimumBandwidthRule(u.ctx, u.network, p.ID,
			rules.CreateMinimumBandwidthRuleOpts{MinKBps: kbps, Direction: direction}).ExtractMinimumBandwidthRule()
		u.ok("create a rule", err)
	}
	return p.ID
}

func (u *user) makePort(network, policy string) string {
	u.t.Helper()
	p, err := ports.Create(u.ctx, u.network,
		policies.PortCreateOptsExt{CreateOptsBuilder: ports.CreateOpts{NetworkID: network}, QoSPolicyID: policy}).Extract()
	u.ok("create a port", err)
	return p.ID
}

// wish is the request for a server with ports.
func wish(flavor, image string, all []string) servers.CreateOpts {
	nets := make([]servers.Network, len(all))
	for i, p := range all {
		nets[i].Port = p
	}
	opts := servers.CreateOpts{
		Name: "vm", FlavorRef: flavor, ImageRef: image, Networks: nets, Metadata: map[string]string{"a": "b"},
		Tags: []string{"blue"},
	}
	if len(all) == 0 {
		opts.Networks = "none"
	}
	return opts
}

// anImage is the only image.
func (u *user) anImage() string {
	u.t.Helper()
	page, err := images.List(u.image, nil).AllPages(u.ctx)
	u.ok("list images", err)
	all, err := images.ExtractImages(page)
	u.ok("list images", err)
	if len(all) != 1 || all[0].Status != images.ImageStatusActive {
		u.t.Fatalf("the images are %+v", all)
	}
	return all[0].ID
}

// tooOld boots a server at a version that does not support ports with resource requests.
func (u *user) tooOld(flavor string, all []string) {
	u.t.Helper()
	old := u.at("2.71")
	_, err := servers.Create(old.ctx, old.c, wish(flavor, u.anImage(), all), nil).Extract()
	old.refused("boot with guaranteed ports", err, 400)
	u.same("servers", 0, len(u.servers()))
}

func (u *user) servers() []servers.Server {
	u.t.Helper()
	page, err := servers.List(u.c, servers.ListOpts{}).AllPages(u.ctx)
	u.ok("list servers", err)
	all, err := servers.ExtractServers(page)
	u.ok("list servers", err)
	return all
}

// boot boots a server of a group.
func (u *user) boot(flavor, group string, all []string) string {
	u.t.Helper()
	opts := keypairs.CreateOptsExt{CreateOptsBuilder: wish(flavor, u.anImage(), all), KeyName: "key"}
	made, err := servers.Create(u.ctx, u.c, opts, servers.SchedulerHintOpts{Group: group}).Extract()
	u.ok("boot", err)
	if made.AdminPass == "" {
		u.t.Error("the server has no password")
	}
	u.becomes(made.ID, "ACTIVE")
	return made.ID
}

// becomes waits until a server has a state and no task.
func (u *user) becomes(id, want string) {
	u.t.Helper()
	for end := time.Now().Add(upTime); ; time.Sleep(20 * time.Millisecond) {
		s, err := servers.Get(u.ctx, u.c, id).Extract()
		u.ok("get the server", err)
		if s.Status == want && s.TaskState == "" {
			return
		}
		if time.Now().After(end) || s.Status == "ERROR" {
			u.t.Fatalf("server %s is %s, %q, not %s: %+v", id, s.Status, s.TaskState, want, s.Fault)
		}
	}
}

// bound reports an error unless a port is bound to a server, or to none, with the provider that
// serves it.
func (u *user) bound(admin *user, server, port string, cur bool) {
	u.t.Helper()
	var got struct {
		ports.Port
		portsbinding.PortsBindingExt
	}
	u.ok("get the port", ports.Get(admin.ctx, admin.network, port).ExtractInto(&got))
	want, host := "", ""
	if cur {
		want, host = server, "devstack0"
	}
	allocation, _ := got.Profile["allocation"].(map[string]any)
	if got.DeviceID != want || got.HostID != host || (len(allocation) > 0) != cur {
		u.t.Errorf("port %s is of %q on %q with %v", port, got.DeviceID, got.HostID, got.Profile)
	}
}

// used is how much of a class is in use, of all providers.
func (u *user) used(class string) (n int) {
	u.t.Helper()
	page, err := resourceproviders.List(u.placement, resourceproviders.ListOpts{}).AllPages(u.ctx)
	u.ok("list providers", err)
	all, err := resourceproviders.ExtractResourceProviders(page)
	u.ok("list providers", err)
	for _, p := range all {
		got, err := resourceproviders.GetUsages(u.ctx, u.placement, p.UUID).Extract()
		u.ok("get usages", err)
		n += got.Usages[class]
	}
	return n
}

// serves reads a server, and changes its name and metadata.
func (u *user) serves(id string) {
	u.t.Helper()
	all := u.servers()
	if len(all) != 1 || all[0].ID != id || all[0].KeyName != "key" || all[0].Tags == nil || len(*all[0].Tags) != 1 {
		u.t.Errorf("the servers are %+v", all)
	}
	s, err := servers.Update(u.ctx, u.c, id, servers.UpdateOpts{Name: "other"}).Extract()
	u.ok("rename the server", err)
	u.same("name", "other", s.Name)
	m, err := servers.UpdateMetadata(u.ctx, u.c, id, servers.MetadataOpts{"c": "d"}).Extract()
	u.ok("add metadata", err)
	u.same("metadata", map[string]string{"a": "b", "c": "d"}, m)
	u.ok("add a tag", tags.Add(u.ctx, u.c, id, "red").ExtractErr())
	ts, err := tags.List(u.ctx, u.c, id).Extract()
	u.ok("list tags", err)
	u.same("tags", []string{"blue", "red"}, ts)
	page, err := servers.ListAddresses(u.c, id).AllPages(u.ctx)
	u.ok("list addresses", err)
	addresses, err := servers.ExtractAddresses(page)
	u.ok("list addresses", err)
	u.same("addresses", 2, len(addresses["net0"]))
	_, err = servers.Get(u.ctx, u.c, "00000000-0000-4000-8000-000000000000").Extract()
	u.refused("get no server", err, 404)
}

// powers stops, starts, reboots, pauses, suspends and locks a server.
func (u *user) powers(id string) {
	u.t.Helper()
	u.ok("stop", servers.Stop(u.ctx, u.c, id).ExtractErr())
	u.becomes(id, "SHUTOFF")
	u.refused("stop what is stopped", servers.Stop(u.ctx, u.c, id).ExtractErr(), 409)
	u.ok("start", servers.Start(u.ctx, u.c, id).ExtractErr())
	u.becomes(id, "ACTIVE")
	u.ok("reboot", servers.Reboot(u.ctx, u.c, id, servers.RebootOpts{Type: servers.HardReboot}).ExtractErr())
	u.becomes(id, "ACTIVE")
	u.ok("pause", servers.Pause(u.ctx, u.c, id).ExtractErr())
	u.becomes(id, "PAUSED")
	u.refused("suspend what is paused", servers.Suspend(u.ctx, u.c, id).ExtractErr(), 409)
	u.ok("unpause", servers.Unpause(u.ctx, u.c, id).ExtractErr())
	u.becomes(id, "ACTIVE")
	u.ok("suspend", servers.Suspend(u.ctx, u.c, id).ExtractErr())
	u.becomes(id, "SUSPENDED")
	u.ok("resume", servers.Resume(u.ctx, u.c, id).ExtractErr())
	u.becomes(id, "ACTIVE")
	u.ok("lock", servers.Lock(u.ctx, u.c, id).ExtractErr())
	u.ok("unlock", servers.Unlock(u.ctx, u.c, id).ExtractErr())
}

// attaches attaches a port to a server and detaches it.
func (u *user) attaches(admin *user, id, port string) {
	u.t.Helper()
	got, err := attachinterfaces.Create(u.ctx, u.c, id, attachinterfaces.CreateOpts{PortID: port}).Extract()
	u.ok("attach a port", err)
	u.same("the port", port, got.PortID)
	_, err = attachinterfaces.Create(u.ctx, u.c, id, attachinterfaces.CreateOpts{PortID: port}).Extract()
	u.refused("attach it again", err, 409)
	u.bound(admin, id, port, true)
	u.same("the use of bandwidth", 3000, admin.used("NET_BW_EGR_KILOBIT_PER_SEC"))
	page, err := attachinterfaces.List(u.c, id).AllPages(u.ctx)
	u.ok("list interfaces", err)
	all, err := attachinterfaces.ExtractInterfaces(page)
	u.ok("list interfaces", err)
	u.same("interfaces", 3, len(all))
	_, err = attachinterfaces.Get(u.ctx, u.c, id, port).Extract()
	u.ok("get the interface", err)
	u.ok("detach the port", attachinterfaces.Delete(u.ctx, u.c, id, port).ExtractErr())
	for end := time.Now().Add(upTime); time.Now().Before(end) && admin.used("NET_BW_EGR_KILOBIT_PER_SEC") != 2000; {
		time.Sleep(20 * time.Millisecond)
	}
	u.bound(admin, id, port, false)
	u.same("the use of bandwidth", 2000, admin.used("NET_BW_EGR_KILOBIT_PER_SEC"))
}

// bootsNoMore boots servers without free capacity: in a group with anti-affinity, and of bandwidth.
func (u *user) bootsNoMore(admin *user, flavor, network string) {
	u.t.Helper()
	policy := admin.makePolicy(20_000_000)
	port := admin.makePort(network, policy)
	made, err := servers.Create(u.ctx, u.c, wish(flavor, u.anImage(), []string{port}), nil).Extract()
	u.ok("boot beyond the bridge", err)
	for end := time.Now().Add(upTime); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if made, err = servers.Get(u.ctx, u.c, made.ID).Extract(); err != nil || made.Status != "BUILD" {
			break
		}
	}
	u.ok("get the server", err)
	u.same("its fault", "No valid host was found. ", made.Fault.Message)
	_, err = servers.Create(u.ctx, u.c, wish(flavor, u.anImage(), nil), nil).Extract()
	u.refused("boot beyond the quota", err, 403)
	u.ok("delete the server", servers.Delete(u.ctx, u.c, made.ID).ExtractErr())
	u.goes(made.ID)
	u.ok("delete the port", ports.Delete(admin.ctx, admin.network, port).ExtractErr())
	u.ok("delete the policy", policies.Delete(admin.ctx, admin.network, policy).ExtractErr())
}

// goes waits until a server has been removed.
func (u *user) goes(id string) {
	u.t.Helper()
	for end := time.Now().Add(upTime); ; time.Sleep(20 * time.Millisecond) {
		_, err := servers.Get(u.ctx, u.c, id).Extract()
		if gophercloud.ResponseCodeIs(err, 404) {
			return
		}
		u.ok("get the server", err)
		if time.Now().After(end) {
			u.t.Fatalf("server %s does not go", id)
		}
	}
}

// actions reads the actions on a server.
func (u *user) actions(id string) {
	u.t.Helper()
	page, err := instanceactions.List(u.c, id, nil).AllPages(u.ctx)
	u.ok("list actions", err)
	all, err := instanceactions.ExtractInstanceActions(page)
	u.ok("list actions", err)
	done := map[string]int{}
	for _, a := range all {
		done[a.Action]++
		one, err := instanceactions.Get(u.ctx, u.c, id, a.RequestID).Extract()
		u.ok("get an action", err)
		for _, e := range *one.Events {
			u.same("the result of "+a.Action+", "+e.Event, "Success", e.Result)
		}
	}
	u.same("actions", map[string]int{
		"create": 1, "stop": 1, "start": 1, "reboot": 1, "pause": 1, "unpause": 1, "suspend": 1, "resume": 1, "lock": 1,
		"unlock": 1, "attach_interface": 1, "detach_interface": 1,
	}, done)
}

// deletes deletes a server, and checks that nothing is left.
func (u *user) deletes(admin *user, id, group string, all []string) {
	u.t.Helper()
	allocated, err := allocations.Get(admin.ctx, admin.placement, id).Extract()
	u.ok("get what the server holds", err)
	u.same("providers that it holds of", 2, len(allocated.Allocations))
	u.ok("delete", servers.Delete(u.ctx, u.c, id).ExtractErr())
	u.goes(id)
	allocated, err = allocations.Get(admin.ctx, admin.placement, id).Extract()
	u.ok("get what the server holds", err)
	u.same("providers that it holds of", 0, len(allocated.Allocations))
	for _, p := range all {
		u.bound(admin, id, p, false)
	}
	u.ok("delete the group", servergroups.Delete(u.ctx, u.c, group).ExtractErr())
	u.ok("delete the keypair", keypairs.Delete(u.ctx, u.c, "key", nil).ExtractErr())
	for _, class := range []string{
		"VCPU", "MEMORY_MB", "DISK_GB", "NET_BW_EGR_KILOBIT_PER_SEC", "NET_BW_IGR_KILOBIT_PER_SEC",
	} {
		u.same("the use of "+class, 0, admin.used(class))
	}
}

// clears removes the objects that the administrator has created.
func (u *user) clears(flavor, network, policy string, all []string) {
	u.t.Helper()
	for _, p := range all {
		u.ok("delete a port", ports.Delete(u.ctx, u.network, p).ExtractErr())
	}
	u.ok("delete the network", networks.Delete(u.ctx, u.network, network).ExtractErr())
	u.ok("delete the policy", policies.Delete(u.ctx, u.network, policy).ExtractErr())
	u.ok("delete the flavor", flavors.Delete(u.ctx, u.c, flavor).ExtractErr())
}
