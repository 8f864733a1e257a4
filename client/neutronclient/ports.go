package neutronclient

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"

	"github.com/berthcloud/berth/client"
	"github.com/berthcloud/berth/compute"
	computerequest "github.com/berthcloud/berth/compute/request"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/guarantee"
)

// wirePort is a port in Neutron's JSON.
type wirePort struct {
	ID         string          `json:"id"`
	Network    string          `json:"network_id"`
	Project    string          `json:"tenant_id"`
	Device     string          `json:"device_id"`
	MAC        string          `json:"mac_address"`
	Status     string          `json:"status"`
	FixedIPs   []wireFixedIP   `json:"fixed_ips"`
	Allocation string          `json:"ip_allocation"`
	VNIC       string          `json:"binding:vnic_type"`
	VIF        string          `json:"binding:vif_type"`
	Host       string          `json:"binding:host_id"`
	Profile    json.RawMessage `json:"binding:profile"`
	Request    *wireRequest    `json:"resource_request"`
	NUMAPolicy string          `json:"numa_affinity_policy"`
	Revision   int64           `json:"revision_number"`
}

type wireFixedIP struct {
	IP     string `json:"ip_address"`
	Subnet string `json:"subnet_id"`
}

// wireRequest is a resource_request, in either of its formats.
type wireRequest struct {
	wireNeeds
	Groups      []wireGroup `json:"request_groups"`
	SameSubtree []string    `json:"same_subtree"`
}

type wireGroup struct {
	ID string `json:"id"`
	wireNeeds
}

type wireNeeds struct {
	Resources map[string]int64  `json:"resources"`
	Required  []json.RawMessage `json:"required"`
}

// group returns the needs of a group.
func (n wireNeeds) group(id string) computerequest.Group {
	g := computerequest.Group{ID: id, Resources: n.Resources}
	for _, raw := range n.Required {
		var one string
		if json.Unmarshal(raw, &one) == nil {
			g.Required = append(g.Required, one)
			continue
		}
		_ = json.Unmarshal(raw, &g.AnyOf) // one of which is enough; an empty one requests nothing
	}
	return g
}

// requestOf returns the resource request of a port.
func (w *wirePort) requestOf() computerequest.Port {
	p := computerequest.Port{ID: w.ID, VNIC: w.VNIC, NUMAPolicy: w.NUMAPolicy}
	switch r := w.Request; {
	case r == nil:
	case r.Groups != nil:
		for _, g := range r.Groups {
			p.Groups = append(p.Groups, g.group(g.ID))
		}
		p.SameSubtree = r.SameSubtree
	case len(r.Resources) > 0:
		p.LegacyFormat, p.Groups = true, []computerequest.Group{r.group(w.ID)}
	}
	return p
}

// wireProfile has the keys of a binding:profile that compute uses.
type wireProfile struct {
	Allocation guarantee.ProfileAllocation `json:"allocation"`
	Slot       string                      `json:"pci_slot"`
}

// port returns a port in compute's types.
func (w *wirePort) port(nets map[string]wireNetwork, subnets *prefixes) compute.Port {
	p := compute.Port{
		ID: compute.ID(w.ID), Network: compute.ID(w.Network), Project: w.Project, Server: w.Device, MAC: w.MAC,
		Status:      w.Status,
		NetworkName: nets[w.Network].Name, PhysicalNetwork: nets[w.Network].PhysicalNetwork,
		IPDeferred: w.Allocation == "deferred", NoIP: w.Allocation == "none", VNIC: w.VNIC, VIF: w.VIF, Host: w.Host,
		Revision: w.Revision, ResourceRequest: w.requestOf(),
		Profile: w.Profile,
	}
	for _, a := range w.FixedIPs {
		p.Addresses = append(p.Addresses, compute.Address{
			IP: a.IP, Subnet: compute.ID(a.Subnet), Prefix: subnets.of(a.Subnet),
		})
	}
	var profile wireProfile
	if json.Unmarshal(w.Profile, &profile) == nil { // any client may write anything there
		p.Allocation, p.Slot = profile.Allocation, profile.Slot
	}
	return p
}

type wirePortAnswer struct {
	Port *wirePort `json:"port"`
}

func (w *wirePortAnswer) Valid() bool { return w.Port != nil && w.Port.ID != "" }

type wirePorts struct {
	Ports *[]wirePort `json:"ports"`
}

