package conformance

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/berthcloud/berth/conformance/differential"
	"github.com/berthcloud/berth/internal/server"
	"github.com/berthcloud/berth/internal/servertest"
)

// TestPlantedDifferences shows that the comparison can fail: a proxy in front of upstream's
// Placement changes one thing, which must be detected.
func TestPlantedDifferences(t *testing.T) {
	if testing.Short() {
		t.Skip("starts two services")
	}
	opts := upstreamOptions(server.UpstreamRoot(), nil)
	whole, spoiled := server.StartUpstream(t, opts), server.StartUpstream(t, opts)
	for _, p := range plants() {
		t.Run(p.name, func(t *testing.T) {
			proxy := startProxy(t, strings.TrimPrefix(spoiled.URL(), "http://"), p)
			expectDifference(t, whole.URL(), proxy, p.found)
		})
	}
}

// expectDifference compares until a difference of the given kind is found.
func expectDifference(t *testing.T, a, b, kind string) {
	t.Helper()
	const seed, length, patience = 1, 120, time.Minute
	pair := differential.NewPair("upstream", "spoiled", func() (string, string) { return a, b })
	c := differential.Campaign{Pair: pair, Length: length, Shrink: 3 * time.Second}
	if err := c.Run(seed, time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if len(c.Failures) == 0 {
		t.Fatalf("no difference was noticed in %d requests", pair.Requests)
	}
	f := c.Failures[0]
	if !strings.Contains(f.Group(), kind) {
		t.Errorf("noticed %q, want it to mention %q", f.Group(), kind)
	}
	t.Logf("noticed after %d requests, shrunk to %d: %s", pair.Requests, len(f.Sequence), f.Group())
}

// A plant is one error that a proxy injects.
type plant struct {
	name  string
	found string                      // a part of the comparison's report; may be empty
	lose  func(request []byte) string // an answer instead of the service's
	spoil func(answer []byte) []byte  // the change of the service's answer
}

func plants() []plant {
	replace := func(old, new string) func([]byte) []byte {
		return func(answer []byte) []byte { return reframe(answer, old, new) }
	}
	return []plant{
		{name: "AWriteIsLost", lose: loseClaims},
		{name: "CapacityIsOffByOne", found: "/capacity", spoil: func(answer []byte) []byte {
			return regexp.MustCompile(`"capacity": 8\b`).ReplaceAll(answer, []byte(`"capacity": 9`))
		}},
		{name: "ATraitIsMissing", found: "/traits", spoil: replace(`"CUSTOM_RED", `, "")},
		{name: "AHeaderIsMissing", found: "header cache-control", spoil: replace("Cache-Control: no-cache\r\n", "")},
		{
			name: "AnotherCode", found: "error /code", spoil: replace("placement.concurrent_update", "placement.undefined_code"),
		},
		{name: "OtherWords", found: "detail", spoil: replace("does not match any of the regexes", "matches no regex")},
		{name: "AnotherStatus", found: "status", spoil: replace("HTTP/1.1 201 Created", "HTTP/1.1 200 OK")},
		{name: "ANumberBecomesText", found: "/generation", spoil: func(answer []byte) []byte {
			return reframe(answer, `"generation": 1,`, `"generation": "1",`)
		}},
	}
}

// loseClaims answers that allocations were set, and sets none.
func loseClaims(request []byte) string {
	if bytes.HasPrefix(request, []byte("PUT /allocations/")) && bytes.Contains(request, []byte(`"resources": {`)) &&
		bytes.Contains(request, []byte("placement 1.39")) {
		return "HTTP/1.1 204 No Content\r\nopenstack-api-version: placement 1.39\r\nvary: openstack-api-version\r\n" +
			"x-openstack-request-id: req-00000000-0000-0000-0000-000000000000\r\n\r\n"
	}
	return ""
}

// reframe replaces text in an answer and corrects its length.
func reframe(answer []byte, old, new string) []byte {
	head, body, found := bytes.Cut(bytes.ReplaceAll(answer, []byte(old), []byte(new)), []byte("\r\n\r\n"))
	if !found {
		return answer
	}
	length := fmt.Appendf(nil, "Content-Length: %d", len(body))
	head = regexp.MustCompile(`(?i)content-length: \d+`).ReplaceAll(head, length)
	return append(append(head, "\r\n\r\n"...), body...)
}

// startProxy passes raw requests on to a service, one a connection, and
// returns its own address.
func startProxy(t *testing.T, to string, p plant) string {
	l := servertest.Listen(t)
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Log(err)
		}
	})
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return // closed: the test is over
			}
			go pass(conn, to, p)
		}
	}()
	return "http://" + l.Addr().String()
}

// pass serves one connection. A broken one appears as a missing answer.
func pass(conn net.Conn, to string, p plant) {
	defer conn.Close() // its error does not matter
	request := make([]byte, 64<<10)
	n, err := conn.Read(request)
	if err != nil {
		return
	}
	request = request[:n]
	if p.lose != nil {
		if answer := p.lose(request); answer != "" {
			_, _ = io.WriteString(conn, answer)
			return
		}
	}
	answer := forward(request, conn, to)
	if p.spoil != nil {
		answer = p.spoil(answer)
	}
	_, _ = conn.Write(answer)
}

// forward returns the service's answer to a request that may have more to it
// than was read so far.
func forward(request []byte, rest io.Reader, to string) []byte {
	service, err := net.Dial("tcp", to)
	if err != nil {
		return nil
	}
	defer service.Close() // the answer has been read
	if _, err := service.Write(request); err != nil {
		return nil
	}
	go io.Copy(service, rest) // ends when the client disconnects
	answer, err := io.ReadAll(service)
	if err != nil {
		return nil
	}
	return answer
}
