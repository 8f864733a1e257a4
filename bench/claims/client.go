package claims

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/berthcloud/berth/bench/load"
)

// A Client is one scheduler with its own connection. It is for one goroutine.
type Client struct {
	conn   *load.Conn
	random *rand.Rand
	body   []byte

	allocated []string // consumers with claims, the oldest first
	parts     Parts    // in the order of the requests
}

// Dial connects a client to a service. The seed decides which candidates it
// takes and how its consumers are called.
func Dial(addr string, headers []string, seed uint64) (*Client, error) {
	conn, err := load.Dial(addr, headers...)
	if err != nil {
		return nil, err
	}
	return &Client{conn: conn, random: rand.New(rand.NewPCG(seed, seed))}, nil
}

// Close closes the connection. Claims remain.
func (c *Client) Close() error { return c.conn.Close() }

// Allocated returns the number of the client's claims.
func (c *Client) Allocated() int { return len(c.allocated) }

// An Outcome is the result of a claim.
type Outcome int

// The outcomes.
const (
	Claimed  Outcome = iota
	Refused          // the candidate's capacity was claimed meanwhile: retry
	NoneLeft         // there are no candidates
)

// Claim requests candidates and claims a random one of them for a new consumer.
func (c *Client) Claim(query string) (Outcome, error) {
	begin := time.Now()
	status, answer, err := c.conn.Fetch(load.Request{Method: "GET", Path: query})
	c.parts.Searches = append(c.parts.Searches, time.Since(begin))
	if err != nil || status != 200 {
		return 0, unexpected("GET", query, status, answer, err)
	}
	all := requests(answer)
	if len(all) == 0 {
		return NoneLeft, nil
	}
	consumer := uuid(c.random)
	path := "/allocations/" + consumer
	c.body = claim(c.body[:0], all[c.random.IntN(len(all))], newestOwner)
	begin = time.Now()
	status, answer, err = c.conn.Fetch(load.Request{Method: "PUT", Path: path, Body: c.body})
	c.parts.Claims = append(c.parts.Claims, time.Since(begin))
	switch {
	case err == nil && status == 204:
		c.allocated = append(c.allocated, consumer)
		return Claimed, nil
	case err == nil && status == 409:
		return Refused, nil
	default:
		return 0, unexpected("PUT", path, status, answer, err)
	}
}

// Release releases the oldest claim.
func (c *Client) Release() error {
	path := "/allocations/" + c.allocated[0]
	begin := time.Now()
	status, answer, err := c.conn.Fetch(load.Request{Method: "DELETE", Path: path})
	c.parts.Releases = append(c.parts.Releases, time.Since(begin))
	if err != nil || status != 204 {
		return unexpected("DELETE", path, status, answer, err)
	}
	c.allocated = c.allocated[1:]
	return nil
}

// uuid returns a random UUID for a consumer.
func uuid(random *rand.Rand) string {
	hi, lo := random.Uint64(), random.Uint64()
	return fmt.Sprintf("%08x-%04x-4%03x-8%03x-%012x", hi>>32, hi>>16&0xffff, hi&0xfff, lo>>48&0xfff, lo&0xffffffffffff)
}

func unexpected(method, path string, status int, answer []byte, err error) error {
	if err != nil {
		return err
	}
	return fmt.Errorf("%s %s: status %d: %.300s", method, path, status, answer)
}
