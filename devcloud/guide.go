package devcloud

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"

	"github.com/berthcloud/berth/httpapi/identityapi"
	"github.com/berthcloud/berth/internal/backoff"
)

// A scenario plays the guide to guaranteed minimum bandwidth over HTTP with gophercloud: an
// administrator creates a network and a policy, and a user a port and a server.
type scenario struct {
	out         io.Writer
	admin, user person
}

// A person has the clients of one user.
type person struct{ network, compute, placement *gophercloud.ServiceClient }

// An object is one of JSON.
type object = map[string]any

// scenarioTime bounds the wait for the creation or removal of a server.
const scenarioTime = 30 * time.Second

// playGuide plays the guide and prints the result of each step. It removes everything that it has
// created.
func (c *cloud) playGuide(ctx context.Context, out io.Writer) error {
	s := &scenario{out: out}
	var err error
	if s.admin, err = c.person(ctx, upAdmin); err != nil {
		return err
	}
	if s.user, err = c.person(ctx, upDemo); err != nil {
		return err
	}
	return s.play(ctx)
}

// person logs a user in.
func (c *cloud) person(ctx context.Context, name string) (p person, err error) {
	provider, err := openstack.AuthenticatedClient(ctx, gophercloud.AuthOptions{
		IdentityEndpoint: c.url(c.identity) + "/v3", Username: name, Password: c.passwords[name],
		TenantName: upProject.Name, DomainName: "Default",
	})
	if err != nil {
		return p, err
	}
	var errs [3]error
	opts := gophercloud.EndpointOpts{Region: identityapi.Region}
	p.network, errs[0] = openstack.NewNetworkV2(provider, opts)
	p.compute, errs[1] = openstack.NewComputeV2(provider, opts)
	p.placement, errs[2] = openstack.NewPlacementV1(provider, opts)
	if err := errors.Join(errs[:]...); err != nil {
		return p, err
	}
	p.compute.Microversion, p.placement.Microversion = "2.72", "1.39"
	return p, nil
}

// say prints a line.
func (s *scenario) say(format string, args ...any) { fmt.Fprintf(s.out, format+"\n", args...) }

// made creates an object of a kind and returns its id.
func made(
	ctx context.Context, client *gophercloud.ServiceClient, kind string, o object, path ...string,
) (string, error) {
	var answer map[string]struct{ ID string }
	_, err := client.Post(ctx, client.ServiceURL(path...), object{kind: o}, &answer,
		&gophercloud.RequestOpts{OkCodes: []int{http.StatusCreated, http.StatusAccepted}})
	return answer[kind].ID, err
}

// play goes through the guide. On an error it stops where it is: the cloud is temporary.
func (s *scenario) play(ctx context.Context) error {
	net, policy, err := s.prepare(ctx)
	if err != nil {
		return err
	}
	port, err := made(ctx, s.user.network, "port",
		object{"name": "port-normal-qos", "network_id": net, "qos_policy_id": policy}, "ports")
	if err != nil {
		return err
	}
	if err := s.showRequest(ctx, port); err != nil {
		return err
	}
	server, err := s.boot(ctx, port)
	if err != nil {
		return err
	}
	if err := s.showServer(ctx, server, port); err != nil {
		return err
	}
	return s.remove(ctx, server, port, policy, net)
}

// prepare creates the network and the policy, as the administrator.
func (s *scenario) prepare(ctx context.Context) (net, policy string, err error) {
	client := s.admin.network
	if net, err = made(ctx, client, "network", object{
		"name": "net0", "provider:network_type": "vlan", "provider:physical_network": "physnet0",
		"provider:segmentation_id": 100,
	}, "networks"); err != nil {
		return net, policy, err
	}
	s.say("admin makes network net0, VLAN 100 on physnet0")
	if _, err = made(ctx, client, "subnet", object{
		"name": "subnet0", "network_id": net, "ip_version": 4, "cidr": "10.0.4.0/24",
	}, "subnets"); err != nil {
		return net, policy, err
	}
	s.say("admin makes subnet subnet0, 10.0.4.0/24")
	if policy, err = made(ctx, client, "policy", object{"name": "policy0"}, "qos", "policies"); err != nil {
		return net, policy, err
	}
	for _, direction := range []string{"egress", "ingress"} {
		if _, err = made(ctx, client, "minimum_bandwidth_rule", object{"min_kbps": 1_000_000, "direction": direction},
			"qos", "policies", policy, "minimum_bandwidth_rules"); err != nil {
			return net, policy, err
		}
	}
	s.say("admin makes QoS policy policy0, which guarantees 1000000 kbit/s each way")
	return net, policy, nil
}

// A portView is a port as the administrator gets it.
type portView struct {
	Status  string
	Host    string `json:"binding:host_id"`
	VIF     string `json:"binding:vif_type"`
	Profile struct {
		Allocation map[string]string
	} `json:"binding:profile"`
	Request struct {
		Groups []struct {
			ID        string
			Required  []string
			Resources map[string]int
		} `json:"request_groups"`
	} `json:"resource_request"`
}

// port reads a port as the administrator, since its binding is not shown to others.
func (s *scenario) port(ctx context.Context, id string) (portView, error) {
	var answer struct{ Port portView }
	_, err := s.admin.network.Get(ctx, s.admin.network.ServiceURL("ports", id), &answer, nil)
	return answer.Port, err
}

