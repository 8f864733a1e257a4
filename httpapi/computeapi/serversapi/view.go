package serversapi

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"time"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/servers"
	"github.com/berthcloud/berth/httpapi/computeapi/wire"
	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/httpapi/view"
)

// shownParts are the parts that an answer shows of servers.
type shownParts struct {
	whole  bool // with what Nova calls extensions
	groups bool // with the server groups
}

// serverView is what is shown of a server.
func serverView(q *wire.Request, s servers.Server, parts shownParts) view.Object {
	status := serverStatus(s.ServerRow)
	shown := view.Object{
		view.Text("id", s.ID), view.Text("name", s.Name), view.Text("status", status), view.Text("tenant_id", s.Project),
		view.Text("user_id", s.User), view.TextMap("metadata", s.Metadata), view.Text("hostId", hostID(s.Project, s.Host)),
		imageOf(q, s), view.Nested("flavor", flavorOf(q, s)), isoTime("created", s.CreatedAt),
		isoTime("updated", s.UpdatedAt),
		view.Nested("addresses", addressesOf(shownPorts(s), parts.whole)),
		view.Text("accessIPv4", s.AccessIPv4), view.Text("accessIPv6", s.AccessIPv6), q.Links("servers", string(s.ID)),
		view.Text("OS-DCF:diskConfig", s.DiskConfig),
	}
	if f, ok := s.Failure(); ok && status == "ERROR" {
		shown = append(shown, view.Nested("fault",
			view.Object{view.Int("code", f.Code), view.Text("created", f.Created), view.Text("message", f.Message)}.
				If(f.Details != "" && (f.Code != 500 || q.IsAdmin()), view.Text("details", f.Details))))
	}
	shown = shown.If(slices.Contains(progressing, status), view.Int("progress", s.Progress))
	if parts.whole {
		shown = append(shown, serverExtensions(q, s)...)
	}
	return shown.
		If(parts.whole && q.Minor >= 96, view.TextOrNull("pinned_availability_zone", s.Zone)).
		If(q.Minor >= 100, view.JSON("scheduler_hints", hintsOf(s))).
		If(q.Minor >= 9, view.Bool("locked", s.Locked != "")).
		If(q.Minor >= 73, view.TextOrNull("locked_reason", s.LockedReason)).
		If(q.Minor >= 19, view.TextOrNull("description", s.Description)).
		If(q.Minor >= 26, view.Texts("tags", s.Tags)).
		If(q.Minor >= 63, view.Null("trusted_image_certificates")).
		If(parts.groups, view.Texts("server_groups", groupsOf(s)))
}

// serverExtensions are what an answer to a change leaves out.
func serverExtensions(q *wire.Request, s servers.Server) view.Object {
	drive := ""
	if s.ConfigDrive {
		drive = "True"
	}
	shown := view.Object{
		view.Text("OS-EXT-AZ:availability_zone", s.In), view.Text("config_drive", drive),
		view.TextOrNull("key_name", s.KeyName),
		wire.Time("OS-SRV-USG:launched_at", s.LaunchedAt), wire.Time("OS-SRV-USG:terminated_at", s.TerminatedAt),
		view.TextOrNull("OS-EXT-STS:task_state", s.Task), view.Text("OS-EXT-STS:vm_state", s.State),
		view.Int("OS-EXT-STS:power_state", s.Power),
		view.Texts[string]("os-extended-volumes:volumes_attached", nil),
	}.If(len(s.Ports) > 0, securityGroups(s.SecurityGroups, len(s.Ports)))
	if q.May("os-extended-server-attributes", wire.OfProject(s.Project)) {
		shown = append(shown, serverAttributes(q, s)...)
	} else {
		shown = shown.If(q.Minor >= 90, view.Text("OS-EXT-SRV-ATTR:hostname", s.Hostname))
	}
	return shown.If(q.Minor >= 16 && mayReadHostStatus(q, s), view.Text("host_status", hostStatus(s)))
}

