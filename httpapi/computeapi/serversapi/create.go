package serversapi

import (
	"crypto/rand"
	"net/http"
	"slices"
	"strings"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/servers"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/computeapi/wire"
	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/httpapi/pyschema"
	"github.com/berthcloud/berth/httpapi/view"
)

func createServer(q *wire.Request) error {
	v, err := q.CheckMember(serverCreateSchema(q.Minor), "server")
	if err != nil {
		return err
	}
	spec, err := serverSpec(q, v)
	if err != nil {
		return err
	}
	all, err := q.API.Servers.CreateServers(q.Context(), q.Author(), spec)
	if err != nil {
		return err
	}
	if reserve, _ := v.Get("return_reservation_id"); wire.Truth(reserve) {
		return q.Respond(http.StatusAccepted, view.Object{view.Text("reservation_id", all[0].Reservation)})
	}
	q.Writer.Header().Set("Location", q.PathURL("servers/"+string(all[0].ID)))
	return q.Respond(http.StatusAccepted, wire.Single("server", newServer(q, all[0], v)))
}

// newServer is what the answer to a request for a server shows of it.
func newServer(q *wire.Request, s servers.Server, v pyjson.Value) view.Object {
	groups, ok := v.Get("security_groups")
	if !ok {
		groups = pyjson.NewArray(pyjson.NewObject(pyjson.Member{Key: "name", Value: pyjson.NewString("default")}))
	}
	password, ok := v.Get("adminPass")
	if !ok {
		password = pyjson.NewString(newPassword())
	}
	return view.Object{
		view.Text("id", s.ID), q.Links("servers", string(s.ID)), view.Text("OS-DCF:diskConfig", s.DiskConfig),
		view.JSON("security_groups", groups), view.JSON("adminPass", password),
	}
}

// newPassword is one for the administrator of a server, as long as Nova's. What runs in
// the server does not receive it.
func newPassword() string {
	const letters, length = "23456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz", 12
	var raw [length]byte
	_, _ = rand.Read(raw[:]) // it does not fail
	for i := range raw {
		raw[i] = letters[int(raw[i])%len(letters)]
	}
	return string(raw[:])
}

// serverSpec reads which servers are requested, in the order of the checks in Nova's
// ServersController.create.
func serverSpec(q *wire.Request, v pyjson.Value) (servers.ServerSpec, error) {
	spec := plainSpec(q, v)
	for _, step := range []func(*wire.Request, *servers.ServerSpec, pyjson.Value) error{
		specCounts, specPolicy, specZone, specHost,
		specDevices, specImage, specNetworks,
	} {
		if err := step(q, &spec, v); err != nil {
			return spec, err
		}
	}
	return spec, nil
}

// plainSpec reads what cannot be wrong.
func plainSpec(q *wire.Request, v pyjson.Value) servers.ServerSpec {
	spec := servers.ServerSpec{DiskConfig: "MANUAL", PortsMayRequest: q.Minor >= 72}
	for _, m := range v.Members() {
		switch text := m.Value.Str(); m.Key {
		case "name":
			spec.Name = strings.TrimSpace(text)
		case "description":
			spec.Description = text
		case "hostname":
			spec.Hostname = text
		case "flavorRef":
			ref := pyjson.Str(m.Value)
			spec.Flavor = compute.ID(ref[strings.LastIndexByte(ref, '/')+1:])
		case "metadata":
			spec.Metadata = textsIn(m.Value)
		case "key_name":
			spec.KeyName = text
		case "user_data":
			spec.UserData = text
		case "config_drive":
			spec.ConfigDrive = wire.Truth(m.Value)
		case "OS-DCF:diskConfig":
			spec.DiskConfig = text
		case "accessIPv4":
			spec.AccessIPv4 = wire.Canonical(text)
		case "accessIPv6":
			spec.AccessIPv6 = wire.Canonical(text)
		case "tags":
			spec.Tags = listIn(m.Value)
		case "security_groups":
			spec.SecurityGroups = groupNames(m.Value)
		}
	}
	if q.Minor < 19 {
		spec.Description = spec.Name
	}
	for _, key := range []string{"OS-SCH-HNT:scheduler_hints", "os:scheduler_hints"} {
		if hints, ok := q.JSON.Get(key); ok {
			spec.Hints = httpapi.JSONText(func(j *httpapi.JSON) { j.Value(hints) })
		}
	}
	return spec
}

func textsIn(v pyjson.Value) map[string]string {
	texts := make(map[string]string, v.Len())
	for _, m := range v.Members() {
		texts[m.Key] = m.Value.Str()
	}
	return texts
}

func listIn(v pyjson.Value) []string {
	list := make([]string, v.Len())
	for i, item := range v.Items() {
		list[i] = item.Str()
	}
	return list
}

// groupNames are the names of security groups, each once.
func groupNames(v pyjson.Value) (names []string) {
	seen := map[string]bool{}
	for _, item := range v.Items() {
		if name, ok := item.Get("name"); ok && !seen[name.Str()] {
			seen[name.Str()] = true
			names = append(names, name.Str())
		}
	}
	return names
}

func specCounts(q *wire.Request, spec *servers.ServerSpec, v pyjson.Value) error {
	spec.Min = 1
	if n, ok := v.Get("min_count"); ok {
		spec.Min = countOf(n)
	}
	spec.Max = spec.Min
	if n, ok := v.Get("max_count"); ok {
		spec.Max = countOf(n)
	}
	if spec.Min > spec.Max {
		return wire.BadRequest("min_count must be <= max_count")
	}
	return nil
}

