package client_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/client"
	"github.com/berthcloud/berth/client/clienttest"
	"github.com/berthcloud/berth/client/novaclient"
	"github.com/berthcloud/berth/client/placementclient"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/placement/providertree"
)

// FuzzAnswers has a service return arbitrary answers: nothing panics, and errors are single
// printable lines.
func FuzzAnswers(f *testing.F) {
	f.Add(200,
		`{"versions": [{"min_version": "1.0", "max_version": "1.39"}], "resource_providers": [{"uuid": "u", "name": "n"}]}`)
	f.Add(200, `{"versions": [{"min_version": "1.0", "max_version": "1.39"}], "resource_provider_generation": 1, `+
		`"traits": [], "inventories": {"VCPU": {"total": 1}}}`)
	f.Add(200, `{"versions": [{"min_version": "1.0", "max_version": "1.29"}], `+
		`"allocations": {"u": {"resources": {"VCPU": 1}}, "v": null}}`)
	f.Add(409, clienttest.Concurrent)
	f.Add(404, `{"itemNotFound": {"message": "none"}}`)
	f.Add(400, `{"errors": [{"detail": "a\n\n b\u0000\ud800"}]}`)
	f.Fuzz(func(t *testing.T, status int, body string) {
		if status < 200 || status > 599 {
			return // net/http reads no others
		}
		answer := func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader(body))}, nil
		}
		opts := clienttest.Options(t, "http://placement.test", func(o *client.Options) {
			o.HTTP, o.Retries = &http.Client{Transport: roundTrip(answer)}, 0
		})
		ctx, cancel := context.WithCancel(t.Context())
		p, c := placementclient.New(opts), novaclient.New(opts)
		_, named := p.Named(ctx, "n")
		_, tree := p.Tree(ctx, clienttest.RootID, nil)
		root := providertree.Provider{ID: clienttest.RootID}
		_, createErr := p.Create(ctx, root)
		_, updateErr := p.Update(ctx, root)
		_, traitsErr := p.SetTraits(ctx, root)
		_, inventoriesErr := p.SetInventories(ctx, root)
		_, usedErr := p.Used(ctx, root.ID)
		_, allocationsErr := p.Allocations(ctx, clienttest.ServerID)
		eventsErr := c.SendEvents(ctx, []network.ServerEvent{{Name: "network-changed", Server: clienttest.ServerID}})
		cancel() // so that retries do not pause
		for _, err := range []error{
			named, tree, createErr, updateErr, traitsErr, inventoriesErr, usedErr, allocationsErr, eventsErr,
			p.EnsureTrait(ctx, "CUSTOM_A"), p.EnsureClass(ctx, "CUSTOM_A"), p.Remove(ctx, clienttest.RootID),
			p.SetAllocations(ctx, clienttest.ServerID, allocations.Consumer{}),
		} {
			if err == nil {
				continue
			}
			if text := err.Error(); len(text) > 2000 || !utf8.ValidString(text) || strings.Contains(text, "\n") {
				t.Errorf("error = %q", text)
			}
		}
	})
}
