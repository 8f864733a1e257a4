package serversapi

import (
	"slices"
	"strings"
	"time"

	"github.com/berthcloud/berth/httpapi/computeapi/wire"
)

const (
	regexPart = `{"type": "string", "format": "regex"}`
	timePart  = `{"type": "string", "format": "date-time"}`
)

// What servers can be sorted by, and sort keys that Nova accepts and ignores before 2.75. Since
// 2.73 locked is one of the former.
var (
	serverSorts = strings.Fields(`access_ip_v4 access_ip_v6 auto_disk_config availability_zone config_drive created_at display_description
		display_name host hostname image_ref instance_type_id kernel_id key_name launch_index launched_at locked_by node power_state
		progress project_id ramdisk_id root_device_name task_state terminated_at updated_at user_id uuid vm_state`)
	ignoredSorts = strings.Fields(`architecture cell_name cleaned default_ephemeral_device default_swap_device deleted deleted_at
		disable_terminate ephemeral_gb ephemeral_key_uuid id key_data launched_on locked memory_mb os_type reservation_id root_gb
		shutdown_terminate user_data vcpus vm_mode`)
)

// serverParams are the parameters of lists of servers in Nova's order, expressions
// marked with a tilde.
const serverParams = `user_id project_id tenant_id launch_index image_ref image ~kernel_id ~ramdisk_id ~hostname ~key_name ~power_state
	vm_state task_state host ~node ~flavor ~reservation_id ~launched_at ~terminated_at ~availability_zone ~name ~display_name ~description
	~display_description ~locked_by uuid ~root_device_name ~config_drive ~access_ip_v4 ~access_ip_v6 ~auto_disk_config ~progress sort_key
	sort_dir all_tenants soft_deleted deleted status changes-since ~ip ~ip6 ~created_at ^_
	block_device_mapping services metadata system_metadata info_cache security_groups pci_devices`

// joinedParams are none of the filters that they seem to be.
var joinedParams = []string{
	"block_device_mapping", "services", "metadata", "system_metadata", "info_cache", "security_groups", "pci_devices",
}

// tagParams are the filters by tags.
var tagParams = []string{"tags", "tags-any", "not-tags", "not-tags-any"}

var (
	serversQuery2_1  = serversQuery(1)
	serversQuery2_26 = serversQuery(26)
	serversQuery2_66 = serversQuery(66)
	serversQuery2_73 = serversQuery(73)
	serversQuery2_75 = serversQuery(75)
)

func serversQuery(minor int) wire.QuerySchema {
	sorts := slices.Concat(serverSorts, ignoredSorts)
	if minor >= 75 {
		sorts = slices.Concat(serverSorts, []string{"locked"})
	}
	var params []string
	for name := range strings.FieldsSeq(serverParams) {
		name, isExpression := strings.CutPrefix(name, "~")
		part := wire.StringPart
		switch {
		case isExpression:
			part = regexPart
		case name == "sort_key":
			part = `{"type": "string", "enum": ["` + strings.Join(sorts, `", "`) + `"]}`
		case name == "changes-since":
			part = timePart
		}
		params = append(params, name, wire.Repeated(part))
	}
	params = append(params, "limit", wire.Repeated(wire.CountPart), "marker", wire.Repeated(wire.StringPart))
	if minor >= 26 {
		for _, name := range tagParams {
			params = append(params, name, wire.Repeated(regexPart))
		}
	}
	if minor >= 66 {
		params = append(params, "changes-before", wire.Repeated(timePart))
	}
	if minor >= 73 {
		params = append(params, "locked", wire.Repeated(wire.StringPart))
	}
	return wire.NewQuery(false, params...)
}

func serversSchema(q *wire.Request) wire.QuerySchema {
	switch {
	case q.Minor >= 75:
		return serversQuery2_75
	case q.Minor >= 73:
		return serversQuery2_73
	case q.Minor >= 66:
		return serversQuery2_66
	case q.Minor >= 26:
		return serversQuery2_26
	}
	return serversQuery2_1
}

// times reads the two parameters that bound the time of a change.
func times(q *wire.Request) (since, before time.Time, err error) {
	if text, ok := q.Last("changes-since"); ok {
		since, _ = wire.ParseTime(text) // the schema has seen to it
	}
	if text, ok := q.Last("changes-before"); ok {
		before, _ = wire.ParseTime(text)
	}
	if !since.IsZero() && !before.IsZero() && before.Before(since) {
		err = wire.BadRequest("The value of changes-since must be less than or equal to changes-before.")
	}
	return since, before, err
}