func (w *wirePorts) Valid() bool { return w.Ports != nil }

func portPath(id compute.ID) string { return "/v2.0/ports/" + url.PathEscape(string(id)) }

// Port is compute.Network's.
func (n *Client) Port(ctx context.Context, id compute.ID) (compute.Port, error) {
	w, err := n.readPort(ctx, id)
	if err != nil {
		return compute.Port{}, err
	}
	return n.one(ctx, w)
}

func (n *Client) readPort(ctx context.Context, id compute.ID) (*wirePort, error) {
	var answer wirePortAnswer
	err := n.service.Call(ctx, client.Request{Method: http.MethodGet, Path: portPath(id)}, &answer)
	return answer.Port, noPort(err)
}

// one returns a port with its network.
func (n *Client) one(ctx context.Context, w *wirePort) (compute.Port, error) {
	all, err := n.all(ctx, []wirePort{*w})
	if err != nil {
		return compute.Port{}, err
	}
	return all[0], nil
}

// all returns ports with their networks and subnets.
func (n *Client) all(ctx context.Context, ports []wirePort) ([]compute.Port, error) {
	query := url.Values{"fields": {"id", "name", "provider:physical_network"}}
	for _, w := range ports {
		if !slices.Contains(query["id"], w.Network) {
			query.Add("id", w.Network)
		}
	}
	nets, err := n.networks(ctx, query)
	if err != nil {
		return nil, err
	}
	if err := n.learnPrefixes(ctx, ports); err != nil {
		return nil, err
	}
	byID := map[string]wireNetwork{}
	for _, net := range nets {
		byID[net.ID] = net
	}
	all := make([]compute.Port, len(ports))
	for i := range ports {
		all[i] = ports[i].port(byID, &n.prefixes)
	}
	return all, nil
}

// list returns the ports that a query finds.
func (n *Client) list(ctx context.Context, query url.Values) ([]compute.Port, error) {
	var answer wirePorts
	err := n.service.Call(ctx, client.Request{Method: http.MethodGet, Path: "/v2.0/ports?" + query.Encode()}, &answer)
	if err != nil {
		return nil, client.UnknownPath(err)
	}
	if len(*answer.Ports) == 0 {
		return nil, nil
	}
	return n.all(ctx, *answer.Ports)
}

// Ports is compute.Network's.
func (n *Client) Ports(ctx context.Context, ids ...compute.ID) ([]compute.Port, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	query := url.Values{}
	for _, id := range ids {
		query.Add("id", string(id))
	}
	return n.list(ctx, query)
}

// ServerPorts is compute.Network's.
func (n *Client) ServerPorts(ctx context.Context, servers ...compute.ID) ([]compute.Port, error) {
	if len(servers) == 0 {
		return nil, nil
	}
	query := url.Values{}
	for _, id := range servers {
		query.Add("device_id", string(id))
	}
	return n.list(ctx, query)
}

// PortWithAddress is compute.Network's.
func (n *Client) PortWithAddress(ctx context.Context, net compute.ID, address string) (compute.Port, error) {
	all, err := n.list(ctx, url.Values{"network_id": {string(net)}, "fixed_ips": {"ip_address=" + address}})
	if err == nil && len(all) == 0 {
		err = compute.ErrNoPort
	}
	if err != nil {
		return compute.Port{}, err
	}
	return all[0], nil
}

// CreatePort is compute.Network's.
func (n *Client) CreatePort(ctx context.Context, p compute.PortSpec) (compute.Port, error) {
	body := map[string]any{
		"network_id": p.Network, "tenant_id": p.Project, "device_id": p.Server, "device_owner": p.Owner,
		"admin_state_up": true,
	}
	if p.Address != "" {
		body["fixed_ips"] = []map[string]string{{"ip_address": p.Address}}
	}
	if len(p.SecurityGroups) > 0 {
		body["security_groups"] = p.SecurityGroups
	}
	var answer wirePortAnswer
	q := client.Request{Method: http.MethodPost, Path: "/v2.0/ports", Body: map[string]any{"port": body}, Once: true}
	if err := n.service.Call(ctx, q, &answer); err != nil {
		return compute.Port{}, noNewPort(err, p)
	}
	return n.one(ctx, answer.Port)
}

