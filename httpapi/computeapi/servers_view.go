package computeapi

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"time"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/httpapi"
)

// A serverView is what is shown of servers.
type serverView struct {
	whole  bool // with what Nova calls extensions
	groups bool // with the server groups
}

// server is what is shown of a server.
func (q *request) server(s compute.Server, v serverView) writer {
	return func(j *httpapi.JSON) {
		j.Object()
		q.putServerView(j, s, v)
		j.EndObject()
	}
}

// putServerView writes the members of what is shown of a server.
func (q *request) putServerView(j *httpapi.JSON, s compute.Server, v serverView) {
	q.putServer(j, s, v.whole)
	if v.whole {
		q.putServerExtensions(j, s)
	}
	q.putServerSince(j, s)
	if v.groups {
		put(j, "server_groups", groupsOf(s))
	}
}

func (q *request) putServer(j *httpapi.JSON, s compute.Server, whole bool) {
	status := serverStatus(s.ServerRow)
	put(j, "id", s.ID, "name", s.Name, "status", status, "tenant_id", s.Project, "user_id", s.User, "metadata", s.Metadata,
		"hostId", hostID(s.Project, s.Host), "image", q.imageOf(s), "flavor", q.flavorOf(s),
		"created", isoTime(s.CreatedAt), "updated", isoTime(s.UpdatedAt), "addresses", addressesOf(shownPorts(s), whole),
		"accessIPv4", s.AccessIPv4, "accessIPv6", s.AccessIPv6, "links", q.links("servers", string(s.ID)),
		"OS-DCF:diskConfig", s.DiskConfig)
	if f, ok := s.Failure(); ok && status == "ERROR" {
		put(j, "fault", func(j *httpapi.JSON) {
			j.Object()
			put(j, "code", f.Code, "created", f.Created, "message", f.Message)
			if f.Details != "" && (f.Code != 500 || q.isAdmin()) {
				put(j, "details", f.Details)
			}
			j.EndObject()
		})
	}
	if slices.Contains(progressing, status) {
		put(j, "progress", s.Progress)
	}
}

// putServerExtensions writes what an answer to a change leaves out.
func (q *request) putServerExtensions(j *httpapi.JSON, s compute.Server) {
	drive := ""
	if s.ConfigDrive {
		drive = "True"
	}
	put(j, "OS-EXT-AZ:availability_zone", s.In, "config_drive", drive, "key_name", orNull(s.KeyName),
		"OS-SRV-USG:launched_at", s.LaunchedAt, "OS-SRV-USG:terminated_at", s.TerminatedAt,
		"OS-EXT-STS:task_state", orNull(s.Task), "OS-EXT-STS:vm_state", s.State, "OS-EXT-STS:power_state", int(s.Power),
		"os-extended-volumes:volumes_attached", []string{})
	if len(s.Ports) > 0 {
		put(j, "security_groups", securityGroups(s.SecurityGroups, len(s.Ports)))
	}
	if q.may("os-extended-server-attributes", ofProject(s.Project)) {
		q.putServerAttributes(j, s)
	} else if q.minor >= 90 {
		put(j, "OS-EXT-SRV-ATTR:hostname", s.Hostname)
	}
	if q.minor >= 16 {
		q.putHostStatus(j, s)
	}
}

// putServerAttributes writes what only administrators see.
func (q *request) putServerAttributes(j *httpapi.JSON, s compute.Server) {
	put(j, "OS-EXT-SRV-ATTR:host", orNull(s.Host), "OS-EXT-SRV-ATTR:hypervisor_hostname", orNull(s.Node),
		"OS-EXT-SRV-ATTR:instance_name", q.api.Compute.InstanceName(s.ServerRow))
	if q.minor >= 3 {
		put(j, "OS-EXT-SRV-ATTR:reservation_id", s.Reservation, "OS-EXT-SRV-ATTR:launch_index", s.Place,
			"OS-EXT-SRV-ATTR:hostname", s.Hostname, "OS-EXT-SRV-ATTR:kernel_id", "", "OS-EXT-SRV-ATTR:ramdisk_id", "",
			"OS-EXT-SRV-ATTR:root_device_name", nil, "OS-EXT-SRV-ATTR:user_data", orNull(s.UserData))
	}
}

// putHostStatus writes how the host is, for those who may know: all of it, or that
// nothing is known of it.
func (q *request) putHostStatus(j *httpapi.JSON, s compute.Server) {
	status := hostStatus(s)
	t := ofProject(s.Project)
	if q.may("servers:show:host_status", t) || status == "UNKNOWN" && q.may("servers:show:host_status:unknown-only", t) {
		put(j, "host_status", status)
	}
}

