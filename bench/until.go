package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/berthcloud/berth/bench/claims"
	"github.com/berthcloud/berth/bench/load"
	"github.com/berthcloud/berth/bench/servers"
)

// untilFull measures many clients that claim on the same few hosts until those are full, and
// compares the records with the claims.
type untilFull struct {
	mariaDB bool
	clients int
	hosts   int
	room    int // units of each host; a claim takes one
}

// wasted is the figure for claims that were refused or retried, as a part of those accepted.
const wasted = "wasted / claims"

func (u untilFull) measure(l *lab) (f figures, err error) {
	s, err := l.stage(spec{kind: "flat"}, u.mariaDB, sampling(true)) // no hosts
	if err != nil {
		return nil, err
	}
	defer s.kill()
	c, err := load.Dial(s.berth.Addr, servers.Headers...)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	hosts, err := u.make(c)
	if err != nil {
		return nil, err
	}
	r, err := claims.Run(claims.Plan{
		Addr: s.berth.Addr, Headers: servers.Headers, Clients: u.clients, Time: time.Minute, Keep: -1, Seed: 1,
		Query: func(int) string { return "/allocation_candidates?resources=VCPU:1&limit=10" },
	})
	if err != nil {
		return nil, err
	}
	return u.compareUsages(c, s.berth, hosts, r)
}

// make makes the hosts and returns their UUIDs.
func (u untilFull) make(c *load.Conn) ([]string, error) {
	hosts := make([]string, u.hosts)
	for i := range hosts {
		hosts[i] = fmt.Sprintf("00000000-0000-4000-8000-%012d", i+1)
		host := fmt.Appendf(nil, `{"name": "host%d", "uuid": "%s"}`, i, hosts[i])
		if err := send(c, "POST", "/resource_providers", host, 200); err != nil {
			return nil, err
		}
		room := fmt.Appendf(nil, `{"resource_provider_generation": 0, "inventories": {"VCPU": {"total": %d}}}`, u.room)
		if err := send(c, "PUT", "/resource_providers/"+hosts[i]+"/inventories", room, 200); err != nil {
			return nil, err
		}
	}
	return hosts, nil
}

// send sends a body, nil for none, and expects a status.
func send(c *load.Conn, method, path string, body []byte, want int) error {
	status, answer, err := c.Fetch(load.Request{Method: method, Path: path, Body: body})
	if err == nil && status != want {
		err = fmt.Errorf("%s %s: status %d: %.300s", method, path, status, answer)
	}
	return err
}

// compareUsages compares the service's usages with the claims and with the capacities, and adds the
// figures.
func (u untilFull) compareUsages(
	c *load.Conn, berth *servers.Server, hosts []string, r claims.Result,
) (f figures, err error) {
	used := 0
	for _, host := range hosts {
		n, err := usage(c, host)
		if err != nil {
			return nil, err
		}
		used += n
	}
	retried, err := counter(berth, `berth_claims_total{outcome="retried"}`)
	if err != nil {
		return nil, err
	}
	f.add("units not in use", float64(u.hosts*u.room-used), count)
	f.add("units in use without a claim", float64(used-r.Claims), count)
	f.add("p99 / p50", float64(r.Took.At(0.99))/float64(r.Took.At(0.5)), ratio)
	f.add(wasted, (retried+float64(r.Refused))/float64(r.Claims), ratio)
	f.add("claims", r.Rate(), perSecond)
	f.addTime("p50", r.Took.At(0.5))
	f.addTime("p99", r.Took.At(0.99))
	return f, nil
}

// usage returns how many units of a host are in use.
func usage(c *load.Conn, host string) (int, error) {
	body, err := get(c, "/resource_providers/"+host+"/usages")
	if err != nil {
		return 0, err
	}
	var answer struct{ Usages struct{ VCPU int } }
	err = json.Unmarshal(body, &answer)
	return answer.Usages.VCPU, err
}

// counter reads one of Berth's metrics, 0 when it has no sample.
func counter(berth *servers.Server, name string) (float64, error) {
	res, err := http.Get("http://" + berth.Ops + "/metrics")
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			return strconv.ParseFloat(strings.TrimSpace(value), 64)
		}
	}
	return 0, nil
}
