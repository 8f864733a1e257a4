package servers

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/lifecycle"
	"github.com/berthcloud/berth/compute/scheduler"
	"github.com/berthcloud/berth/compute/serverports"
)

// The bounds of one request, whatever the quotas are. Nova bounds it by its quotas only.
const (
	MaxServers        = 1000 // servers; more of max_count count as this many
	MaxNetworks       = 128  // ports and networks of a server
	MaxSecurityGroups = 128
	MaxHints          = 64 << 10 // bytes of scheduler hints
)

// CreateServers begins to build servers and returns them in their initial state, in their order;
// their state shows the progress. Faults are Nova's: a wrong request is refused here, a lack of
// resources makes a server fail.
func (s *Service) CreateServers(ctx context.Context, by compute.Caller, spec ServerSpec) (made []Server, err error) {
	spec.Networks = slices.Clone(spec.Networks)
	d, err := s.check(ctx, by, spec)
	if err != nil {
		return nil, err
	}
	err = s.lifecycle.Update(ctx, func(c *lifecycle.Change) error {
		made, err = createServers(c, d)
		return err
	})
	if err == nil {
		s.lifecycle.Wake()
	}
	return made, err
}

// createServers makes the rows of servers, and the operations that build them.
func createServers(c *lifecycle.Change, d *validatedSpec) ([]Server, error) {
	row, data, err := newServerTemplate(c, d)
	if err != nil {
		return nil, err
	}
	n, err := enoughServers(c, d)
	if err != nil {
		return nil, err
	}
	if err := enoughMembers(c, d, row.Group, n); err != nil {
		return nil, err
	}
	rows, hostnames := make([]compute.ServerRow, n), make([]string, n)
	for i := range rows {
		rows[i] = row
		rows[i].ID, rows[i].Index = compute.NewID(), i
		rows[i].Name, rows[i].Hostname = d.call(rows[i].ID, i, n)
		hostnames[i] = rows[i].Hostname
	}
	if err := checkHostnames(c, row.Project, hostnames...); err != nil {
		return nil, err
	}
	for i := range rows {
		if err := createServer(c, &rows[i], data, d); err != nil {
			return nil, err
		}
	}
	return completeServers(c.Tx.Rules, c, rows)
}

// newServerTemplate makes what the servers have in common.
func newServerTemplate(c *lifecycle.Change, d *validatedSpec) (compute.ServerRow, lifecycle.BuildData, error) {
	row := compute.ServerRow{
		Project: d.by.Project, User: d.by.User, Description: d.Description, Reservation: newReservation(),
		State: compute.Building, Task: compute.Scheduling, Zone: d.Zone, Forced: d.ForcedHost, Image: d.Image,
		Flavor: d.flavor.Keep(), FlavorID: d.flavor.ID, KeyName: d.KeyName, Metadata: d.Metadata,
		Tags: slices.Compact(slices.Sorted(slices.Values(d.Tags))), SecurityGroups: d.SecurityGroups, UserData: d.UserData,
		ConfigDrive: d.ConfigDrive, DiskConfig: d.DiskConfig, AccessIPv4: d.AccessIPv4, AccessIPv6: d.AccessIPv6,
		Hints: d.Hints, CreatedAt: c.At, UpdatedAt: c.At,
	}
	var err error
	if row.ImageMeta, err = json.Marshal(d.image.Image); err != nil {
		return row, lifecycle.BuildData{}, err
	}
	b := lifecycle.BuildData{
		Common: lifecycle.Common{Reservation: row.Reservation}, Networks: d.Networks, Groups: d.groups,
		HostChoice: scheduler.HostChoice{Image: d.image.Image},
	}
	if d.KeyName != "" {
		key, err := compute.OneOr[compute.KeypairRow](c, compute.Invalid("KeypairNotFound", "Invalid key_name provided."),
			compute.Where(compute.ByUser, d.by.User), compute.Where(compute.ByName, d.KeyName))
		if err != nil {
			return row, b, err
		}
		row.KeyData = key.PublicKey
	}
	if err := enoughMetadata(c, d.by.Project, len(d.Metadata)); err != nil {
		return row, b, err
	}
	if d.hints.Group != "" {
		absent := compute.Invalid("InstanceGroupNotFound", "Instance group %s could not be found.", d.hints.Group)
		g, err := compute.OneOr[compute.GroupRow](c, absent, compute.Where(compute.ByID, compute.ID(d.hints.Group)))
		if err == nil && g.Project != d.by.Project && !d.by.Admin { // as nova.objects.instance_group looks it up
			err = absent
		}
		if err != nil {
			return row, b, err
		}
		row.Group = g.ID
	}
	node, err := wantedNode(c, d)
	b.Node, b.Forced = node, d.ForcedHost+d.ForcedNode != ""
	return row, b, err
}

// newReservation returns a random id of a reservation, as Nova makes them.
func newReservation() string {
	const letters, length = "0123456789abcdefghijklmnopqrstuvwxyz", 8
	var raw [length]byte
	_, _ = rand.Read(raw[:]) // it does not fail
	for i := range raw {
		raw[i] = letters[int(raw[i])%len(letters)]
	}
	return "r-" + string(raw[:])
}