// serverAttributes are what only administrators see.
func serverAttributes(q *wire.Request, s servers.Server) view.Object {
	return view.Object{
		view.TextOrNull("OS-EXT-SRV-ATTR:host", s.Host), view.TextOrNull("OS-EXT-SRV-ATTR:hypervisor_hostname", s.Node),
		view.Text("OS-EXT-SRV-ATTR:instance_name", q.API.Servers.InstanceName(s.ServerRow)),
	}.If(q.Minor >= 3, view.Text("OS-EXT-SRV-ATTR:reservation_id", s.Reservation),
		view.Int("OS-EXT-SRV-ATTR:launch_index", s.Index),
		view.Text("OS-EXT-SRV-ATTR:hostname", s.Hostname), view.Text("OS-EXT-SRV-ATTR:kernel_id", ""),
		view.Text("OS-EXT-SRV-ATTR:ramdisk_id", ""),
		view.Null("OS-EXT-SRV-ATTR:root_device_name"), view.TextOrNull("OS-EXT-SRV-ATTR:user_data", s.UserData))
}

// mayReadHostStatus reports whether the caller may know how the host is: always, or when that is
// unknown.
func mayReadHostStatus(q *wire.Request, s servers.Server) bool {
	t := wire.OfProject(s.Project)
	return q.May("servers:show:host_status", t) ||
		hostStatus(s) == "UNKNOWN" && q.May("servers:show:host_status:unknown-only", t)
}

func hostStatus(s servers.Server) string {
	switch h := s.Service; {
	case s.Host == "" || h.Host == "":
		return ""
	case h.ForcedDown:
		return "DOWN"
	case h.Disabled:
		return "MAINTENANCE"
	case h.Up:
		return "UP"
	}
	return "UNKNOWN"
}

func groupsOf(s servers.Server) []compute.ID {
	if s.Group == "" {
		return nil
	}
	return []compute.ID{s.Group}
}

// securityGroups are those of so many ports that were made for a server: each port has them.
func securityGroups(names []string, ports int) view.Member {
	if len(names) == 0 {
		names = []string{"default"}
	}
	return view.List("security_groups", slices.Repeat(names, ports), func(name string) view.Object {
		return view.Object{view.Text("name", name)}
	})
}

// imageOf is the image of a server, an empty text for none. Since 2.98 it has properties.
func imageOf(q *wire.Request, s servers.Server) view.Member {
	if s.Image == "" {
		return view.Text("image", "")
	}
	return view.Nested("image", view.Object{view.Text("id", s.Image), q.Bookmark("images", string(s.Image))}.
		If(q.Minor >= 98, view.TextMap("properties", s.ImageProperties())))
}

// hintsOf are the scheduler hints of a server, each a list as Nova keeps them.
func hintsOf(s servers.Server) pyjson.Value {
	hints, _ := pyjson.Parse(s.Hints) // which are written as JSON
	lists := make([]pyjson.Member, 0, hints.Len())
	for _, m := range hints.Members() {
		if m.Value.Kind() != pyjson.Array {
			m.Value = pyjson.NewArray(m.Value)
		}
		lists = append(lists, m)
	}
	return pyjson.NewObject(lists...)
}

// flavorOf is a link to the flavor before 2.47, and what it was since.
func flavorOf(q *wire.Request, s servers.Server) view.Object {
	if q.Minor < 47 {
		return view.Object{view.Text("id", s.FlavorID), q.Bookmark("flavors", string(s.FlavorID))}
	}
	f := s.Made
	return view.Object{
		view.Int("vcpus", f.VCPUs), view.Int("ram", f.MemoryMB), view.Int("disk", f.RootGB),
		view.Int("ephemeral", f.EphemeralGB),
		view.Int("swap", f.SwapMB), view.Text("original_name", f.Name),
	}.If(q.May("servers:show:flavor-extra-specs", wire.OfProject(s.Project)), view.TextMap("extra_specs", f.Specs))
}

