package servers

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/berthcloud/berth/compute"
)

// A ServerSpec is a request to create servers.
type ServerSpec struct {
	Name, Description string
	Hostname          string // "" for one that follows from the name
	Flavor            compute.ID
	Image             compute.ID
	// Min and Max are the smallest and the largest number of servers; 0 means 1.
	Min, Max int

	// Networks are its ports and networks; AnyNetwork says that none were requested, or "auto": it
	// gets the only network that exists.
	Networks   []compute.NetworkSpec
	AnyNetwork bool
	// Auto says that there has to be a network then.
	Auto bool
	// SecurityGroups are those of created ports, by name or id; none means the project's default.
	SecurityGroups []string

	Zone string // availability zone, "" for any
	// ForcedHost and ForcedNode are those of zone:host:node: they need only the capacity.
	ForcedHost, ForcedNode string
	// Host and Node are requested ones that must pass as any other.
	Host, Node string
	// Hints are the scheduler hints, a JSON object; nil for none.
	Hints []byte

	KeyName                string
	Metadata               map[string]string
	Tags                   []string
	UserData               string // base64
	ConfigDrive            bool
	DiskConfig             string // "AUTO" or "MANUAL"
	AccessIPv4, AccessIPv6 string

	// PortsMayRequest says that ports may request resources: the caller's version of the API knows
	// of it.
	PortsMayRequest bool
}

// SplitZone splits "zone:host:node", of which host and node may be missing. Fault: InvalidInput.
func SplitZone(text string) (zone, host, node string, err error) {
	parts := strings.Split(text, ":")
	switch len(parts) {
	case 1:
		return text, "", "", nil
	case 2:
		return parts[0], parts[1], "", nil
	case 3:
		return parts[0], parts[1], parts[2], nil
	}
	return "", "", "", compute.Invalid("InvalidInput", "Invalid input received: Unable to parse availability_zone")
}

// count returns the smallest and the largest number of servers.
func (s ServerSpec) count() (least, most int) {
	least = max(1, s.Min)
	return least, max(least, s.Max)
}

// call returns the name and the hostname of a server, one of several.
func (s ServerSpec) call(id compute.ID, index, count int) (name, hostname string) {
	name, hostname = s.Name, s.Hostname
	if count > 1 {
		name = fmt.Sprintf("%s-%d", s.Name, index+1)
	}
	if hostname != "" {
		return name, hostname
	}
	hostname = sanitized(s.Name)
	switch {
	case hostname == "":
		hostname = "Server-" + string(id)
	case count > 1:
		hostname = fmt.Sprintf("%s-%d", hostname, index+1)
	}
	return name, hostname
}

var (
	separators = regexp.MustCompile(`[ _.]`)
	notInHosts = regexp.MustCompile(`[^\pL\pN_.-]+`)
)

// maxHostname is how long a hostname may be: the least of what dnsmasq, Linux and
// Windows allow.
const maxHostname = 63

// sanitized makes a hostname of a server's name (nova.utils.sanitize_hostname).
func sanitized(name string) string {
	var latin []rune
	for _, r := range name {
		if r <= 0xff {
			latin = append(latin, r)
		}
	}
	if len(latin) > maxHostname {
		latin = latin[:maxHostname]
	}
	host := notInHosts.ReplaceAllString(separators.ReplaceAllString(string(latin), "-"), "")
	return strings.Trim(strings.ToLower(host), ".-")
}
