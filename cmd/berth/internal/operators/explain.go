package operators

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/berthcloud/berth/cmd/berth/internal/cli"
	"github.com/berthcloud/berth/compute/request"
	"github.com/berthcloud/berth/httpapi/placementapi"
	"github.com/berthcloud/berth/microversion"
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/lookup"
	"github.com/berthcloud/berth/ops/novaquery"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/explain"
)

// explainOptions are the flags of "berth explain".
type explainOptions struct {
	serverFlags

	env     cli.Env
	source  cloudSource
	server  string
	request string
	flavor  string
	hints   []string
	host    string
	near    int
	own     bool
	out     *cli.Output

	subject novaquery.Server // {} for a query
	owner   func(string) string
	assumed []string // settings of Nova
}

// NewExplain returns "berth explain".
func NewExplain(env cli.Env) *cobra.Command {
	x := &explainOptions{env: env}
	cmd := &cobra.Command{
		Use:   "explain [QUERY | --server SERVER | --request-id ID | --flavor F]",
		Short: "Say why there is no valid host, and what would help",
		Long: `Explain says which hosts can serve a request and why the others cannot: how many
hosts and providers each constraint drops, which single change of the request
would give hosts, and what the hosts lack that come closest.

The request is one of these:

  QUERY             the query string of GET /allocation_candidates, with or
                    without its path
  --server          what a server needs that exists or failed: its flavor, image
                    and ports
  --request-id      the same for the server whose request (req-…) failed
  --flavor          a server to be created, with --image, --port, --network and
                    others as for openstack server create

The query for a server is Nova's, with the request filters that are on by
default, or in the nova.conf of --nova-config. Hosts whose service is down or
disabled, or that a hint or the server group forbids, are named, since Nova does
not take them.

With --own it is for users who may not read the records: whether some host could
serve the request, and which part of it to change. Berth's placement service
answers that where its policy rule berth:placement:explain:own allows it.

With --host it begins with what that host lacks. All records of the placement
service are read; Berth's own explains queries itself, at GET
/berth/v1/explain?QUERY.

Exit codes:
  0  hosts fit; with --host, that host fits
  1  the records could not be read; standard error says why
  2  wrong arguments or settings
  3  the database cannot be used
  6  no host fits; with --host, that host does not`,
		Example: `  berth explain --os-cloud admin --server web1
  berth explain --os-cloud admin --flavor m1.large --image debian --port fast0
  berth explain --os-cloud admin --server web1 --host cn7
  berth explain --os-cloud admin --flavor m1.large --network net0 \
      --hint group=3f4e… --nova-config /etc/nova/nova.conf
  berth explain --os-cloud mine --own --flavor m1.large --image debian
  berth explain --config /etc/placement/placement.conf \
      'resources=VCPU:4,MEMORY_MB:8192&required=HW_CPU_X86_AVX512F'`,
		Args: x.oneRequest,
		RunE: func(cmd *cobra.Command, args []string) error { return x.run(cmd.Context(), args) },
	}
	x.source.flags(cmd)
	f := cmd.Flags()
	f.StringVar(&x.server, "server", "", "`SERVER`: server that exists or failed (name or UUID)")
	f.StringVar(&x.request, "request-id", "", "`ID`: request for a server that failed (req-…)")
	f.StringVar(&x.flavor, "flavor", "", "`FLAVOR`: flavor of a server to be created (name or ID)")
	x.serverFlags.flags(cmd)
	cli.Group(cmd, cli.ServerFlags, func(f *pflag.FlagSet) {
		f.StringArrayVar(&x.hints, "hint", nil,
			"`KEY=UUID`: scheduler hint: group, same_host or different_host; may be repeated")
	})
	f.StringVar(&x.host, "host", "", "`HOST`: host to explain first (name or UUID of its provider)")
	f.BoolVar(&x.own, "own", false, "say whether some host could serve the request, for users who may not see hosts")
	f.IntVar(&x.near, "near", 5, "`N`: number of hosts that are described although they do not fit")
	x.out = cli.AddOutput(cmd)
	return cmd
}

// oneRequest refuses anything but one way to name the request. The error does not quote arguments.
func (x *explainOptions) oneRequest(_ *cobra.Command, args []string) error {
	ways := 0
	for _, named := range []bool{len(args) > 0, x.server != "", x.request != "", x.flavor != ""} {
		if named {
			ways++
		}
	}
	switch {
	case ways == 0:
		return errors.New("no request is named: give a QUERY, --server, --request-id or --flavor")
	case ways > 1 || len(args) > 1:
		return errors.New("the request is named in one way: a QUERY in quotes, --server, --request-id or --flavor")
	}
	if err := x.check(x.flavor != ""); err != nil {
		return err
	}
	if err := x.checkOwn(); err != nil {
		return err
	}
	_, _, err := x.parseHints()
	return err
}

// parseHints returns the hints of the flags, and the id of the server group among them.
func (x *explainOptions) parseHints() (h novaquery.Hints, group string, err error) {
	for _, text := range x.hints {
		key, uuid, _ := strings.Cut(text, "=")
		switch {
		case uuid == "":
			err = fmt.Errorf("--hint %s: want KEY=UUID", text)
		case key == "same_host":
			h.Same = append(h.Same, uuid)
		case key == "different_host":
			h.Different = append(h.Different, uuid)
		case key == "group":
			group = uuid
		default:
			err = fmt.Errorf("--hint %s: the hints group, same_host and different_host are known", text)
		}
	}
	return h, group, err
}

