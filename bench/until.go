package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
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
	used := 0
	for _, host := range hosts {
		body, err := send(c, load.Request{Method: "GET", Path: "/resource_providers/" + host + "/usages"}, 200)
		if err != nil {
			return nil, err
		}
		var answer struct{ Usages struct{ VCPU int } }
		if err := json.Unmarshal(body, &answer); err != nil {
			return nil, err
		}
		used += answer.Usages.VCPU
	}
	retried, err := retriedClaims(s.berth)
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

// make makes the hosts and returns their UUIDs.
func (u untilFull) make(c *load.Conn) ([]string, error) {
	hosts := make([]string, u.hosts)
	for i := range hosts {
		hosts[i] = fmt.Sprintf("00000000-0000-4000-8000-%012d", i+1)
		_, err := send(c, load.Request{
			Method: "POST", Path: "/resource_providers",
			Body: fmt.Appendf(nil, `{"name": "host%d", "uuid": "%s"}`, i, hosts[i]),
		}, 200)
		if err != nil {
			return nil, err
		}
		_, err = send(c, load.Request{
			Method: "PUT", Path: "/resource_providers/" + hosts[i] + "/inventories",
			Body: fmt.Appendf(nil, `{"resource_provider_generation": 0, "inventories": {"VCPU": {"total": %d}}}`, u.room),
		}, 200)
		if err != nil {
			return nil, err
		}
	}
	return hosts, nil
}

// send sends a request, expects a status and returns the body of the answer.
func send(c *load.Conn, q load.Request, want int) ([]byte, error) {
	status, answer, err := c.Fetch(q)
	if err == nil && status != want {
		err = fmt.Errorf("%s %s: status %d: %.300s", q.Method, q.Path, status, answer)
	}
	return answer, err
}

// retriedClaims reads from Berth's metrics how many claims it has retried.
func retriedClaims(berth *servers.Server) (float64, error) {
	c, err := load.Dial(berth.Ops)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	text, err := send(c, load.Request{Method: "GET", Path: "/metrics"}, 200)
	if err != nil {
		return 0, err
	}
	found := regexp.MustCompile(`(?m)^berth_claims_total\{outcome="retried"\} (.*)$`).FindSubmatch(text)
	if found == nil {
		return 0, nil // it has no sample until the first one
	}
	return strconv.ParseFloat(string(found[1]), 64)
}
