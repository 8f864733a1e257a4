package placementclient_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/berthcloud/berth/client/clienttest"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/placement/providertree"
	"github.com/berthcloud/berth/placement/providertree/providertreetest"
)

// speak has the service return a range of versions, and refuse newer ones.
func speak(p *clienttest.Proxy, low, high string, minor int) {
	p.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
		var requests int
		switch _, err := fmt.Sscanf(r.Header.Get("OpenStack-API-Version"), "placement 1.%d", &requests); {
		case r.URL.Path == "/":
			fmt.Fprintf(w, `{"versions": [{"id": "v1.0", "min_version": %q, "max_version": %q}]}`, low, high)
		case err != nil || requests > minor:
			w.WriteHeader(http.StatusNotAcceptable)
		default:
			return false
		}
		return true
	})
}

func TestVersions(t *testing.T) {
	service := clienttest.NewProxy(t, clienttest.Berth(t))
	for _, tc := range []struct {
		name, low, high string
		minor           int
		want            string // version of the request, or a part of the error
	}{
		{"Newest", "1.0", "1.39", 39, "placement 1.37"},
		{"Older", "1.0", "1.36", 36, "placement 1.36"},
		{"Oldest", "1.0", "1.29", 29, "placement 1.29"},
		{"TooOld", "1.0", "1.28", 28, "1.0 to 1.28 of its API, and one from 1.29"},
		{"Unreadable", "one", "two", 39, "cannot be read"},
		{"FarFuture", "1.40", "1.90", 90, "1.40 to 1.90"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			service.Requests()
			speak(service, tc.low, tc.high, tc.minor)
			p := newPlacement(t, service.URL)
			for range 2 {
				if err := p.EnsureTrait(t.Context(), "CUSTOM_A"); err != nil {
					clienttest.WantKind(t, "EnsureTrait", err, fault.Unavailable)
					if !strings.Contains(err.Error(), tc.want) {
						t.Errorf("EnsureTrait = %v, want %q", err, tc.want)
					}
					return
				}
			}
			calls := service.Requests()
			if n := clienttest.Count(calls, "GET /"); n != 1 {
				t.Errorf("the versions were requested %d times, want once", n)
			}
			if got := calls[len(calls)-1].Version; got != tc.want {
				t.Errorf("version = %q, want %q", got, tc.want)
			}
		})
	}
}

// TestAnotherReleaseAnswers that is older than the one before.
func TestAnotherReleaseAnswers(t *testing.T) {
	service := clienttest.NewProxy(t, clienttest.Berth(t))
	p := newPlacement(t, service.URL)
	clienttest.Must(t, "EnsureTrait", p.EnsureTrait(t.Context(), "CUSTOM_A"))
	speak(service, "1.0", "1.30", 30)
	clienttest.Must(t, "EnsureTrait after the downgrade", p.EnsureTrait(t.Context(), "CUSTOM_A"))
	calls := service.Requests()
	if got := calls[len(calls)-1].Version; got != "placement 1.30" {
		t.Errorf("version = %q", got)
	}
}

// TestSupports compares versions with the needed one, and reads them each time.
func TestSupports(t *testing.T) {
	service := clienttest.NewProxy(t, clienttest.Berth(t))
	p := newPlacement(t, service.URL)
	for _, tc := range []struct {
		low, high string
		kind      fault.Kind // fault.Internal for no error
		want      string     // a part of the error
	}{
		{"1.0", "1.35", fault.Unsupported, "placement has the versions 1.0 to 1.35 of its API, and 1.36 is needed"},
		{"1.0", "1.36", fault.Internal, ""},
		{"1.36", "1.90", fault.Internal, ""},
		{"1.37", "1.90", fault.Unsupported, "1.37 to 1.90"},
		{"2.0", "2.1", fault.Unsupported, "2.0 to 2.1"},
		{"one", "two", fault.Unavailable, "cannot be read"},
	} {
		speak(service, tc.low, tc.high, 36)
		switch err := p.Supports(t.Context(), 36); {
		case tc.kind == fault.Internal:
			clienttest.Must(t, "Supports with "+tc.high, err)
		default:
			clienttest.WantKind(t, "Supports with "+tc.high, err, tc.kind)
			if !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Supports with %s = %v, want %q", tc.high, err, tc.want)
			}
		}
	}
	speak(service, "1.0", "1.30", 30)
	clienttest.Must(t, "EnsureTrait", p.EnsureTrait(t.Context(), "CUSTOM_A"))
	speak(service, "1.0", "1.39", 39)
	clienttest.Must(t, "Supports after an upgrade", p.Supports(t.Context(), 39))
	clienttest.Must(t, "EnsureTrait after an upgrade", p.EnsureTrait(t.Context(), "CUSTOM_A"))
	calls := service.Requests()
	if got := calls[len(calls)-1].Version; got != "placement 1.37" {
		t.Errorf("after an upgrade requests have the version %q", got)
	}
}

// TestMovingNeedsANewerPlacement expects an error with the missing version.
func TestMovingNeedsANewerPlacement(t *testing.T) {
	service := clienttest.NewProxy(t, clienttest.Berth(t))
	p := newPlacement(t, service.URL)
	providertreetest.MakeTree(t, p)
	speak(service, "1.0", "1.36", 36)
	old := newPlacement(t, service.URL)
	moved := providertree.Provider{ID: clienttest.DeviceID, Name: "host one:agent:br-ex", Parent: clienttest.RootID}
	_, err := old.Update(t.Context(), moved)
	clienttest.WantKind(t, "Update with another parent", err, fault.Invalid)
	if err == nil || !strings.Contains(err.Error(), "needs version 1.37") || !strings.Contains(err.Error(), "has 1.36") {
		t.Errorf("error = %v, want what is needed and what is there", err)
	}
	moved.Parent = clienttest.AgentID
	_, err = old.Update(t.Context(), moved)
	clienttest.Must(t, "Update as it is", err)
}