// showRequest prints the resource request of a port.
func (s *scenario) showRequest(ctx context.Context, port string) error {
	p, err := s.port(ctx, port)
	if err != nil {
		return err
	}
	s.say("demo makes port port-normal-qos with that policy")
	for _, g := range p.Request.Groups {
		s.say("  it requests %s from a provider with %s", amounts(g.Resources), strings.Join(g.Required, " and "))
	}
	return nil
}

// amounts are amounts in one line.
func amounts(amounts map[string]int) string {
	var words []string
	for _, class := range slices.Sorted(maps.Keys(amounts)) {
		words = append(words, fmt.Sprintf("%s %d", class, amounts[class]))
	}
	return strings.Join(words, ", ")
}

// A serverView is a server as the administrator gets it.
type serverView struct {
	Status string
	Host   string `json:"OS-EXT-SRV-ATTR:host"`
	Fault  struct{ Message, Details string }
}

// boot boots a server with a port, and waits for the outcome.
func (s *scenario) boot(ctx context.Context, port string) (string, error) {
	s.say("demo boots server server0 of flavor %s with that port", upFlavor.Name)
	id, err := made(ctx, s.user.compute, "server", object{
		"name": "server0", "flavorRef": upFlavor.ID, "imageRef": upImageID, "networks": []object{{"port": port}},
	}, "servers")
	if err != nil {
		return "", err
	}
	v, err := s.await(ctx, id, func(v serverView) bool { return v.Status != "BUILD" })
	if err == nil && v.Status != "ACTIVE" {
		err = fmt.Errorf("the server is in %s: %s%s", v.Status, v.Fault.Message, v.Fault.Details)
	}
	return id, err
}

// await waits until a server is in the expected state. A removed server has no status.
func (s *scenario) await(ctx context.Context, id string, match func(serverView) bool) (serverView, error) {
	ctx, cancel := context.WithTimeout(ctx, scenarioTime)
	defer cancel()
	for {
		var answer struct{ Server serverView }
		_, err := s.admin.compute.Get(ctx, s.admin.compute.ServiceURL("servers", id), &answer, nil)
		if gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
			err = nil
		}
		if err != nil || match(answer.Server) {
			return answer.Server, err
		}
		if err := backoff.Sleep(ctx, 10*time.Millisecond); err != nil {
			return answer.Server, err
		}
	}
}

// showServer prints the host of a server, and its allocations.
func (s *scenario) showServer(ctx context.Context, server, port string) error {
	v, err := s.await(ctx, server, func(serverView) bool { return true })
	if err != nil {
		return err
	}
	s.say("  it is %s on host %s", v.Status, v.Host)
	p, err := s.port(ctx, port)
	if err != nil {
		return err
	}
	s.say("  its port is bound on %s as %s, and %s", p.Host, p.VIF, p.Status)
	for _, provider := range p.Profile.Allocation {
		name, err := s.provider(ctx, provider)
		if err != nil {
			return err
		}
		s.say("  the port's profile names %s", name)
	}
	return s.showAllocated(ctx, server)
}

// showAllocated prints the allocations of a server.
func (s *scenario) showAllocated(ctx context.Context, server string) error {
	var answer struct {
		Allocations map[string]struct{ Resources map[string]int }
	}
	if _, err := s.admin.placement.Get(ctx, s.admin.placement.ServiceURL("allocations", server), &answer,
		nil); err != nil {
		return err
	}
	var lines []string
	for id, allocation := range answer.Allocations {
		name, err := s.provider(ctx, id)
		if err != nil {
			return err
		}
		lines = append(lines, fmt.Sprintf("  placement has for it %s of %s", amounts(allocation.Resources), name))
	}
	slices.Sort(lines)
	if lines == nil {
		lines = []string{"  placement has nothing for it"}
	}
	for _, line := range lines {
		s.say("%s", line)
	}
	return nil
}

// provider is the name of a provider.
func (s *scenario) provider(ctx context.Context, id string) (string, error) {
	var answer struct{ Name string }
	_, err := s.admin.placement.Get(ctx, s.admin.placement.ServiceURL("resource_providers", id), &answer, nil)
	return answer.Name, err
}

// remove removes everything.
func (s *scenario) remove(ctx context.Context, server, port, policy, net string) error {
	if _, err := s.user.compute.Delete(ctx, s.user.compute.ServiceURL("servers", server), nil); err != nil {
		return err
	}
	if _, err := s.await(ctx, server, func(v serverView) bool { return v.Status == "" }); err != nil {
		return err
	}
	s.say("demo deletes server0")
	if err := s.showAllocated(ctx, server); err != nil {
		return err
	}
	for _, resource := range []struct {
		at   *gophercloud.ServiceClient
		path []string
	}{
		{s.user.network, []string{"ports", port}},
		{s.admin.network, []string{"qos", "policies", policy}},
		{s.admin.network, []string{"networks", net}},
	} {
		if _, err := resource.at.Delete(ctx, resource.at.ServiceURL(resource.path...), nil); err != nil {
			return err
		}
	}
	s.say("the port, the policy and the network are removed")
	return nil
}