// noNewPort converts Neutron's refusal to create a port into compute's error.
func noNewPort(err error, p compute.PortSpec) error {
	var r *client.Refusal
	if !errors.As(err, &r) {
		return err
	}
	switch r.Code {
	case "OverQuota":
		return fault.New(fault.Denied, "PortLimitExceeded", "Maximum number of ports exceeded")
	case "IpAddressGenerationFailure":
		return fault.New(fault.Invalid, "NoMoreFixedIps", "No fixed IP addresses available for network: %s", p.Network)
	case "InvalidIpForNetwork":
		return fault.New(fault.Invalid, "InvalidInput",
			"Invalid input received: Fixed IP %s is not a valid ip address for network %s.", p.Address, p.Network)
	case "IpAddressInUse", "IpAddressAlreadyAllocated":
		return fault.New(fault.Conflict, "FixedIpAlreadyInUse", "Fixed IP %s is already in use.", p.Address)
	}
	return err
}

// allocationKey is the key of a binding:profile that names the providers of a port.
const allocationKey = "allocation"

// destinationKey is the key of a binding:profile that names the host that the port is being moved
// to.
const destinationKey = "migrating_to"

// The keys of a binding:profile that are compute's (nova.network.neutron).
var profileKeys = []string{
	allocationKey, destinationKey, "pci_vendor_info", "pci_slot", "physical_network", "card_serial_number",
	"pf_mac_address", "vf_num", "device_mac_address", "arq_uuid",
}

// profile returns the profile of a port without compute's keys.
func (w *wirePort) profile() (map[string]any, error) {
	others := map[string]any{}
	if len(w.Profile) > 0 {
		if err := json.Unmarshal(w.Profile, &others); err != nil || others == nil {
			return map[string]any{}, err
		}
	}
	for _, key := range profileKeys {
		delete(others, key)
	}
	return others, nil
}

// profileWith returns the profile of a port with compute's keys as a binding has them.
func (w *wirePort) profileWith(b compute.Binding) (map[string]any, error) {
	profile, err := w.profile()
	if err != nil {
		return nil, err
	}
	if !b.Allocation.Empty() {
		profile[allocationKey] = b.Allocation
	}
	if d := b.Device; d != nil {
		profile["pci_slot"], profile["pci_vendor_info"], profile["physical_network"] = d.Slot, d.Vendor, d.PhysicalNetwork
	}
	return profile, nil
}

// BindPort is compute.Network's.
func (n *Client) BindPort(ctx context.Context, p compute.Port, b compute.Binding) (compute.Port, error) {
	if p.Server != "" && p.Server != string(b.Server) {
		return compute.Port{}, portInUse(p.ID)
	}
	profile, err := (&wirePort{Profile: p.Profile}).profileWith(b)
	if err != nil {
		return compute.Port{}, err
	}
	body := map[string]any{
		"device_id": b.Server, "device_owner": b.Owner, "binding:host_id": b.Host, "binding:profile": profile,
	}
	w, err := n.put(ctx, p.ID, p.Revision, body)
	if err != nil {
		return compute.Port{}, err
	}
	if err := n.learnPrefixes(ctx, []wirePort{*w}); err != nil {
		return compute.Port{}, err
	}
	bound := w.port(map[string]wireNetwork{w.Network: {Name: p.NetworkName, PhysicalNetwork: p.PhysicalNetwork}},
		&n.prefixes)
	if bound.Failed() {
		bound.Reason = n.whyUnbound(ctx, p.ID, b.Host)
	}
	return bound, nil
}

type wireReason struct {
	Reason string `json:"reason"`
}

func (w *wireReason) Valid() bool { return true }

// whyUnbound returns why a port could not be bound to a host, "" when the service does not return
// it: Neutron has it only in its log, and the reason is only informative.
func (n *Client) whyUnbound(ctx context.Context, id compute.ID, host string) string {
	var answer wireReason
	path := "/berth/v1/ports/" + url.PathEscape(string(id)) + "/binding?" + url.Values{"host": {host}}.Encode()
	if n.service.Call(ctx, client.Request{Method: http.MethodGet, Path: path}, &answer) != nil {
		return ""
	}
	return answer.Reason
}

// Settle is compute.Network's. Neutron changes allocations before it answers, and does not have the
// path.
func (n *Client) Settle(ctx context.Context, server compute.ID) error {
	path := "/berth/v1/servers/" + url.PathEscape(string(server)) + "/settle"
	err := n.service.Call(ctx, client.Request{Method: http.MethodPost, Path: path}, nil)
	if client.Refused(err, http.StatusNotFound) != nil {
		return nil
	}
	return err
}

