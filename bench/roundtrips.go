package main

import (
	"fmt"

	"github.com/berthcloud/berth/bench/load"
	"github.com/berthcloud/berth/bench/servers"
	"github.com/berthcloud/berth/bench/trips"
	"github.com/berthcloud/berth/internal/process"
)

// roundTrips counts how often Berth waits for a MariaDB while it answers one
// write of one client.
type roundTrips struct{ cloud spec }

// roundTripWrites is how many writes of each kind are counted.
const roundTripWrites = 50

func (t roundTrips) measure(l *lab) (f figures, err error) {
	db, err := l.mariaDB(t.cloud)
	if err != nil {
		return nil, err
	}
	defer db.Kill()
	ln, err := process.Listen()
	if err != nil {
		return nil, err
	}
	relay := trips.Start(ln, db.Addr)
	defer relay.Close()
	quiet := servers.Settings{"berth": {"reconcile_interval": "3600"}}
	berth, err := l.berthOn(db.Through(relay.Addr(), servers.Placement), quiet)
	if err != nil {
		return nil, err
	}
	defer berth.Kill()
	c, err := load.Dial(berth.Addr, servers.Headers...)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return t.count(l, c, relay)
}

// count makes claims and releases them, and adds the median of their round trips, since background
// work of Berth may add some.
func (t roundTrips) count(l *lab, c *load.Conn, relay *trips.Relay) (f figures, err error) {
	roots := l.make(t.cloud).Roots()
	var puts, deletes []float64
	for i := range roundTripWrites {
		path := fmt.Sprintf("/allocations/00000000-0000-4000-9000-%012d", i)
		before := relay.Trips()
		if err := send(c, "PUT", path, oneClaim(string(roots[i%len(roots)])), 204); err != nil {
			return nil, err
		}
		between := relay.Trips()
		if err := send(c, "DELETE", path, nil, 204); err != nil {
			return nil, err
		}
		puts = append(puts, float64(between-before))
		deletes = append(deletes, float64(relay.Trips()-between))
	}
	f.add("round trips of a PUT", median(puts), count)
	f.add("round trips of a DELETE", median(deletes), count)
	return f, nil
}

// oneClaim is the body of a claim of a new consumer on a flat host.
func oneClaim(host string) []byte {
	return fmt.Appendf(nil, `{"allocations": {"%s": {"resources": {"VCPU": 1, "MEMORY_MB": 1024, "DISK_GB": 10}}}, `+
		`"consumer_generation": null, "project_id": "bench", "user_id": "bench", "consumer_type": "INSTANCE"}`, host)
}
