package computeapi

import (
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"time"

	"github.com/berthcloud/berth/httpapi/pyjson"
)

const (
	regexPart = `{"type": "string", "format": "regex"}`
	timePart  = `{"type": "string", "format": "date-time"}`
)

// What servers can be sorted by, and what they cannot be sorted by though it is no mistake before 2.75 to
// ask for it. Since 2.73 locked is one of the former.
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
var joinedParams = []string{"block_device_mapping", "services", "metadata", "system_metadata", "info_cache", "security_groups", "pci_devices"}

// tagParams are those that look for tags.
var tagParams = []string{"tags", "tags-any", "not-tags", "not-tags-any"}

var (
	serversQuery2_1  = serversQuery(1)
	serversQuery2_26 = serversQuery(26)
	serversQuery2_66 = serversQuery(66)
	serversQuery2_73 = serversQuery(73)
	serversQuery2_75 = serversQuery(75)
)

func serversQuery(minor int) querySchema {
	sorts := slices.Concat(serverSorts, ignoredSorts)
	if minor >= 75 {
		sorts = slices.Concat(serverSorts, []string{"locked"})
	}
	var params []string
	for name := range strings.FieldsSeq(serverParams) {
		name, isExpression := strings.CutPrefix(name, "~")
		part := stringPart
		switch {
		case isExpression:
			part = regexPart
		case name == "sort_key":
			part = `{"type": "string", "enum": ["` + strings.Join(sorts, `", "`) + `"]}`
		case name == "changes-since":
			part = timePart
		}
		params = append(params, name, many(part))
	}
	params = append(params, "limit", many(countPart), "marker", many(stringPart))
	if minor >= 26 {
		for _, name := range tagParams {
			params = append(params, name, many(regexPart))
		}
	}
	if minor >= 66 {
		params = append(params, "changes-before", many(timePart))
	}
	if minor >= 73 {
		params = append(params, "locked", many(stringPart))
	}
	return newQuery(false, params...)
}

func (q *request) serversSchema() querySchema {
	switch {
	case q.minor >= 75:
		return serversQuery2_75
	case q.minor >= 73:
		return serversQuery2_73
	case q.minor >= 66:
		return serversQuery2_66
	case q.minor >= 26:
		return serversQuery2_26
	}
	return serversQuery2_1
}

// isExpression is the format of regular expressions. They are Go's here.
func isExpression(v pyjson.Value) bool {
	_, err := syntax.Parse(v.Str(), syntax.Perl)
	return v.Str() != "" && err == nil
}

// maxExpression bounds the size of an expression, to which the time is proportional in which a character is looked at: a longest
// name, with an anchor at both ends, and as much again.
const maxExpression = 2 * (255 + 2)

// expression compiles an expression that the schema has seen, unless it is too large: some characters can stand for a
// million.
func expression(name, text string) (*regexp.Regexp, error) {
	tree, err := syntax.Parse(text, syntax.Perl)
	if err == nil && sizeOf(tree) > maxExpression {
		err = badRequest("The regular expression of %s is too large.", name)
	}
	if err != nil {
		return nil, err
	}
	return regexp.Compile(text)
}

// sizeOf is about how many steps of an automaton an expression becomes.
func sizeOf(e *syntax.Regexp) int {
	n := max(1, len(e.Rune))
	if e.Op == syntax.OpCharClass {
		n = 1 // its ranges are searched at once
	}
	for _, part := range e.Sub {
		n += sizeOf(part)
	}
	if e.Op == syntax.OpRepeat {
		n *= max(1, e.Min, e.Max)
	}
	return n
}

func isTime(v pyjson.Value) bool {
	_, ok := parseTime(v.Str())
	return ok
}

// timeLayouts are the forms of ISO 8601 that are read. Without a zone it is UTC.
var timeLayouts = []string{
	"2006-01-02T15:04:05Z07:00", "2006-01-02T15:04:05-0700", "2006-01-02T15:04:05", "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05",
	"2006-01-02T15:04Z07:00", "2006-01-02T15:04", "2006-01-02", "20060102T150405Z07:00", "20060102T150405",
}

func parseTime(text string) (time.Time, bool) {
	for _, layout := range timeLayouts {
		if t, err := time.Parse(layout, text); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

// times reads the two parameters that bound the time of a change.
func (q *request) times() (since, before time.Time, err error) {
	if text, ok := q.last("changes-since"); ok {
		since, _ = parseTime(text) // the schema has seen to it
	}
	if text, ok := q.last("changes-before"); ok {
		before, _ = parseTime(text)
	}
	if !since.IsZero() && !before.IsZero() && before.Before(since) {
		err = badRequest("The value of changes-since must be less than or equal to changes-before.")
	}
	return since, before, err
}
