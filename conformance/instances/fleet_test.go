package instances

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/berthcloud/berth/internal/rest"
	"github.com/berthcloud/berth/internal/server"
	"github.com/berthcloud/berth/internal/servertest"
)

// size is how many instances a fleet has.
const size = 3

// An instance is one running service and its clients.
type instance struct {
	*server.Server
	name  string
	ops   string       // URL of the operators' listener
	c     *rest.Client // at the newest version
	plain *rest.Client // at a version with generations and without consumer types
}

// A fleet is the instances on one database.
type fleet []*instance

// newFleet starts an instance for each URL, all of which lead to one database.
func newFleet(t *testing.T, urls []string) fleet {
	t.Helper()
	var f fleet
	for n, url := range urls {
		f = append(f, newInstance(t, fmt.Sprintf("instance %d", n), url))
	}
	return f
}

func newInstance(t *testing.T, name, url string) *instance {
	t.Helper()
	ops := servertest.FreeAddress(t)
	s := server.StartBerth(t, server.Options{
		Database: url,
		Config:   map[string]map[string]string{"berth": {"metrics_listen": ops}},
	})
	i := &instance{Server: s, name: name, ops: "http://" + ops, c: rest.New(s.URL(), rest.Newest)}
	i.plain = i.c.At("1.36")
	t.Cleanup(i.c.Close)
	return i
}

// rotated returns the rotations of the list, one for each address.
func rotated(addresses []string) [][]string {
	var all [][]string
	for n := range size {
		n %= len(addresses)
		all = append(all, slices.Concat(addresses[n:], addresses[:n]))
	}
	return all
}

// same returns a URL for each instance.
func same(url string) []string { return slices.Repeat([]string{url}, size) }

// opsClient has the time-out of operators' requests.
var opsClient = http.Client{Timeout: 5 * time.Second}

// ready returns the status and text of an instance's /readyz. The status is 0 without an answer.
func ready(ops string) (status int, text string) {
	res, err := opsClient.Get(ops + "/readyz")
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = res.Body.Close() }() // all of it has been read
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, err.Error()
	}
	return res.StatusCode, string(body)
}

// until polls until the answer is yes and returns the duration; it ends the test when that takes
// more than limit.
func until(t *testing.T, limit time.Duration, what string, yes func() bool) time.Duration {
	t.Helper()
	begin := time.Now()
	for !yes() {
		if time.Since(begin) > limit {
			t.Fatalf("%s: not within %v", what, limit)
		}
		time.Sleep(10 * time.Millisecond)
	}
	return time.Since(begin)
}
