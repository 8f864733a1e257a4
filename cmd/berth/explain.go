package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berthcloud/berth/compute/request"
	"github.com/berthcloud/berth/httpapi/placementapi"
	"github.com/berthcloud/berth/microversion"
	novaask "github.com/berthcloud/berth/ops/ask"
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/explain"
	"github.com/berthcloud/berth/ops/openstack"
	"github.com/berthcloud/berth/placement"
)

// An explanation is the flags of "berth explain".
type explanation struct {
	source        cloudSource
	server        string
	request       string
	flavor, image string
	ports         []string
	volume        bool
	zone          string
	hints         []string
	host          string
	near          int
	out           *output
	asked         novaask.Server
	unread        string // what is not known of the server, for people
	owner         func(string) string
}

// newExplain returns "berth explain".
func newExplain(env environment) *cobra.Command {
	x := &explanation{}
	cmd := &cobra.Command{
		Use:   "explain [QUERY | --server SERVER | --request-id ID | --flavor F]",
		Short: "Say why there is no valid host, and what would help",
		Long: `Explain says which hosts can serve a request and why the others cannot: how many
hosts and providers each constraint drops, which single change of the request
would give hosts, and what the hosts lack that come closest.

The request is one of these:

  QUERY             the query string of GET /allocation_candidates
  --server          what a server asks for that exists or failed: its flavor,
                    image and ports
  --request-id      the same for the server whose request (req-…) failed
  --flavor          a server to be created, with --image, --port and others as
                    for openstack server create

A server is asked for as Nova does, with the filters that Nova has on by
default. Hosts whose service is down or disabled, or that a hint forbids, are
named, since Nova does not take them. A network whose QoS policy guarantees
something is not asked for: Nova refuses to boot with it; create a port and give
it with --port.

With --host it says why not there. All records of the placement service are
read; Berth's own explains queries itself, at GET /berth/v1/explain?QUERY.

` + cloudSourceHelp + `

Exit codes:
  0  hosts fit
  1  could not look; standard error says why
  2  wrong arguments or settings
  3  the database cannot be used
  6  no host fits`,
		Example: `  berth explain --os-cloud admin --server web1
  berth explain --os-cloud admin --flavor m1.large --image debian --port fast0
  berth explain --os-cloud admin --server web1 --host cn7
  berth explain --config /etc/placement/placement.conf \
      'resources=VCPU:4,MEMORY_MB:8192&required=HW_CPU_X86_AVX512F'`,
		Args: x.oneRequest,
		RunE: func(cmd *cobra.Command, args []string) error { return x.run(cmd, env, args) },
	}
	x.source.flags(cmd)
	f := cmd.Flags()
	f.StringVar(&x.server, "server", "", "explain what `SERVER`, a name or UUID, asks for")
	f.StringVar(&x.request, "request-id", "", "explain what the server asks for whose request `ID` failed")
	f.StringVar(&x.flavor, "flavor", "", "explain a server of `FLAVOR`, a name or id")
	f.StringVar(&x.image, "image", "", "from `IMAGE`, a name or id")
	f.StringArrayVar(&x.ports, "port", nil, "with `PORT`, a name or id; may be repeated")
	f.BoolVar(&x.volume, "boot-from-volume", false, "whose root disk is a volume")
	f.StringVar(&x.zone, "availability-zone", "", "in `ZONE`, or on a host with ZONE:HOST")
	f.StringArrayVar(&x.hints, "hint", nil, "with the scheduler hint `KEY=UUID`: same_host or different_host; may be repeated")
	f.StringVar(&x.host, "host", "", "say what `HOST`, the name or UUID of its provider, lacks")
	f.IntVar(&x.near, "near", 5, "describe `N` hosts that do not fit")
	x.out = addOutput(cmd)
	return cmd
}

// oneRequest refuses anything but one way to say what is asked for. The error does not quote arguments.
func (x *explanation) oneRequest(_ *cobra.Command, args []string) error {
	ways := 0
	for _, given := range []bool{len(args) > 0, x.server != "", x.request != "", x.flavor != ""} {
		if given {
			ways++
		}
	}
	switch {
	case ways == 0:
		return errors.New("nothing says what is asked for: give a QUERY, --server, --request-id or --flavor")
	case ways > 1 || len(args) > 1:
		return errors.New("what is asked for is said in one way: a QUERY in quotes, --server, --request-id or --flavor")
	case x.flavor == "" && (x.image != "" || len(x.ports) > 0 || x.volume):
		return errors.New("--image, --port and --boot-from-volume are about a server to be created, and want --flavor")
	}
	_, err := x.parseHints()
	return err
}

// parseHints returns the hints of the flags.
func (x *explanation) parseHints() (h novaask.Hints, err error) {
	for _, text := range x.hints {
		key, uuid, _ := strings.Cut(text, "=")
		switch {
		case uuid == "":
			err = fmt.Errorf("--hint %s: want KEY=UUID", text)
		case key == "same_host":
			h.Same = append(h.Same, uuid)
		case key == "different_host":
			h.Different = append(h.Different, uuid)
		default:
			err = fmt.Errorf("--hint %s: the hints same_host and different_host are known", text)
		}
	}
	return h, err
}

