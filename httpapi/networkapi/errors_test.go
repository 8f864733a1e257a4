package networkapi_test

import (
	"net/http"
	"testing"

	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/networkapi"
)

// Why a peer service is unavailable is for the log: it names addresses. Why a
// request is for who sent it.
func TestUnavailable(t *testing.T) {
	for _, tc := range []struct {
		unserved bool
		want     string
	}{
		{false, "The server is currently unavailable. Please try again at a later time."},
		{true, "dial tcp 192.0.2.1:8778"},
	} {
		media, body := networkapi.Problem(httpapi.Problem{
			Status: http.StatusServiceUnavailable, Detail: "dial tcp 192.0.2.1:8778", Path: "/v2.0/ports", Method: "PUT",
			Unserved: tc.unserved,
		})
		want := `{"NeutronError": {"type": "HTTPServiceUnavailable", "message": "` + tc.want + `", "detail": ""}}`
		if media != "application/json" || string(body) != want {
			t.Errorf("Problem = %s %s, want %s", media, body, want)
		}
	}
}

// An error of an unknown path is an error like others too.
func TestRejections(t *testing.T) {
	for status, want := range map[int]string{
		http.StatusForbidden:          `{"NeutronError": {"type": "HTTPForbidden", "message": "why", "detail": ""}}`,
		http.StatusServiceUnavailable: `{"NeutronError": {"type": "HTTPServiceUnavailable", "message": "why", "detail": ""}}`,
	} {
		media, body := networkapi.Problem(httpapi.Problem{Status: status, Detail: "why", Unserved: true})
		if media != "application/json" || string(body) != want {
			t.Errorf("Problem of %d = %s %s, want %s", status, media, body, want)
		}
	}
}
