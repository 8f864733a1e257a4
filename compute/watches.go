package compute

import (
	"github.com/berthcloud/berth/watch"
)

// watched are the rows that the list of a host is made of, and those that record its answers, by
// their keys: hosts, servers, ports and events.
var watched = watch.Rules{
	// Servers have no key for their host: a host's list names them by HostedRow, and a server that is
	// chosen a host, claimed or bound for it is not in the list yet.
	watch.Row(watch.By(ByID, func(r *ServerRow) ID { return r.ID })),
	watch.Row(watch.By(ByID, func(r *ServerSummary) ID { return r.ID })),
	watch.Row(
		watch.By(ByPort, func(r *PortRow) ID { return r.Port }),
		watch.By(ByServer, func(r *PortRow) ID { return r.Server }),
	),
	watch.Row(
		watch.By(ByHost, func(r *HostedRow) string { return r.Host }),
		watch.By(ByServer, func(r *HostedRow) ID { return r.Server }),
	),
	watch.Row(watch.By(ByID, func(r *EventRow) ID { return r.ID })),
	// for those who wait for the choice of a host
	watch.Row(watch.By(ByServer, func(r *MigrationRow) ID { return r.Server })),
}