// run explains the request.
func (x *explanation) run(cmd *cobra.Command, env environment, args []string) error {
	ctx := cmd.Context()
	var q placement.Query
	if len(args) == 1 {
		var err error
		if q, err = placementapi.CandidatesQuery(args[0], microversion.Placement.Max().Minor); err != nil {
			return fail(exitUsage, fmt.Errorf("the query: %w", err))
		}
	}
	parts := cloud.Parts{Placement: cloud.Need}
	if len(args) == 0 {
		parts.Compute, parts.Network = cloud.Try, cloud.Try
	}
	if x.server != "" || x.request != "" || len(x.hints) > 0 {
		parts.Compute = cloud.Need
	}
	c, err := x.source.read(cmd, env, parts)
	if err != nil {
		return err
	}
	if len(args) == 0 {
		if q, err = x.query(cmd, env, c); err != nil {
			return err
		}
	}
	s, err := c.Snapshot()
	if err != nil {
		return fail(exitFailure, err)
	}
	e, err := explain.Explain(ctx, s, q, explain.Options{Near: x.near, Host: x.host})
	switch {
	case ctx.Err() != nil:
		return fail(exitFailure, errors.New("interrupted"))
	case err != nil:
		return fail(exitUsage, err)
	}
	refused := x.refused(c, e)
	if err := x.print(env, e, refused); err != nil {
		return err
	}
	if e.Fitting == len(refused) {
		return fail(exitFound, errors.New(cmp.Or(e.Refused, "no host fits")))
	}
	return nil
}

// query returns what Nova asks for the server that the flags name.
func (x *explanation) query(cmd *cobra.Command, env environment, c *cloud.Cloud) (placement.Query, error) {
	ctx := cmd.Context()
	var client *openstack.Client
	if x.flavor != "" || x.request != "" || x.source.file == "" {
		var err error
		if client, err = x.source.connect(cmd, env); err != nil {
			return placement.Query{}, fail(exitUsage, fmt.Errorf("servers, flavors and images are looked up in the cloud's APIs: %w", err))
		}
	}
	server, err := x.find(ctx, client, c)
	if err != nil {
		return placement.Query{}, fail(exitFailure, err)
	}
	zone, node, _ := strings.Cut(x.zone, ":")
	server.Zone, server.Node = cmp.Or(zone, server.Zone), node
	if server.Hints, err = x.parseHints(); err != nil {
		return placement.Query{}, fail(exitUsage, err)
	}
	r, err := novaask.Request(server, c, request.DefaultSettings())
	var none *request.NoValidHost
	switch {
	case errors.As(err, &none):
		return placement.Query{}, fail(exitFound, fmt.Errorf("placement is not asked by Nova: %s", strings.Join(none.Details, "; ")))
	case err != nil:
		return placement.Query{}, fail(exitUsage, err)
	}
	if x.unread != "" {
		fmt.Fprintf(env.stderr, "note: %s\n", x.unread)
	}
	for _, warning := range r.Warnings {
		fmt.Fprintf(env.stderr, "note: Nova ignores a part of the flavor: %s\n", warning)
	}
	x.asked, x.owner = server, r.Owner
	return r.Query, nil
}

// find returns the server that the flags name or describe.
func (x *explanation) find(ctx context.Context, client *openstack.Client, c *cloud.Cloud) (server novaask.Server, err error) {
	if x.flavor != "" {
		server.FromVolume = x.volume
		if server.Flavor, err = client.Flavor(ctx, x.flavor); err != nil {
			return server, err
		}
		for _, word := range x.ports {
			p, err := client.Port(ctx, word)
			if err != nil {
				return server, err
			}
			server.Ports = append(server.Ports, p)
		}
		if x.image != "" {
			server.Image, err = client.Image(ctx, x.image)
		}
		return server, err
	}
	word := x.server
	if x.request != "" {
		var servers []string // those that failed first
		for _, failed := range []bool{true, false} {
			for _, s := range c.Compute.Servers {
				if (s.Status == "ERROR") == failed {
					servers = append(servers, s.UUID)
				}
			}
		}
		if word, err = client.ServerOfRequest(ctx, servers, x.request); err != nil {
			return server, err
		}
		if word == "" {
			return server, fmt.Errorf("no server has an action with the request id %s", x.request)
		}
	}
	server, of, err := novaask.Of(c, word)
	if err != nil {
		return server, err
	}
	switch {
	case of.Image == "":
	case client == nil:
		x.unread = "The image of the server is not among the records of a file: what it requires is not asked for."
	default:
		server.Image, err = client.Image(ctx, of.Image)
	}
	return server, err
}

// A refusedHost is a host that placement offers and Nova does not take.
type refusedHost struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

// refused returns the hosts that fit and that Nova does not take.
func (x *explanation) refused(c *cloud.Cloud, e *explain.Explanation) []refusedHost {
	list := []refusedHost{}
	for _, name := range e.Fit {
		if why := x.asked.Refused(c, name); why != "" {
			list = append(list, refusedHost{name, why})
		}
	}
	return list
}

// print prints the explanation. As a table it has the groups with what each constraint drops.
func (x *explanation) print(env environment, e *explain.Explanation, refused []refusedHost) error {
	r := result{
		columns: []string{"group", "resource_class", "constraint", "hosts", "providers"},
		text: func(w io.Writer) error {
			if err := e.Write(w, x.owner); err != nil {
				return err
			}
			for i, h := range refused {
				if i == 0 {
					fmt.Fprintf(w, "\nOf the hosts that fit, Nova does not take:\n")
				}
				if _, err := fmt.Fprintf(w, "  %s: %s\n", h.Name, h.Reason); err != nil {
					return err
				}
			}
			return nil
		},
		value: struct {
			Summary string `json:"summary"`
			*explain.Explanation
			Refused []refusedHost `json:"not_taken"`
		}{e.Summary(), e, refused},
	}
	for _, g := range e.Groups {
		for _, d := range g.Drops {
			r.rows = append(r.rows, []any{g.Suffix, g.Class, d.Constraint, d.Hosts, d.Providers})
		}
		r.rows = append(r.rows, []any{g.Suffix, g.Class, "left", g.Hosts, g.Providers})
	}
	return x.out.print(env.stdout, r)
}
