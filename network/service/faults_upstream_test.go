package service_test

import (
	"net/http"
	"net/http/httputil"
	"net/url"
	"testing"
	"time"

	upstream "github.com/berthcloud/berth/internal/server"
)

// TestFaultsWithUpstream has the distribution's Placement in the place of ours.
func TestFaultsWithUpstream(t *testing.T) {
	if testing.Short() {
		t.Skip("starts the distribution's Placement")
	}
	places := forward(t, upstream.StartUpstream(t, upstream.Options{}).URL())
	for _, fault := range []string{"CutAfterwards", "Conflict"} {
		t.Run("Syncs/"+fault, func(t *testing.T) {
			d := newDrill(t, places, fault)
			for at, met := 1, true; met && !t.Failed(); at += 4 {
				met = d.meets(wireFaults[fault], at, false)
			}
		})
	}
	p := clientOf(t, places, time.Minute)
	for _, fault := range []string{"CutAfterwards", "GatewayTimeout", "Late"} {
		for _, name := range []string{"More", "AllNone"} {
			t.Run("Moves/"+fault+"/"+name, func(t *testing.T) {
				c := newCloudOn(t, p)
				c.survives(steps[name], places, fault, false)
				c.prepare(steps["None"])
				c.must(c.service.DeletePort(t.Context(), c.port))
				allocated := c.allocated()
				allocated.Amounts = nil
				c.must(c.direct.SetAllocations(t.Context(), server, allocated))
			})
		}
	}
}

// slowest bounds a request to upstream's service, which is not quick.
const slowest = 30 * time.Second

// forward returns a handler that hands requests on, each on a connection of its own:
// uWSGI ends connections without a word.
func forward(t *testing.T, to string) http.Handler {
	t.Helper()
	u, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	p := httputil.NewSingleHostReverseProxy(u)
	p.Transport = &http.Transport{DisableKeepAlives: true, ResponseHeaderTimeout: slowest}
	return p
}
