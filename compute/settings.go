package compute

import (
	"log/slog"
	"time"

	"github.com/berthcloud/berth/compute/request"
	"github.com/berthcloud/berth/compute/selection"
)

// Where a server's hostname must be the only one of its kind.
const (
	UniqueInProject  = "project"
	UniqueEverywhere = "global"
)

// Rules are what operations decide by besides rows: the settings and the clock, and the log that
// they write to. They have no store, so that what opens a transaction cannot be called within one.
type Rules struct {
	Settings Settings
	Now      func() time.Time
	Log      *slog.Logger
}

// Settings are what an operator decides about the compute service.
type Settings struct {
	// Quotas are the limits of projects that have none of their own; what is not in
	// them is as in DefaultQuotas.
	Quotas Quotas
	// ServiceDownTime is how old a report of a service that is up may be.
	ServiceDownTime time.Duration
	// DefaultZone is the availability zone of hosts that are in no aggregate
	// with one.
	DefaultZone string
	// Requests and Selection are the settings of the query for placement and of the choice among
	// its candidates.
	Requests  request.Settings
	Selection selection.Settings
	// NameTemplate makes of a server what hypervisors call it: the instance_name_template of
	// Nova, with conversions of its number, or of its id, uuid, hostname, display_name,
	// project_id and user_id in parentheses.
	NameTemplate string
	// UniqueNames is UniqueInProject or UniqueEverywhere where servers must not share a hostname,
	// "" for nowhere.
	UniqueNames string
	// LeaseTime is how long a worker may be silent before others go on with its operation: longer
	// than a request to a peer service takes, which may take place after its sender has died.
	LeaseTime time.Duration
	// BuildTime is the age up to which a server may be building on its host; older ones fail. 0
	// means no limit while the host reports.
	BuildTime time.Duration
	// ResizeOnHost allows a resized server to stay on its host.
	ResizeOnHost bool
	// ConfirmWindow is how long a resize waits before it is confirmed by itself, 0 for ever.
	ConfirmWindow time.Duration
	// HostTime is how long a caller waits for a host that must do something at once.
	HostTime time.Duration
	// PortInterval is how often the ports of each server are compared with those of the network
	// service, in whole seconds; less than a second means never.
	PortInterval time.Duration
	// History is how long the records of what has ended are retained: actions with their events,
	// moves, and the usage of deleted servers. 0 means for ever.
	History time.Duration
	// LiveRetries is how many more destinations a live migration tries when one refuses the server
	// before anything has moved: 0 for none, below 0 for all that there are.
	LiveRetries int
	// AllowNetworkQoS allows servers in networks that guarantee bandwidth. Nova refuses that.
	AllowNetworkQoS bool
	// AllowAttachQoS allows attaching ports with resource requests to existing servers. Nova did
	// not before its release Victoria.
	AllowAttachQoS bool
	// GuaranteedOperations are the operations that are allowed with servers whose ports have
	// resource requests, of those that the function GuaranteedOperations returns. Nova's releases
	// learned them one by one.
	GuaranteedOperations []string
}

// DefaultSettings are Nova's.
func DefaultSettings() Settings {
	return Settings{
		Quotas: DefaultQuotas(), ServiceDownTime: time.Minute, DefaultZone: "nova", NameTemplate: "instance-%08x",
		Requests: request.DefaultSettings(), Selection: selection.DefaultSettings(), HostTime: time.Minute,
		LeaseTime:      time.Minute,
		PortInterval:   time.Minute,
		LiveRetries:    -1,
		AllowAttachQoS: true, GuaranteedOperations: GuaranteedOperations(),
	}
}