func hostStatus(s compute.Server) string {
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

// putServerSince writes what later versions added.
func (q *request) putServerSince(j *httpapi.JSON, s compute.Server) {
	if q.minor >= 9 {
		put(j, "locked", s.Locked != "")
	}
	if q.minor >= 73 {
		put(j, "locked_reason", orNull(s.LockedReason))
	}
	if q.minor >= 19 {
		put(j, "description", orNull(s.Description))
	}
	if q.minor >= 26 {
		put(j, "tags", s.Tags)
	}
	if q.minor >= 63 {
		put(j, "trusted_image_certificates", nil)
	}
}

func groupsOf(s compute.Server) []string {
	if s.Group == "" {
		return nil
	}
	return []string{string(s.Group)}
}

// securityGroups are those of so many ports that were made for a server: each port has them.
func securityGroups(names []string, ports int) writer {
	if len(names) == 0 {
		names = []string{"default"}
	}
	return array(slices.Repeat(names, ports), func(j *httpapi.JSON, name string) { object(j, "name", name) })
}

// imageOf is the image of a server, an empty text for none.
func (q *request) imageOf(s compute.Server) any {
	if s.Image == "" {
		return ""
	}
	return members("id", s.Image, "links", q.bookmark("images", string(s.Image)))
}

// bookmark is a list with the link to an object without a version.
func (q *request) bookmark(collection, id string) writer {
	return func(j *httpapi.JSON) {
		j.Array()
		object(j, "rel", "bookmark", "href", q.urlBelow("", collection+"/"+id))
		j.EndArray()
	}
}

// flavorOf is a link to the flavor before 2.47, and what it was since.
func (q *request) flavorOf(s compute.Server) writer {
	if q.minor < 47 {
		return members("id", s.FlavorID, "links", q.bookmark("flavors", string(s.FlavorID)))
	}
	return func(j *httpapi.JSON) {
		j.Object()
		f := s.Made
		put(j, "vcpus", f.VCPUs, "ram", f.MemoryMB, "disk", f.RootGB, "ephemeral", f.EphemeralGB, "swap", f.SwapMB, "original_name", f.Name)
		if q.may("servers:show:flavor-extra-specs", ofProject(s.Project)) {
			put(j, "extra_specs", f.Specs)
		}
		j.EndObject()
	}
}

// shownPorts are the ports whose addresses a server shows: none before it has run.
func shownPorts(s compute.Server) []compute.ServerPort {
	if s.LaunchedAt.IsZero() {
		return nil
	}
	return s.Ports
}

// addressesOf are the addresses of ports by the names of their networks.
func addressesOf(ports []compute.ServerPort, whole bool) writer {
	return func(j *httpapi.JSON) {
		j.Object()
		var names []string
		for _, p := range ports {
			if name := p.Shown.NetworkName; !slices.Contains(names, name) {
				names = append(names, name)
				put(j, name, networkAddresses(ports, name, whole))
			}
		}
		j.EndObject()
	}
}

func networkAddresses(ports []compute.ServerPort, name string, whole bool) writer {
	return func(j *httpapi.JSON) {
		j.Array()
		for _, p := range ports {
			for _, a := range p.Shown.Addresses {
				if p.Shown.NetworkName != name {
					continue
				}
				pairs := []any{"version", a.Version(), "addr", a.IP}
				if whole {
					pairs = append(pairs, "OS-EXT-IPS:type", "fixed", "OS-EXT-IPS-MAC:mac_addr", p.Shown.MAC)
				}
				object(j, pairs...)
			}
		}
		j.EndArray()
	}
}

// hostID tells a project's servers on one host from those on another, and no more.
func hostID(project, host string) string {
	if host == "" {
		return ""
	}
	sum := sha256.Sum224([]byte(project + host))
	return hex.EncodeToString(sum[:])
}

// isoTime is a time as servers show it.
func isoTime(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC().Format("2006-01-02T15:04:05Z")
}

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
		"migrating": "MIGRATING", "resize_prep": "RESIZE", "resize_migrating": "RESIZE", "resize_migrated": "RESIZE", "resize_finish": "RESIZE",
		compute.TaskRebuilding: "REBUILD", compute.RebuildSpawning: "REBUILD",
	}},
	{compute.Building, "BUILD", nil},
	{compute.Stopped, "SHUTOFF", map[string]string{
		"resize_prep": "RESIZE", "resize_migrating": "RESIZE", "resize_migrated": "RESIZE", "resize_finish": "RESIZE",
		compute.TaskRebuilding: "REBUILD", compute.RebuildSpawning: "REBUILD",
	}},
	{compute.Resized, "VERIFY_RESIZE", map[string]string{compute.ResizeReverting: "REVERT_RESIZE"}},
	{compute.Paused, "PAUSED", map[string]string{"migrating": "MIGRATING"}},
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
