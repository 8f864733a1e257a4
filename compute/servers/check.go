package servers

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/scheduler"
)

// A validatedSpec is a validated request for servers, as far as peer services are needed for
// the validation.
type validatedSpec struct {
	ServerSpec
	by     compute.Caller
	flavor compute.FlavorRow
	image  compute.Image
	ports  map[compute.ID]compute.Port // those that exist already
	groups []compute.ID                // security groups
	hints  scheduler.Hints
	most   int // servers that can have ports
}

// check validates a request for servers with the peer services' help. Its faults are Nova's.
func (s *Service) check(ctx context.Context, by compute.Caller, spec ServerSpec) (*validatedSpec, error) {
	d := &validatedSpec{ServerSpec: spec, by: by}
	for _, step := range []func(context.Context, *validatedSpec) error{
		s.checkCount, s.checkZone, s.checkFlavor, s.checkPeers, s.checkImage, s.checkPorts, s.checkNetworks,
	} {
		if err := step(ctx, d); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// checkCount checks the numbers in the request, before it costs anything. It refuses a caller
// without a project, whose servers would belong to none.
func (s *Service) checkCount(_ context.Context, d *validatedSpec) (err error) {
	if d.by.Project == "" {
		return compute.Invalid("HTTPBadRequest", "A server belongs to a project, and the token is not for one.")
	}
	for _, bound := range []struct {
		what    string
		n, most int
	}{
		{"networks", len(d.Networks), MaxNetworks},
		{"security groups", len(d.SecurityGroups), MaxSecurityGroups},
		{"bytes of scheduler hints", len(d.Hints), MaxHints},
	} {
		if bound.n > bound.most {
			return compute.Invalid("InvalidInput", "Invalid input received: a request can have at most %d %s, not %d",
				bound.most, bound.what, bound.n)
		}
	}
	if _, d.most = d.count(); d.most > 1 {
		if d.Hostname != "" {
			return compute.Invalid("AmbiguousHostnameForMultipleInstances",
				"Unable to allocate a single hostname to multiple instances")
		}
		for _, n := range d.Networks {
			switch {
			case n.Port != "":
				return compute.Invalid("MultiplePortsNotApplicable",
					"Failed to launch instances: Unable to launch multiple instances with "+
						"a single configured port ID. Please launch your instance one by one with different ports.")
			case n.Address != "":
				return compute.Invalid("InvalidFixedIpAndMaxCountRequest",
					"Failed to launch instances: max_count cannot be greater than 1 "+
						"if an fixed_ip is specified.")
			}
		}
	}
	d.hints, err = scheduler.ReadHints(d.Hints)
	return err
}

func (s *Service) checkZone(ctx context.Context, d *validatedSpec) error {
	if d.Zone == "" || d.ForcedHost != "" {
		return nil
	}
	hasHosts, err := s.hosts.ZoneHasHosts(ctx, d.Zone)
	if err == nil && !hasHosts {
		err = compute.Invalid("InvalidRequest", "The requested availability zone is not available")
	}
	return err
}

func (s *Service) checkFlavor(ctx context.Context, d *validatedSpec) (err error) {
	d.flavor, err = s.flavor(ctx, d.by, d.Flavor)
	if err == nil && d.flavor.Disabled {
		err = compute.NoFlavor(d.Flavor)
	}
	return compute.AsInvalid(err)
}

// flavor returns a flavor that a caller may use. Fault: FlavorNotFound.
func (s *Service) flavor(ctx context.Context, by compute.Caller, id compute.ID) (row compute.FlavorRow, err error) {
	err = s.store.View(ctx, func(r compute.Reader) error {
		row, err = compute.FlavorFor(r, compute.Viewer{Project: by.Project, Admin: by.Admin}, id)
		return err
	})
	return row, err
}

// checkPeers checks that the services are configured that the request needs.
func (s *Service) checkPeers(_ context.Context, d *validatedSpec) error {
	switch {
	case s.images == nil:
		return compute.NotConfigured("image")
	}
	return s.lifecycle.CanWork()
}

func (s *Service) checkImage(ctx context.Context, d *validatedSpec) (err error) {
	d.image, err = s.images.Image(ctx, d.by.Project, d.Image)
	if errors.Is(err, compute.ErrNoImage) {
		return compute.Invalid("ImageNotFound", "Can not find requested image")
	}
	if err != nil {
		return err
	}
	return s.fits(ctx, d.image, extraSpecsOf(d.flavor), d.by.Project)
}

// checkPorts looks at the ports that exist already.
func (s *Service) checkPorts(ctx context.Context, d *validatedSpec) error {
	d.ports = map[compute.ID]compute.Port{}
	existing, err := s.bindings.PortsByID(ctx, d.Networks)
	if err != nil {
		return compute.AsInvalid(err)
	}
	grouped := false
	for i, n := range d.Networks {
		if n.Port == "" {
			continue
		}
		p, ok := existing[n.Port]
		if !ok || p.Project != d.by.Project && !d.by.Admin {
			return compute.AsInvalid(compute.NoPort(n.Port))
		}
		if _, twice := d.ports[p.ID]; twice {
			return compute.Invalid("HTTPBadRequest",
				"Port ID '%s' was specified twice: you cannot attach a port multiple times.", p.ID)
		}
		switch {
		case p.Server != "":
			return compute.PortInUse(p.ID)
		case len(p.Addresses) == 0 && !p.IPDeferred && !p.NoIP:
			return compute.Invalid("PortRequiresFixedIP", "Port %s requires a FixedIP in order to be used.", p.ID)
		case len(p.ResourceRequest.Groups) > 0 &&
			!(d.PortsMayRequest && s.rules.Settings.AllowGuaranteed(compute.GuaranteedBoot)):
			return compute.Invalid("CreateWithPortResourceRequestOldVersion",
				"Creating servers with ports having resource requests, like a "+
					"port with a QoS minimum bandwidth policy, is not supported until microversion 2.72.")
		}
		d.ports[p.ID] = p
		d.Networks[i].Network = p.Network
		grouped = grouped || len(p.ResourceRequest.Groups) > 0 && !p.ResourceRequest.LegacyFormat
	}
	if !grouped {
		return nil
	}
	all, err := s.hosts.AllKnow(ctx, createGroups)
	if err == nil && !all {
		err = oldCompute()
	}
	return err
}

// port returns a port that a caller may use. Fault: PortNotFound.
func (s *Service) port(ctx context.Context, by compute.Caller, id compute.ID) (compute.Port, error) {
	p, err := s.network.Port(ctx, id)
	if errors.Is(err, compute.ErrNoPort) || err == nil && p.Project != by.Project && !by.Admin {
		err = compute.NoPort(id)
	}
	return p, err
}

// checkNetworks validates the networks in which ports are to be created.
func (s *Service) checkNetworks(ctx context.Context, d *validatedSpec) error {
	if d.AnyNetwork {
		if err := s.onlyNetwork(ctx, d); err != nil {
			return err
		}
	}
	var ids []compute.ID
	for _, n := range d.Networks {
		if n.Port == "" {
			ids = append(ids, n.Network)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	if err := compute.AsInvalid(s.mayUse(ctx, d.by, ids...)); err != nil {
		return err
	}
	if err := s.addressesFree(ctx, d.by, d.Networks); err != nil {
		return err
	}
	if err := s.checkGroups(ctx, d); err != nil {
		return err
	}
	return s.enoughPorts(ctx, d, int64(len(ids)))
}

// onlyNetwork takes the only network that the project has.
func (s *Service) onlyNetwork(ctx context.Context, d *validatedSpec) error {
	all, err := s.network.Networks(ctx, d.by.Project)
	switch {
	case err != nil:
		return err
	case len(all) > 1:
		return compute.Conflict("NetworkAmbiguous", "Multiple possible networks found, use a Network ID to be more specific.")
	case len(all) == 0 && d.Auto:
		return compute.Invalid("UnableToAutoAllocateNetwork", "Unable to automatically allocate a network for project %s",
			d.by.Project)
	case len(all) == 1:
		d.Networks = []compute.NetworkSpec{{Network: all[0].ID}}
	}
	return nil
}

// mayUse refuses networks that are not the project's to use. Faults: NetworkNotFound,
// NetworkRequiresSubnet, ExternalNetworkAttachForbidden.
func (s *Service) mayUse(ctx context.Context, by compute.Caller, ids ...compute.ID) error {
	all, err := s.network.Networks(ctx, by.Project, ids...)
	if err != nil {
		return err
	}
	var lacking []string
	for _, id := range slices.Compact(slices.Sorted(slices.Values(ids))) {
		if !slices.ContainsFunc(all, func(n compute.ProjectNetwork) bool { return n.ID == id }) {
			lacking = append(lacking, string(id))
		}
	}
	if len(lacking) > 0 {
		return compute.NotFound("NetworkNotFound", "Network %s could not be found.", strings.Join(lacking, ", "))
	}
	for _, n := range all {
		switch {
		case n.Subnets == 0:
			return compute.Invalid("NetworkRequiresSubnet", "Network %s requires a subnet in order to boot instances on.", n.ID)
		case n.External && !by.Admin:
			return compute.OverQuota("ExternalNetworkAttachForbidden",
				"It is not allowed to create an interface on external network %s", n.ID)
		}
	}
	return nil
}

// addressesFree refuses addresses that ports have. What a port of another project is in use for is
// not said. Fault: FixedIpAlreadyInUse.
func (s *Service) addressesFree(ctx context.Context, by compute.Caller, all []compute.NetworkSpec) error {
	for _, n := range all {
		if n.Address == "" {
			continue
		}
		p, err := s.network.PortWithAddress(ctx, n.Network, n.Address)
		switch {
		case err == nil && p.Project != by.Project && !by.Admin:
			return compute.Invalid("FixedIpAlreadyInUse", "Fixed IP address %s is already in use.", n.Address)
		case err == nil:
			return compute.Invalid("FixedIpAlreadyInUse", "Fixed IP address %s is already in use on instance %s.",
				n.Address, p.Server)
		case !errors.Is(err, compute.ErrNoPort):
			return err
		}
	}
	return nil
}

func (s *Service) checkGroups(ctx context.Context, d *validatedSpec) (err error) {
	if len(d.SecurityGroups) == 0 || len(d.SecurityGroups) == 1 && d.SecurityGroups[0] == "default" {
		return nil
	}
	d.groups, err = s.network.SecurityGroups(ctx, d.by.Project, d.SecurityGroups)
	return compute.AsInvalid(err)
}

// enoughPorts refuses more ports than the project may make, or makes fewer servers.
func (s *Service) enoughPorts(ctx context.Context, d *validatedSpec, each int64) error {
	free, err := s.network.FreePorts(ctx, d.by.Project)
	if err != nil || free < 0 {
		return err
	}
	least, _ := d.count()
	if d.most = min(d.most, int(free/each)); d.most < least {
		return compute.OverQuota("PortLimitExceeded", "Maximum number of ports exceeded")
	}
	return nil
}
