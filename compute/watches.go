package compute

import (
	"github.com/berthcloud/berth/rows"
	"github.com/berthcloud/berth/watch"
)

// watched are the rows that the list of a host is made of, and those that tell of its answers, by their keys:
// hosts, servers, ports and events.
var watched = watch.Rules{
	watch.Row(
		watch.By(ByID, func(r *ServerRow) ID { return r.ID }),
		watch.By(ByHost, func(r *ServerRow) string { return r.Host }),
	),
	watch.Row(
		watch.By(ByPort, func(r *PortRow) ID { return r.Port }),
		watch.By(ByServer, func(r *PortRow) ID { return r.Server }),
	),
	watch.Row(
		watch.By(ByHost, func(r *HostedRow) string { return r.Host }),
		watch.By(ByServer, func(r *HostedRow) ID { return r.Server }),
	),
	watch.Row(watch.By(ByID, func(r *EventRow) ID { return r.ID })),
}

// hostWatches are the hosts that wait for changes of their lists.
type hostWatches struct{ store *watch.Store }

// A hostWatch is for one host.
type hostWatch struct {
	*watch.Poll
	changed <-chan struct{} // receives when the list must be read again
}

func (w hostWatches) add(host string) hostWatch {
	p := w.store.Begin(host)
	return hostWatch{p, p.Changed}
}

func (w hostWatches) remove(one hostWatch) { one.End() }

// notify wakes the watches of some hosts.
func (w hostWatches) notify(hosts ...string) {
	var n rows.Notes
	n.Add(hosts...)
	w.store.Notify(n)
}

// tellAll has all look again.
func (w hostWatches) tellAll() { w.store.Notify(rows.Notes{All: true}) }
