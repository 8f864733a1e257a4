package compute

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// What one request can ask for, whatever the quotas are. Nova bounds it by its quotas only.
const (
	MaxServers        = 1000 // servers; more of max_count count as this many
	MaxNetworks       = 128  // ports and networks of a server
	MaxSecurityGroups = 128
	MaxHints          = 64 << 10 // bytes of scheduler hints
)

// CreateServers begins to build servers and returns them in their initial state, in their order;
// their state shows the progress. Faults are Nova's: a wrong request is refused here, a lack of
// resources makes a server fail.
func (s *Service) CreateServers(ctx context.Context, by Caller, spec ServerSpec) (made []Server, err error) {
	spec.Networks = slices.Clone(spec.Networks)
	d, err := s.check(ctx, by, spec)
	if err != nil {
		return nil, err
	}
	err = s.update(ctx, func(c *change) error {
		made, err = c.createServers(d)
		return err
	})
	if err == nil {
		s.wake()
	}
	return made, err
}

// createServers makes the rows of servers, and the operations that build them.
func (c *change) createServers(d *draft) ([]Server, error) {
	row, data, err := c.draw(d)
	if err != nil {
		return nil, err
	}
	n, err := c.enoughServers(d)
	if err != nil {
		return nil, err
	}
	if err := c.enoughMembers(d, row.Group, n); err != nil {
		return nil, err
	}
	rows, hostnames := make([]ServerRow, n), make([]string, n)
	for i := range rows {
		rows[i] = row
		rows[i].ID, rows[i].Place = NewID(), i
		rows[i].Name, rows[i].Hostname = d.call(rows[i].ID, i, n)
		hostnames[i] = rows[i].Hostname
	}
	if err := c.checkHostnames(row.Project, hostnames...); err != nil {
		return nil, err
	}
	for i := range rows {
		if err := c.createServer(&rows[i], data, d); err != nil {
			return nil, err
		}
	}
	return c.complete(c, rows)
}

// draw makes what the servers have in common.
func (c *change) draw(d *draft) (ServerRow, buildData, error) {
	row := ServerRow{
		Project: d.by.Project, User: d.by.User, Description: d.Description, Reservation: newReservation(),
		State: Building, Task: Scheduling, Zone: d.Zone, Forced: d.ForcedHost, Image: d.Image,
		Flavor: d.flavor.Keep(), FlavorID: d.flavor.ID, KeyName: d.KeyName, Metadata: d.Metadata,
		Tags: slices.Compact(slices.Sorted(slices.Values(d.Tags))), SecurityGroups: d.SecurityGroups, UserData: d.UserData,
		ConfigDrive: d.ConfigDrive, DiskConfig: d.DiskConfig, AccessIPv4: d.AccessIPv4, AccessIPv6: d.AccessIPv6,
		Hints: d.Hints, CreatedAt: c.At, UpdatedAt: c.At,
	}
	var err error
	if row.ImageMeta, err = json.Marshal(d.image.Image); err != nil {
		return row, buildData{}, err
	}
	b := buildData{
		common: common{Reservation: row.Reservation}, Networks: d.Networks, Groups: d.groups, hostChoice: hostChoice{Image: d.image.Image},
	}
	if d.KeyName != "" {
		key, err := OneOr[KeypairRow](c, invalid("KeypairNotFound", "Invalid key_name provided."), Where(ByUser, d.by.User), Where(ByName, d.KeyName))
		if err != nil {
			return row, b, err
		}
		row.KeyData = key.PublicKey
	}
	if err := c.enoughMetadata(d.by.Project, len(d.Metadata)); err != nil {
		return row, b, err
	}
	if d.hints.Group != "" {
		absent := invalid("InstanceGroupNotFound", "Instance group %s could not be found.", d.hints.Group)
		g, err := OneOr[GroupRow](c, absent, Where(ByID, ID(d.hints.Group)))
		if err == nil && g.Project != d.by.Project && !d.by.Admin { // as nova.objects.instance_group looks it up
			err = absent
		}
		if err != nil {
			return row, b, err
		}
		row.Group = g.ID
	}
	node, err := c.wantedNode(d)
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
func (c *change) wantedNode(d *draft) (ID, error) {
	host, name := d.Host+d.ForcedHost, d.Node+d.ForcedNode
	if host == "" && name == "" {
		return "", nil
	}
	var where []Match
	if host != "" {
		where = append(where, Where(ByHost, host))
	}
	if name != "" {
		where = append(where, Where(ByName, name))
	}
	nodes, err := Rows[NodeRow](c, where...)
	if err != nil {
		return "", err
	}
	if len(nodes) == 0 {
		if host == "" {
			host = name
		}
		return "", invalid("ComputeHostNotFound", "Compute host %s could not be found.", host)
	}
	return nodes[0].ID, nil
}

// createServer creates one server. A port belongs to one server: a second one gets a conflict.
func (c *change) createServer(row *ServerRow, data buildData, d *draft) (err error) {
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
		if err := c.addPort(PortRow{Server: row.ID, Place: i, Tag: n.Tag}, d.ports[n.Port]); err != nil {
			return err
		}
	}
	action, err := c.act(d.by, row.ID, "create")
	if err != nil {
		return err
	}
	data.Action = action.ID
	return c.newOperation(row.ID, kindBoot, &data)
}

