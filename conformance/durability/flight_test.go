package durability

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/berthcloud/berth/internal/rest"
	"github.com/berthcloud/berth/internal/servertest"
)

// TestTerminateFinishesRequests ends the service when it has read the beginning of some requests:
// each gets its answer, and acknowledged changes exist after the next start.
func TestTerminateFinishesRequests(t *testing.T) {
	const requests = 16
	conf, addr := configure(t, t.TempDir()+"/placement.db"), servertest.FreeAddress(t)
	p := serve(t, conf, addr)
	p.await(addr)
	c := rest.New("http://"+addr, version)
	defer c.Close()
	c.AddProvider(t, provider(0), "", rest.Resources{"VCPU": requests})

	var flights []*flight
	for n := range requests {
		flights = append(flights, board(t, addr, rest.UUID("ef", n)))
	}
	p.Signal(syscall.SIGTERM)
	refuseNew(t, addr)
	for _, f := range flights {
		if got := f.land(); got != http.StatusNoContent {
			t.Errorf("a request in flight got %d, want %d", got, http.StatusNoContent)
		}
	}
	if code, out := p.exit(); code != 0 {
		t.Errorf("exit code %d after SIGTERM, want 0\n%s", code, out)
	}

	serve(t, conf, addr).await(addr)
	if got := c.Usages(t, provider(0))["VCPU"]; got != requests {
		t.Errorf("%d in use after %d acknowledged claims of 1", got, requests)
	}
}

// refuseNew waits until the address has no listener.
func refuseNew(t *testing.T, addr string) {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		conn, err := net.DialTimeout("tcp", addr, time.Second)
		if err != nil {
			return
		}
		_ = conn.Close() // it was only a probe
	}
	t.Error("the service still listens 5 s after SIGTERM")
}

// A flight is a request whose head was sent and whose body was not.
type flight struct {
	t    *testing.T
	conn net.Conn
	r    *bufio.Reader
	body []byte
}

// board sends the head of a claim and waits until the service requests the body, which proves that
// it is handling the claim.
func board(t *testing.T, addr, consumer string) *flight {
	t.Helper()
	body, err := json.Marshal(rest.Allocations(nil, map[string]rest.Resources{provider(0): {"VCPU": 1}}))
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() }) // all of it has been read
	if err := conn.SetDeadline(time.Now().Add(endTime)); err != nil {
		t.Fatal(err)
	}
	head := strings.Join([]string{
		"PUT /allocations/" + consumer + " HTTP/1.1",
		"Host: " + addr,
		"X-Auth-Token: admin",
		"OpenStack-API-Version: placement " + version,
		"Content-Type: application/json",
		fmt.Sprintf("Content-Length: %d", len(body)),
		"Expect: 100-continue",
	}, "\r\n") + "\r\n\r\n"
	if _, err := conn.Write([]byte(head)); err != nil {
		t.Fatal(err)
	}
	f := &flight{t: t, conn: conn, r: bufio.NewReader(conn), body: body}
	line, err := f.r.ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "HTTP/1.1 100") {
		t.Fatalf("the service answers %q, %v to a head, want 100 Continue", line, err)
	}
	if _, err := f.r.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	return f
}

// land sends the body and returns the status of the answer, 0 for none.
func (f *flight) land() int {
	f.t.Helper()
	if _, err := f.conn.Write(f.body); err != nil {
		f.t.Error(err)
		return 0
	}
	res, err := http.ReadResponse(f.r, nil)
	if err != nil {
		f.t.Error(err)
		return 0
	}
	_ = res.Body.Close() // only the status matters
	return res.StatusCode
}
