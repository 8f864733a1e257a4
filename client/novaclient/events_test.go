package novaclient_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/client/clienttest"
	"github.com/berthcloud/berth/client/novaclient"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/network"
)

// TestSendEvents has compute answer as Nova does.
func TestSendEvents(t *testing.T) {
	const nobody = `{"itemNotFound": {"code": 404, "message": "No instances found for any event"}}`
	for _, tc := range []struct {
		name   string
		status int
		body   string
		want   string // part of the error; "" for none
		kind   fault.Kind
	}{
		{"All", 200, `{"events": []}`, "", 0},
		{"Some", 207, `{"events": [{"code": 404, "status": "failed"}, {"code": 422}]}`, "", 0},
		{"None", 404, nobody, "", 0},
		{"WrongAddress", 404, `404 page not found`, "answered 404", fault.NotFound},
		{
			"OtherWrongAddress", 404, `{"message": "x", "code": "404 Not Found", "title": "Not Found"}`, "answered 404",
			fault.NotFound,
		},
		{
			"Bad", 400, `{"badRequest": {"code": 400, "message": "Invalid input for field/attribute events."}}`,
			"Invalid input for field", fault.Invalid,
		},
		{"Forbidden", 403, `{"forbidden": {"code": 403, "message": "no"}}`, "[nova]", fault.Unavailable},
		{
			"Broken", 500, `{"computeFault": {"code": 500, "message": "Unexpected API Error."}}`, "computeFault",
			fault.Unavailable,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			service := clienttest.NewProxy(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(tc.status)
				fmt.Fprint(w, tc.body)
			}))
			c := novaclient.New(clienttest.Options(t, service.URL+"/v2.1"))
			defer c.Close()
			err := c.SendEvents(t.Context(), []network.ServerEvent{
				{Name: "network-vif-plugged", Server: clienttest.ServerID, Tag: clienttest.OtherID, Status: "completed"},
				{Name: "network-changed", Server: clienttest.ServerID},
			})
			if tc.want == "" {
				clienttest.Must(t, "SendEvents", err)
			} else if clienttest.WantKind(t, "SendEvents", err, tc.kind); !strings.Contains(fmt.Sprint(err), tc.want) {
				t.Errorf("SendEvents = %v, want %q", err, tc.want)
			}
			want := []clienttest.Request{{Call: "POST /v2.1/os-server-external-events", Token: "admin", Body: `{"events":[` +
				`{"name":"network-vif-plugged","server_uuid":"` + clienttest.ServerID + `","tag":"` + clienttest.OtherID +
				`","status":"completed"},` +
				`{"name":"network-changed","server_uuid":"` + clienttest.ServerID + `"}]}`}}
			if diff := cmp.Diff(want, service.Requests()); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSendNothing(t *testing.T) {
	c := novaclient.New(clienttest.Options(t, "http://127.0.0.1:1"))
	clienttest.Must(t, "SendEvents of nothing", c.SendEvents(t.Context(), nil))
}