// countOf is a number of servers, which is far beyond any quota when it is too big.
func countOf(v pyjson.Value) int { return int(min(wire.Number(v), 1<<31-1)) }

func specPolicy(q *wire.Request, _ *servers.ServerSpec, _ pyjson.Value) error {
	return q.Can("servers:create", wire.OwnTarget)
}

// specZone reads the availability zone, with which administrators may name a host. The
// zone is nothing to a host that is not in it.
func specZone(q *wire.Request, spec *servers.ServerSpec, v pyjson.Value) (err error) {
	zone, _ := v.Get("availability_zone")
	if spec.Zone, spec.ForcedHost, spec.ForcedNode, err = servers.SplitZone(zone.Str()); err != nil {
		return err
	}
	if spec.ForcedHost == "" && spec.ForcedNode == "" {
		return nil
	}
	if err := q.Can("servers:create:forced_host", wire.OwnTarget); err != nil {
		return err
	}
	services, err := q.API.Fleet.Services(q.Context())
	i := slices.IndexFunc(services, func(h compute.HostService) bool { return h.Host == spec.ForcedHost })
	if i < 0 || services[i].Zone != spec.Zone {
		spec.Zone = ""
	}
	return err
}

// specHost reads the requested host or hypervisor; the other way to name one is the zone.
func specHost(q *wire.Request, spec *servers.ServerSpec, v pyjson.Value) error {
	host, _ := v.Get("host")
	node, _ := v.Get("hypervisor_hostname")
	if spec.Host, spec.Node = host.Str(), node.Str(); spec.Host == "" && spec.Node == "" {
		return nil
	}
	if err := q.Can("compute:servers:create:requested_destination", wire.OwnTarget); err != nil {
		return err
	}
	if spec.ForcedHost != "" || spec.ForcedNode != "" {
		return wire.BadRequest("One mechanism with host and/or hypervisor_hostname and another mechanism with " +
			"zone:host:node are mutually exclusive.")
	}
	return nil
}

// specDevices refuses what is not done here: volumes, files and certificates. An image
// on a disk of the host is what there is without it.
func specDevices(_ *wire.Request, _ *servers.ServerSpec, v pyjson.Value) error {
	first, _ := v.Get("block_device_mapping")
	second, _ := v.Get("block_device_mapping_v2")
	if first.Len() > 0 && second.Len() > 0 {
		return wire.BadRequest("Using different block_device_mapping syntaxes is not allowed in the same request.")
	}
	for _, d := range append(slices.Clone(first.Items()), second.Items()...) {
		source, _ := d.Get("source_type")
		where, _ := d.Get("destination_type")
		if source.Str() != "image" || where.Str() != "local" {
			return wire.BadRequest("Block Device Mapping is Invalid: servers have no volumes here.")
		}
	}
	if files, _ := v.Get("personality"); files.Len() > 0 {
		return wire.BadRequest("No files are put into servers here.")
	}
	if certificates, _ := v.Get("trusted_image_certificates"); certificates.Len() > 0 {
		return wire.BadRequest("Signatures of images are not checked here.")
	}
	return nil
}

func specImage(_ *wire.Request, spec *servers.ServerSpec, v pyjson.Value) error {
	image, _ := v.Get("imageRef")
	if spec.Image = compute.ID(image.Str()); spec.Image == "" {
		return wire.BadRequest("Missing imageRef attribute")
	}
	return nil
}

// specNetworks reads the networks. Without any, a server gets the only one that there
// is; "auto" wants one, "none" is none.
func specNetworks(q *wire.Request, spec *servers.ServerSpec, v pyjson.Value) error {
	networks, _ := v.Get("networks")
	spec.AnyNetwork = networks.Len() == 0 && networks.Str() != "none"
	spec.Auto = networks.Str() == "auto"
	ports := map[compute.ID]bool{}
	for _, item := range networks.Items() {
		n, err := networkSpec(item)
		if err != nil {
			return err
		}
		if n.Port != "" && ports[n.Port] {
			return wire.BadRequest("Port ID '%s' was specified twice: you cannot attach a port multiple times.", n.Port)
		}
		ports[n.Port] = true
		spec.Networks = append(spec.Networks, n)
	}
	if len(spec.Networks) == 0 && !spec.Auto {
		return nil
	}
	return q.Can("servers:create:attach_network", wire.OwnTarget)
}

func networkSpec(v pyjson.Value) (compute.NetworkSpec, error) {
	port, _ := v.Get("port")
	network, hasNetwork := v.Get("uuid")
	address, _ := v.Get("fixed_ip")
	tag, _ := v.Get("tag")
	n := compute.NetworkSpec{Port: compute.ID(port.Str()), Address: wire.Canonical(address.Str()), Tag: tag.Str()}
	switch {
	case n.Port != "" && n.Address != "":
		return n, wire.BadRequest(
			"Specified Fixed IP '%s' cannot be used with port '%s': the two cannot be specified together.", n.Address, n.Port)
	case n.Port != "":
		return n, nil
	case !hasNetwork:
		return n, wire.BadRequest("Bad network format: missing 'uuid'")
	case !pyschema.IsUUIDLike(network):
		return n, wire.BadRequest("Bad networks format: network uuid is not in proper format (%s)", network.Str())
	}
	n.Network = compute.ID(network.Str())
	return n, nil
}