// portInUse is the fault of a port that is another server's.
func portInUse(id compute.ID) error {
	return fault.New(fault.Conflict, "PortInUse", "Port %s is still in use.", id)
}

// codeChanged is Berth's code for a port whose resource request differs from its allocation.
const codeChanged = "ResourceRequestChanged"

// portChanged marks the refusal of an allocation that is not for the resource request of the port.
func portChanged(err error) error {
	if r := client.Refused(err, http.StatusConflict); r != nil && r.Code == codeChanged {
		return client.Known(r, compute.ErrPortChanged)
	}
	return noPort(err)
}

// put changes a port that has a revision, 0 for any.
func (n *Client) put(ctx context.Context, id compute.ID, revision int64, body map[string]any) (*wirePort, error) {
	var answer wirePortAnswer
	q := client.Request{Method: http.MethodPut, Path: portPath(id), Body: map[string]any{"port": body}, Revision: revision}
	err := n.service.Call(ctx, q, &answer)
	if r := client.Refused(err, http.StatusPreconditionFailed); r != nil {
		return nil, client.Known(r, compute.ErrRevision)
	}
	return answer.Port, portChanged(err)
}

// profileAsIs returns the profile of a port with all of its keys.
func (w *wirePort) profileAsIs() (map[string]json.RawMessage, error) {
	profile := map[string]json.RawMessage{}
	if len(w.Profile) > 0 {
		if err := json.Unmarshal(w.Profile, &profile); err != nil {
			return nil, err
		}
	}
	if profile == nil { // it was null
		profile = map[string]json.RawMessage{}
	}
	return profile, nil
}

// NameDestination is compute.Network's.
func (n *Client) NameDestination(ctx context.Context, id compute.ID, host string) error {
	now, err := n.readPort(ctx, id)
	if err != nil {
		return err
	}
	profile, err := now.profileAsIs()
	if err != nil {
		return err
	}
	named, found := profile[destinationKey]
	text, err := json.Marshal(host)
	switch {
	case err != nil:
		return err
	case host == "" && !found, string(named) == string(text):
		return nil
	case host == "":
		delete(profile, destinationKey)
	default:
		profile[destinationKey] = text
	}
	_, err = n.put(ctx, id, now.Revision, map[string]any{"binding:profile": profile})
	return err
}

// NameProviders is compute.Network's.
func (n *Client) NameProviders(
	ctx context.Context, id compute.ID, revision int64, a guarantee.ProfileAllocation,
) (compute.Port, error) {
	now, err := n.readPort(ctx, id)
	if err != nil {
		return compute.Port{}, err
	}
	if revision != 0 && now.Revision != revision {
		return compute.Port{}, compute.ErrRevision
	}
	profile, err := now.profileAsIs()
	if err != nil {
		return compute.Port{}, err
	}
	delete(profile, allocationKey)
	if !a.Empty() {
		if profile[allocationKey], err = json.Marshal(a); err != nil {
			return compute.Port{}, err
		}
	}
	w, err := n.put(ctx, id, now.Revision, map[string]any{"binding:profile": profile})
	if err != nil {
		return compute.Port{}, err
	}
	return n.one(ctx, w)
}

// UnbindPort is compute.Network's.
func (n *Client) UnbindPort(ctx context.Context, server, id compute.ID, revision int64) (compute.Port, error) {
	now, err := n.readPort(ctx, id)
	if err != nil {
		return compute.Port{}, err
	}
	switch {
	case revision != 0 && now.Revision != revision:
		return compute.Port{}, compute.ErrRevision
	case now.Device == "":
		return n.one(ctx, now)
	case now.Device != string(server):
		return compute.Port{}, portInUse(id)
	}
	profile, err := now.profile()
	if err != nil {
		return compute.Port{}, err
	}
	body := map[string]any{"device_id": "", "device_owner": "", "binding:host_id": nil, "binding:profile": profile}
	w, err := n.put(ctx, id, now.Revision, body)
	if err != nil {
		return compute.Port{}, err
	}
	return n.one(ctx, w)
}

// DeletePort is compute.Network's.
func (n *Client) DeletePort(ctx context.Context, id compute.ID) error {
	err := noPort(n.service.Call(ctx, client.Request{Method: http.MethodDelete, Path: portPath(id)}, nil))
	if isNoPort(err) {
		return nil
	}
	return err
}