// run explains the request.
func (x *explainOptions) run(ctx context.Context, args []string) error {
	if x.own {
		return x.runOwn(ctx, args)
	}
	var q placement.Query
	if len(args) == 1 {
		var err error
		raw := placementapi.LoggedQuery(args[0])
		if q, err = placementapi.CandidatesQuery(raw, microversion.Placement.Max().Minor); err != nil {
			return cli.Fail(cli.ExitUsage, fmt.Errorf("the query: %w", err))
		}
	}
	if err := x.nova.read(); err != nil {
		return err
	}
	parts := cloud.Parts{Need: cloud.PlacementPart}
	if len(args) == 0 {
		parts.Try |= cloud.ComputePart | cloud.NetworkPart
	}
	if x.server != "" || x.request != "" || len(x.hints) > 0 {
		parts.Need |= cloud.ComputePart
	}
	c, err := x.source.read(ctx, x.env, parts)
	if err != nil {
		return err
	}
	if len(args) == 0 {
		if q, err = x.query(ctx, c); err != nil {
			return err
		}
	}
	s, err := c.Snapshot()
	if err != nil {
		return cli.Fail(cli.ExitFailure, err)
	}
	e, err := explain.Explain(ctx, s, q, explain.Options{Near: x.near, Host: x.host})
	switch {
	case ctx.Err() != nil:
		return cli.Fail(cli.ExitFailure, errors.New("interrupted"))
	case err != nil:
		return cli.Fail(cli.ExitUsage, err)
	}
	refused := x.refused(c, e)
	if err := x.print(e, refused); err != nil {
		return err
	}
	if e.Host != "" && e.Refused == "" {
		switch {
		case !e.FitsHost():
			return cli.Fail(cli.ExitFindings, fmt.Errorf("%s does not fit", e.Host))
		case slices.ContainsFunc(refused, func(h refusedHost) bool { return h.Name == e.Host }):
			return cli.Fail(cli.ExitFindings, fmt.Errorf("nova does not take %s", e.Host))
		}
		return nil
	}
	if e.Fitting == len(refused) {
		return cli.Fail(cli.ExitFindings, errors.New(cmp.Or(e.Refused, "no host fits")))
	}
	return nil
}

// query returns Nova's query for the server that the flags name or describe.
func (x *explainOptions) query(ctx context.Context, c *cloud.Cloud) (placement.Query, error) {
	f, end, err := x.source.finder(ctx, x.env, c, x.serverFlags, x.flavor != "" || x.request != "")
	if err != nil {
		return placement.Query{}, err
	}
	defer end()
	server, err := x.find(ctx, f)
	if err != nil {
		return placement.Query{}, lookupFailure(err)
	}
	hints, group, err := x.parseHints()
	if err != nil {
		return placement.Query{}, cli.Fail(cli.ExitUsage, err)
	}
	if len(x.hints) > 0 { // instead of those that the server was created with
		server.Hints.Same, server.Hints.Different = hints.Same, hints.Different
	}
	if group != "" {
		if server.Hints.Group, err = f.Group(ctx, group); err != nil {
			return placement.Query{}, cli.Fail(cli.ExitFailure, err)
		}
	}
	r, err := f.Query(server)
	var none *request.NoValidHost
	switch {
	case errors.As(err, &none):
		return placement.Query{},
			cli.Fail(cli.ExitFindings, fmt.Errorf("placement is not queried: %s", strings.Join(none.Details, "; ")))
	case err != nil:
		return placement.Query{}, cli.Fail(cli.ExitUsage, err)
	}
	x.subject, x.owner, x.assumed = server, f.Owner(r), x.nova.assumed
	return r.Query, nil
}

// find returns the server that the flags name or describe.
func (x *explainOptions) find(ctx context.Context, f *lookup.Finder) (novaquery.Server, error) {
	switch {
	case x.flavor != "":
		return f.New(ctx, x.flavor)
	case x.server != "":
		return f.Existing(ctx, x.server)
	}
	return f.OfRequest(ctx, x.request)
}

// A refusedHost is a host that placement offers and Nova does not take.
type refusedHost struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

// refused returns the hosts that fit and that Nova does not take.
func (x *explainOptions) refused(c *cloud.Cloud, e *explain.Explanation) []refusedHost {
	list, refused := []refusedHost{}, x.subject.Refusals(c)
	for _, name := range e.Fit {
		if why := refused(name); why != "" {
			list = append(list, refusedHost{name, why})
		}
	}
	return list
}

// print prints the explanation. As a table it has the groups with what each constraint drops.
func (x *explainOptions) print(e *explain.Explanation, refused []refusedHost) error {
	r := cli.Result{
		Columns: []string{"Group", "Resource Class", "Constraint", "Hosts", "Providers"},
		Text: func(w io.Writer) error {
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
		Value: struct {
			Summary string `json:"summary"`
			*explain.Explanation
			Refused []refusedHost `json:"not_taken"`
			Assumed []string      `json:"assumed_settings,omitempty"`
		}{e.Summary(), e, refused, x.assumed},
	}
	for _, g := range e.Groups {
		for _, d := range g.Drops {
			r.Rows = append(r.Rows, []any{g.Suffix, g.Class, d.Constraint, d.Hosts, d.Providers})
		}
		r.Rows = append(r.Rows, []any{g.Suffix, g.Class, "remaining", g.Hosts, g.Providers})
	}
	return x.out.Print(x.env, r)
}
