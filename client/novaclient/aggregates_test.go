package novaclient_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/client/clienttest"
	"github.com/berthcloud/berth/client/novaclient"
	"github.com/berthcloud/berth/network"
)

// TestAggregates has compute answer as Nova does.
func TestAggregates(t *testing.T) {
	const (
		missing  = `{"itemNotFound": {"code": 404, "message": "x could not be found."}}`
		conflict = `{"conflictingRequest": {"code": 409, "message": "Aggregate 3 already has host cn1."}}`
		with     = `{"aggregate": {"id": 3, "uuid": "u3", "name": "n", "hosts": ["cn1"]}}`
		without  = `{"aggregate": {"id": 3, "uuid": "u3", "name": "n", "hosts": []}}`
		path     = "/v2.1/os-aggregates"
		action   = "POST /v2.1/os-aggregates/3/action"
	)
	ctx := t.Context()
	for _, tc := range []struct {
		name    string
		answers []string // "STATUS BODY" of each request
		call    func(c *novaclient.Client) (any, error)
		want    any    // result
		err     error  // declared
		text    string // part of the error
		sent    []string
	}{
		{
			"List",
			[]string{`200 {"aggregates": [{"id": 3, "uuid": "u3", "name": "n", "hosts": ["cn1"], "metadata": {}}]}`},
			func(c *novaclient.Client) (any, error) { return c.Aggregates(ctx) },
			[]network.Aggregate{{Number: 3, ID: "u3", Name: "n", Hosts: []string{"cn1"}}},
			nil, "",
			[]string{"GET " + path},
		},
		{
			"TooOld",
			[]string{`200 {"aggregate": {"id": 3, "name": "n"}}`},
			func(c *novaclient.Client) (any, error) { return c.CreateAggregate(ctx, "n") },
			network.Aggregate{},
			nil, "a required field is missing",
			[]string{"POST " + path + ` {"aggregate":{"name":"n"}}`},
		},
		{
			"Create",
			[]string{`200 {"aggregate": {"id": 3, "uuid": "u3", "name": "n"}}`},
			func(c *novaclient.Client) (any, error) { return c.CreateAggregate(ctx, "n") },
			network.Aggregate{Number: 3, ID: "u3", Name: "n"},
			nil, "",
			[]string{"POST " + path + ` {"aggregate":{"name":"n"}}`},
		},
		{
			"CreateTaken",
			[]string{"409 " + conflict},
			func(c *novaclient.Client) (any, error) { return c.CreateAggregate(ctx, "n") },
			network.Aggregate{},
			network.ErrTaken, "already",
			[]string{"POST " + path + ` {"aggregate":{"name":"n"}}`},
		},
		{
			"Add",
			[]string{"200 " + with},
			func(c *novaclient.Client) (any, error) { return nil, c.AddHost(ctx, 3, "cn1") },
			nil, nil, "",
			[]string{action + ` {"add_host":{"host":"cn1"}}`},
		},
		{
			"AddUnknown",
			[]string{"404 " + missing},
			func(c *novaclient.Client) (any, error) { return nil, c.AddHost(ctx, 3, "cn1") },
			nil, network.ErrNoHost, "could not be found",
			[]string{action + ` {"add_host":{"host":"cn1"}}`},
		},
		{
			"AddMember",
			[]string{"409 " + conflict, "200 " + with},
			func(c *novaclient.Client) (any, error) { return nil, c.AddHost(ctx, 3, "cn1") },
			nil, nil, "",
			[]string{action + ` {"add_host":{"host":"cn1"}}`, "GET " + path + "/3"},
		},
		{
			"AddRefused",
			[]string{"409 " + conflict, "200 " + without},
			func(c *novaclient.Client) (any, error) { return nil, c.AddHost(ctx, 3, "cn1") },
			nil, nil, "already has host",
			[]string{action + ` {"add_host":{"host":"cn1"}}`, "GET " + path + "/3"},
		},
		{
			"AddAtWrongAddress",
			[]string{"404 page not found"},
			func(c *novaclient.Client) (any, error) { return nil, c.AddHost(ctx, 3, "cn1") },
			nil, nil, "answered 404",
			[]string{action + ` {"add_host":{"host":"cn1"}}`},
		},
		{
			"Remove",
			[]string{"200 " + without},
			func(c *novaclient.Client) (any, error) { return nil, c.RemoveHost(ctx, 3, "cn1") },
			nil, nil, "",
			[]string{action + ` {"remove_host":{"host":"cn1"}}`},
		},
		{
			"RemoveNoMember",
			[]string{"404 " + missing},
			func(c *novaclient.Client) (any, error) { return nil, c.RemoveHost(ctx, 3, "cn1") },
			nil, nil, "",
			[]string{action + ` {"remove_host":{"host":"cn1"}}`},
		},
		{
			"Delete",
			[]string{"200 "},
			func(c *novaclient.Client) (any, error) { return nil, c.DeleteAggregate(ctx, 3) },
			nil, nil, "",
			[]string{"DELETE " + path + "/3"},
		},
		{
			"DeleteMissing",
			[]string{"404 " + missing},
			func(c *novaclient.Client) (any, error) { return nil, c.DeleteAggregate(ctx, 3) },
			nil, nil, "",
			[]string{"DELETE " + path + "/3"},
		},
		{
			"DeleteWithHosts",
			[]string{`400 {"badRequest": {"code": 400, "message": "Host aggregate is not empty."}}`},
			func(c *novaclient.Client) (any, error) { return nil, c.DeleteAggregate(ctx, 3) },
			nil, nil, "not empty",
			[]string{"DELETE " + path + "/3"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			answers := tc.answers
			service := clienttest.NewProxy(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				var status int
				_, body, _ := strings.Cut(answers[0], " ")
				fmt.Sscan(answers[0], &status)
				answers = answers[1:]
				w.WriteHeader(status)
				fmt.Fprint(w, body)
			}))
			c := novaclient.New(clienttest.Options(t, service.URL+"/v2.1"))
			defer c.Close()
			got, err := tc.call(c)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
			if tc.err != nil && !errors.Is(err, tc.err) || (err == nil) != (tc.text == "") ||
				!strings.Contains(fmt.Sprint(err), tc.text) {
				t.Errorf("error %v, want %v with %q", err, tc.err, tc.text)
			}
			var sent []string
			for _, r := range service.Requests() {
				sent = append(sent, strings.TrimSpace(r.Call+" "+r.Body))
				if r.Version != "compute 2.41" {
					t.Errorf("version %q of %s", r.Version, r.Call)
				}
			}
			if diff := cmp.Diff(tc.sent, sent); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
		})
	}
}