// wantedNode returns the only hypervisor that will do, "" for any. Fault:
// ComputeHostNotFound.
func wantedNode(c *lifecycle.Change, d *validatedSpec) (compute.ID, error) {
	host, name := d.Host+d.ForcedHost, d.Node+d.ForcedNode
	if host == "" && name == "" {
		return "", nil
	}
	var where []compute.Match
	if host != "" {
		where = append(where, compute.Where(compute.ByHost, host))
	}
	if name != "" {
		where = append(where, compute.Where(compute.ByName, name))
	}
	nodes, err := compute.Rows[compute.NodeRow](c, where...)
	if err != nil {
		return "", err
	}
	if len(nodes) == 0 {
		if host == "" {
			host = name
		}
		return "", compute.Invalid("ComputeHostNotFound", "Compute host %s could not be found.", host)
	}
	return nodes[0].ID, nil
}

// createServer creates one server. A port belongs to one server: a second one gets a conflict.
func createServer(c *lifecycle.Change, row *compute.ServerRow, data lifecycle.BuildData, d *validatedSpec) (err error) {
	if row.Number, err = c.NextNumber("servers"); err != nil {
		return err
	}
	if err := c.Insert(row); err != nil {
		return err
	}
	for i, n := range data.Networks {
		if n.Port == "" {
			continue
		}
		if err := serverports.AddPort(c.Tx, compute.PortRow{Server: row.ID, Index: i, Tag: n.Tag},
			d.ports[n.Port]); err != nil {
			return err
		}
	}
	action, err := c.RecordAction(d.by, row.ID, "create")
	if err != nil {
		return err
	}
	data.Action = action.ID
	return c.NewOperation(row.ID, lifecycle.KindBoot, &data)
}

// enoughServers returns how many of the requested servers the quotas and the bound of a request
// allow. Faults: TooManyInstances, InvalidInput.
func enoughServers(c *lifecycle.Change, d *validatedSpec) (int, error) {
	least, _ := d.count()
	most := min(d.most, MaxServers)
	each := map[string]int64{compute.Instances: 1, compute.Cores: d.flavor.VCPUs, compute.RAM: d.flavor.MemoryMB}
	free, limits, err := headroom(c, d.by.Project, d.by.User)
	if err != nil {
		return 0, err
	}
	for resource, n := range each {
		if left, limited := free[resource]; limited && n > 0 {
			most = min(most, int(max(0, left)/n))
		}
	}
	if most >= least {
		return most, nil
	}
	if least > MaxServers && !slices.ContainsFunc(slices.Collect(maps.Keys(free)), func(resource string) bool {
		return free[resource] < each[resource]*int64(least)
	}) {
		return 0, compute.Invalid("InvalidInput",
			"Invalid input received: min_count must be at most %d, which is how many servers a request can make", MaxServers)
	}
	return 0, tooMany(d, each, free, limits)
}

// tooMany says which quotas do not allow so many servers.
func tooMany(d *validatedSpec, each map[string]int64, free, limits compute.Quotas) error {
	least, most := d.count()
	var over, requested, used, allowed []string
	for _, resource := range []string{compute.Cores, compute.Instances, compute.RAM} {
		want := each[resource] * int64(most)
		left, limited := free[resource]
		if !limited || left >= want {
			continue
		}
		text := strconv.FormatInt(want, 10)
		if resource == compute.Instances && least != most {
			text = strconv.Itoa(least) + "-" + strconv.Itoa(most)
		}
		over, requested = append(over, resource), append(requested, text)
		used, allowed = append(used, strconv.FormatInt(limits[resource]-left, 10)),
			append(allowed, strconv.FormatInt(limits[resource], 10))
	}
	all := func(words []string) string { return strings.Join(words, ", ") }
	return compute.OverQuota("TooManyInstances", "Quota exceeded for %s: Requested %s, but already used %s of %s %s",
		all(over), all(requested), all(used), all(allowed), all(over))
}

// headroom is how much of the resources of servers that are limited is left to a user of a project,
// and the limits that bound it.
func headroom(c *lifecycle.Change, project, user string) (free, limits compute.Quotas, err error) {
	rows, err := compute.QuotasOf(c, project)
	if err != nil {
		return nil, nil, err
	}
	free, limits = compute.Quotas{}, compute.Quotas{}
	users := []string{""}
	if slices.ContainsFunc(rows, func(row compute.QuotaRow) bool { return row.Project == project && row.User == user }) {
		users = append(users, user) // else its limits are those of the project, of which it uses a part
	}
	for _, u := range users {
		most := c.LimitsBy(rows, project, u)
		if most[compute.Instances] < 0 && most[compute.Cores] < 0 && most[compute.RAM] < 0 {
			continue
		}
		used, err := c.ServersUsage(c, project, u)
		if err != nil {
			return nil, nil, err
		}
		for _, resource := range []string{compute.Instances, compute.Cores, compute.RAM} {
			limit := most[resource]
			left, seen := free[resource]
			if limit >= 0 && (!seen || limit-used[resource] < left) {
				free[resource], limits[resource] = limit-used[resource], limit
			}
		}
	}
	return free, limits, nil
}

// enoughMembers refuses more servers than a group may have.
func enoughMembers(c *lifecycle.Change, d *validatedSpec, group compute.ID, more int) error {
	if group == "" {
		return nil
	}
	members, err := compute.Count[compute.ServerRow](c, compute.Where(compute.ByGroup, group))
	if err != nil {
		return err
	}
	limits, err := c.Limits(c, d.by.Project, d.by.User)
	if err != nil {
		return err
	}
	if most := limits[compute.ServerGroupMembers]; most >= 0 && members+int64(more) > most {
		return compute.OverQuota("ServerGroupMemberLimitExceeded", "Quota exceeded, too many servers in group")
	}
	return nil
}
