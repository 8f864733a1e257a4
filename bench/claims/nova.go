package claims

import (
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/berthcloud/berth/bench/load"
)

// novaHeaders are what every request of Nova has, as python-requests and keystoneauth send it: the
// connection is kept, and a compressed answer would be accepted.
var novaHeaders = []string{
	"User-Agent: nova-scheduler keystoneauth1/5.0.0 python-requests/2.28.1 CPython/3.11.2",
	"Accept-Encoding: gzip, deflate", "Accept: application/json", "Connection: keep-alive",
	"X-Auth-Token: admin",
}

// A Nova sends the requests that Nova's processes send to placement for each new server: its
// scheduler one for candidates and, before its claim, one for the consumer's allocations; the
// process that deletes the server the release; and meanwhile the computes their periodic reads.
// Each process has a connection of its own, and the microversions are those of Nova's report
// client. It is for one goroutine.
type Nova struct {
	scheduler, reader, deleter *load.Conn // microversions 1.36, 1.28 and 1.0

	agents   map[string]*load.Conn // by the part of a provider that they read
	roots    []string              // of the hosts
	searches []string              // paths, sent in turn

	random *rand.Rand // which candidates are claimed, and how consumers are called
	times  NovaTimes
	agent  int // the next read of an agent
}

// NovaTimes are the times of Nova's requests, of each kind in ascending order.
type NovaTimes struct {
	Searches, Reads, Claims, Releases, Agents load.Times
	Elapsed                                   time.Duration
}

// And returns the times of both.
func (t NovaTimes) And(o NovaTimes) NovaTimes {
	return NovaTimes{
		joined(t.Searches, o.Searches), joined(t.Reads, o.Reads), joined(t.Claims, o.Claims),
		joined(t.Releases, o.Releases), joined(t.Agents, o.Agents), t.Elapsed + o.Elapsed,
	}
}

// Rate returns servers per second.
func (t NovaTimes) Rate() float64 { return float64(len(t.Claims)) / t.Elapsed.Seconds() }

// agentReads are the reads of computes for each new server, by the microversion of the request:
// with 1,000 hosts, a period of 60 s and one new server a second, allocations are read 17 times for
// each server, and what Nova keeps for 300 s a fifth of that.
var agentReads = []struct {
	part, version string
	times         int
}{{"allocations", "1.0", 17}, {"inventories", "1.0", 3}, {"aggregates", "1.19", 3}, {"traits", "1.6", 3}}

// DialNova connects Nova's processes to a service. The roots are those of the hosts, and searches
// the paths of requests for candidates, without a limit.
func DialNova(addr string, roots, searches []string, seed uint64) (*Nova, error) {
	n := &Nova{
		roots: roots, agents: map[string]*load.Conn{},
		random: rand.New(rand.NewPCG(seed, seed)),
	}
	for _, path := range searches {
		n.searches = append(n.searches, path+"&limit=1000&root_required=!COMPUTE_STATUS_DISABLED")
	}
	dial := func(version string) (c *load.Conn, err error) {
		return load.Dial(addr, append(slices.Clone(novaHeaders), "OpenStack-API-Version: placement "+version)...)
	}
	var errs [3]error
	n.scheduler, errs[0] = dial("1.36")
	n.reader, errs[1] = dial("1.28")
	n.deleter, errs[2] = dial("1.0")
	err := errors.Join(errs[:]...)
	for _, read := range agentReads {
		var failed error
		n.agents[read.part], failed = dial(read.version)
		err = errors.Join(err, failed)
	}
	if err != nil {
		return nil, errors.Join(err, n.Close())
	}
	return n, nil
}

// Close closes the connections.
func (n *Nova) Close() (err error) {
	for _, c := range []*load.Conn{n.scheduler, n.reader, n.deleter} {
		if c != nil {
			err = errors.Join(err, c.Close())
		}
	}
	for _, c := range n.agents {
		if c != nil {
			err = errors.Join(err, c.Close())
		}
	}
	return err
}

// Run creates and deletes servers for a while, with the reads of computes in between, and returns
// the times of the requests.
func (n *Nova) Run(span time.Duration) (NovaTimes, error) {
	n.times = NovaTimes{}
	begin := time.Now()
	for i := 0; time.Since(begin) < span; i++ {
		if err := n.server(n.searches[i%len(n.searches)]); err != nil {
			return n.times, err
		}
	}
	n.times.Elapsed = time.Since(begin)
	for _, t := range []load.Times{n.times.Searches, n.times.Reads, n.times.Claims, n.times.Releases, n.times.Agents} {
		slices.Sort(t)
	}
	return n.times, nil
}

// server creates a server, has computes read, and deletes it.
func (n *Nova) server(search string) error {
	_, answer, err := timed(&n.times.Searches, n.scheduler, load.Request{Method: "GET", Path: search}, 200)
	if err != nil {
		return err
	}
	all := requests(answer)
	if len(all) == 0 {
		return errors.New("there are no candidates")
	}
	path := "/allocations/" + uuid(n.random)
	if _, _, err := timed(&n.times.Reads, n.reader, load.Request{Method: "GET", Path: path}, 200); err != nil {
		return err
	}
	body := claim(all[n.random.IntN(len(all))], novaOwner)
	_, _, err = timed(&n.times.Claims, n.scheduler, load.Request{Method: "PUT", Path: path, Body: body}, 204)
	if err != nil {
		return err
	}
	for _, read := range agentReads {
		for range read.times {
			n.agent++
			part := "/resource_providers/" + n.roots[n.agent%len(n.roots)] + "/" + read.part
			_, _, err := timed(&n.times.Agents, n.agents[read.part], load.Request{Method: "GET", Path: part}, 200)
			if err != nil {
				return err
			}
		}
	}
	_, _, err = timed(&n.times.Releases, n.deleter, load.Request{Method: "DELETE", Path: path}, 204)
	return err
}
