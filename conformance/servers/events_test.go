package servers

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/berthcloud/berth/internal/server"
)

// TestLostPortEvents loses the event of a port's deletion: the network service is killed between
// the commit and the delivery, the compute service when it gets it, both, or none of them, and the
// delivery fails. Within the interval of the compute service the port is in no record, the host has
// unplugged it, and its device is another server's.
func TestLostPortEvents(t *testing.T) {
	t.Parallel()
	atOnce(t, []string{"network", "network and compute", "compute", "no service"}, func(t *testing.T, name string) {
		n := berths(t)
		n.ports = 2
		deleted, handled := make(chan struct{}), make(chan struct{})
		pass := n.compute
		n.compute = func(url string) {
			onward := proxy(t, url)
			var lost atomic.Bool
			pass(serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				r.Body = io.NopCloser(bytes.NewReader(body))
				if bytes.Contains(body, []byte("vif-deleted")) && !lost.Swap(true) {
					close(deleted)
					<-handled
					w.WriteHeader(http.StatusInternalServerError)
					return
				}
				onward.ServeHTTP(w, r)
			})))
		}
		c := newCloudWith(t, 1, n)
		// The ports take all devices.
		ports := []string{c.newPortOf("direct", rate), c.newPortOf("direct", 0), c.newPortOf("direct", 0), c.newPort(rate)}
		id := c.booted(ports...)
		c.agrees()
		c.nets.Must(c, 204, "DELETE", "/v2.0/ports/"+ports[0], nil)
		<-deleted
		var killed []*server.Server
		if strings.Contains(name, "network") {
			killed = append(killed, c.networking)
		}
		if strings.Contains(name, "compute") {
			killed = append(killed, c.compute)
		}
		for _, s := range killed {
			s.Kill()
		}
		close(handled)
		for _, s := range killed {
			s.Restart()
		}
		c.agrees()
		c.has(id, 3)
		c.boot(1, c.newPortOf("direct", rate))
		c.rests()
		c.are("ACTIVE", "ACTIVE")
		c.agrees()
		c.clear()
	})
}