// shownPorts are the ports whose addresses a server shows: none before it has run.
func shownPorts(s servers.Server) []compute.ServerPort {
	if s.LaunchedAt.IsZero() {
		return nil
	}
	return s.Ports
}

// addressesOf are the addresses of ports by the names of their networks.
func addressesOf(ports []compute.ServerPort, whole bool) (networks view.Object) {
	var names []string
	for _, p := range ports {
		if name := p.Shown.NetworkName; !slices.Contains(names, name) {
			names = append(names, name)
			networks = append(networks, networkAddresses(ports, name, whole))
		}
	}
	return networks
}

// networkAddresses are the addresses of the ports in the network of a name.
func networkAddresses(ports []compute.ServerPort, name string, whole bool) view.Member {
	var addresses []view.Object
	for _, p := range ports {
		if p.Shown.NetworkName != name {
			continue
		}
		for _, a := range p.Shown.Addresses {
			addresses = append(addresses, view.Object{view.Int("version", a.Version()), view.Text("addr", a.IP)}.
				If(whole, view.Text("OS-EXT-IPS:type", "fixed"), view.Text("OS-EXT-IPS-MAC:mac_addr", p.Shown.MAC)))
		}
	}
	return view.List(name, addresses, func(o view.Object) view.Object { return o })
}

// hostID distinguishes a project's servers on one host from those on another, and no more.
func hostID(project, host string) string {
	if host == "" {
		return ""
	}
	sum := sha256.Sum224([]byte(project + host))
	return hex.EncodeToString(sum[:])
}

// isoTime is a member that is a time as servers show it.
func isoTime(name string, t time.Time) view.Member { return view.Time(name, t, "2006-01-02T15:04:05Z") }

// progressing are the statuses that come with progress.
var progressing = []string{"ACTIVE", "BUILD", "REBUILD", "RESIZE", "VERIFY_RESIZE", "MIGRATING"}

// A serverState is a vm_state with what it is called: by default, and by task_state.
type serverState struct {
	name   string
	status string
	tasks  map[string]string
}

// serverStates are those in which servers are, as Nova maps them.
var serverStates = []serverState{
	{compute.Active, "ACTIVE", map[string]string{
		"rebooting": "REBOOT", "reboot_pending": "REBOOT", "reboot_started": "REBOOT",
		"rebooting_hard": "HARD_REBOOT", "reboot_pending_hard": "HARD_REBOOT", "reboot_started_hard": "HARD_REBOOT",
		"migrating": "MIGRATING", "resize_prep": "RESIZE", "resize_migrating": "RESIZE", "resize_migrated": "RESIZE",
		"resize_finish":        "RESIZE",
		compute.TaskRebuilding: "REBUILD", compute.RebuildSpawning: "REBUILD",
	}},
	{compute.Building, "BUILD", nil},
	{compute.Stopped, "SHUTOFF", map[string]string{
		"resize_prep": "RESIZE", "resize_migrating": "RESIZE", "resize_migrated": "RESIZE", "resize_finish": "RESIZE",
		compute.TaskRebuilding: "REBUILD", compute.RebuildSpawning: "REBUILD",
	}},
	{compute.Resized, "VERIFY_RESIZE", map[string]string{compute.ResizeReverting: "REVERT_RESIZE"}},
	{compute.Paused, "PAUSED", map[string]string{"migrating": "MIGRATING"}},
	{compute.Suspended, "SUSPENDED", nil},
	{compute.Error, "ERROR", map[string]string{compute.TaskRebuilding: "REBUILD", compute.RebuildSpawning: "REBUILD"}},
	{compute.ShelvedOffloaded, "SHELVED_OFFLOADED", nil},
	{compute.Deleted, "DELETED", nil},
}

// serverStatus is what a server's state is called.
func serverStatus(s compute.ServerRow) string {
	for _, state := range serverStates {
		if state.name != s.State {
			continue
		}
		if status, ok := state.tasks[s.Task]; ok {
			return status
		}
		return state.status
	}
	return "UNKNOWN"
}