// addPort notes that a port is a server's. Fault: PortInUse.
func (c *change) addPort(row PortRow, p Port) error {
	row.Port = p.ID
	if err := row.see(p); err != nil {
		return err
	}
	err := c.Insert(&row)
	if errors.Is(err, ErrTaken) {
		err = portInUse(p.ID)
	}
	return err
}

// enoughServers returns how many of the requested servers the quotas and the bound of a request
// allow. Faults: TooManyInstances, InvalidInput.
func (c *change) enoughServers(d *draft) (int, error) {
	least, _ := d.count()
	most := min(d.most, MaxServers)
	each := map[string]int64{Instances: 1, Cores: d.flavor.VCPUs, RAM: d.flavor.MemoryMB}
	free, limits, err := c.headroom(d.by.Project, d.by.User)
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
	if least > MaxServers && !slices.ContainsFunc(slices.Collect(maps.Keys(free)), func(resource string) bool { return free[resource] < each[resource]*int64(least) }) {
		return 0, invalid("InvalidInput", "Invalid input received: min_count must be at most %d, which is how many servers a request can make", MaxServers)
	}
	return 0, tooMany(d, each, free, limits)
}

// tooMany says which quotas do not allow so many servers.
func tooMany(d *draft, each map[string]int64, free, limits Quotas) error {
	least, most := d.count()
	var over, requested, used, allowed []string
	for _, resource := range []string{Cores, Instances, RAM} {
		want := each[resource] * int64(most)
		left, limited := free[resource]
		if !limited || left >= want {
			continue
		}
		text := strconv.FormatInt(want, 10)
		if resource == Instances && least != most {
			text = strconv.Itoa(least) + "-" + strconv.Itoa(most)
		}
		over, requested = append(over, resource), append(requested, text)
		used, allowed = append(used, strconv.FormatInt(limits[resource]-left, 10)), append(allowed, strconv.FormatInt(limits[resource], 10))
	}
	all := func(words []string) string { return strings.Join(words, ", ") }
	return overQuota("TooManyInstances", "Quota exceeded for %s: Requested %s, but already used %s of %s %s",
		all(over), all(requested), all(used), all(allowed), all(over))
}

// headroom is how much of the resources of servers that are limited is left to a user of a project, and
// the limits that bound it.
func (c *change) headroom(project, user string) (free, limits Quotas, err error) {
	rows, err := quotasOf(c, project)
	if err != nil {
		return nil, nil, err
	}
	free, limits = Quotas{}, Quotas{}
	users := []string{""}
	if slices.ContainsFunc(rows, func(row QuotaRow) bool { return row.Project == project && row.User == user }) {
		users = append(users, user) // else its limits are those of the project, of which it uses a part
	}
	for _, u := range users {
		most := c.limitsBy(rows, project, u)
		if most[Instances] < 0 && most[Cores] < 0 && most[RAM] < 0 {
			continue
		}
		used, err := c.ServersUsage(c, project, u)
		if err != nil {
			return nil, nil, err
		}
		for _, resource := range []string{Instances, Cores, RAM} {
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
func (c *change) enoughMembers(d *draft, group ID, more int) error {
	if group == "" {
		return nil
	}
	members, err := Count[ServerRow](c, Where(ByGroup, group))
	if err != nil {
		return err
	}
	limits, err := c.Limits(c, d.by.Project, d.by.User)
	if err != nil {
		return err
	}
	if most := limits[ServerGroupMembers]; most >= 0 && members+int64(more) > most {
		return overQuota("ServerGroupMemberLimitExceeded", "Quota exceeded, too many servers in group")
	}
	return nil
}
