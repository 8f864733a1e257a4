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

	"github.com/berthcloud/berth/cmd/berth/internal/cli"
	"github.com/berthcloud/berth/microversion"
	"github.com/berthcloud/berth/ops/capacity"
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/novaquery"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/snapshot"
)

// drainOptions are the flags of "berth capacity drain".
type drainOptions struct {
	env    cli.Env
	source cloudSource
	nova   novaSettings
	out    *cli.Output
}

// newCapacityDrain returns "berth capacity drain".
func newCapacityDrain(env cli.Env) *cobra.Command {
	o := &drainOptions{env: env}
	cmd := &cobra.Command{
		Use:   "drain HOST",
		Short: "Plan where the servers of a host go, move by move",
		Long: `Drain finds another host for everything that has allocations on HOST, the name
or UUID of a provider. Moves are simulated in their order, big servers first,
each on what the ones before leave, so that they can be carried out one by one.
It changes nothing.

The query for a server whose flavor and ports are in the records is Nova's.
Otherwise, with --config for example, a consumer is taken to need the classes
and amounts that it has, of providers with the same CUSTOM_PHYSNET_* and
CUSTOM_VNIC_TYPE_* traits; the output says so. The host, hosts that are disabled
and those whose compute service is down are excluded.

Both hosts of a move are allocated until it is confirmed. What servers have on
shared providers is counted twice as well, unless only a plan that confirms each
move before the next is possible, which the output says.

Servers go only where their server groups and the zones that they are bound to
let them, as far as the compute service reports: groups of all projects to
administrators, zones from 2.96 on. Soft policies are preferences, and ignored.
So are NUMA and PCI devices of hosts, and requirements of images.

Exit codes:
  0  there is a plan for all, or nothing is on the host
  1  the records could not be read; standard error says why
  2  wrong arguments or settings
  3  the database cannot be used
  6  something fits on no other host, or is moving already`,
		Example: `  berth capacity drain --os-cloud admin cn7
  berth capacity drain --config /etc/placement/placement.conf cn7 -f json`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("%s takes the name or UUID of one host", cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), args[0]) },
	}
	o.source.flags(cmd)
	o.nova.flags(cmd)
	o.out = cli.AddOutput(cmd)
	return cmd
}

// run plans how a host is drained.
func (o *drainOptions) run(ctx context.Context, name string) error {
	if err := o.nova.read(); err != nil {
		return err
	}
	c, s, err := o.source.snapshot(ctx, o.env, cloud.All)
	if err != nil {
		return err
	}
	host, err := hostNamed(s, name)
	if err != nil {
		return cli.Fail(cli.ExitUsage, err)
	}
	settings := novaquery.Settings(c, o.nova.Request)
	holders, waiting, err := capacity.Consumers(c, s, host, func(server *cloud.Server) (placement.Query, error) {
		return novaquery.Like(c, settings, server.UUID, true)
	})
	if err != nil {
		return cli.Fail(cli.ExitFailure, err)
	}
	if c.Compute != nil {
		o.nova.note(o.env)
		if c.Compute.Groups == nil {
			fmt.Fprintln(o.env.Stderr, "note: there are no records of server groups: moves that they forbid are planned too")
		}
		zones := slices.ContainsFunc(c.Compute.Aggregates, func(a cloud.Aggregate) bool {
			return a.Metadata["availability_zone"] != ""
		})
		if zones && !c.Compute.ZonesKnown {
			fmt.Fprintln(o.env.Stderr, "note: the compute service does not say which zones servers are bound to (before "+
				"2.96): moves out of them are planned too")
		}
	}
	refused := novaquery.Server{}.Refusals(c)
	unfit := func(t *snapshot.Tree) bool { return refused(t.Root().Name) != "" }
	plan, err := capacity.Drain(ctx, s, host, holders, unfit)
	switch {
	case ctx.Err() != nil:
		return cli.Fail(cli.ExitFailure, errors.New("interrupted"))
	case err != nil:
		return cli.Fail(cli.ExitFailure, err)
	}
	if err := o.noteZones(ctx, c, s, host, unfit, plan); err != nil {
		return cli.Fail(cli.ExitFailure, err)
	}
	plan.Waiting = waiting
	noteColdMoves(o.env, c, plan)
	if err := o.out.Print(o.env, planResult(plan, c)); err != nil {
		return err
	}
	if n := len(plan.Unplaceable) + len(plan.Waiting); n > 0 {
		return cli.Fail(cli.ExitFindings, fmt.Errorf(
			"%s cannot be drained: %d of %d consumers fit on no other host, or are moving", plan.Host, n, n+len(plan.Moves)))
	}
	return nil
}

// unpinVersion is the first microversion of Nova at which a server can be released from its zone.
const unpinVersion = 104

// noteZones names the servers that fit on another host once they are released from their zones,
// where Nova can do that.
func (o *drainOptions) noteZones(
	ctx context.Context, c *cloud.Cloud, s *snapshot.Snapshot, host *snapshot.Tree, unfit func(*snapshot.Tree) bool,
	plan *capacity.Plan,
) error {
	if c.Compute == nil {
		return nil
	}
	version, err := microversion.Parse(c.Compute.Version)
	pinned := map[string]string{} // zones of the servers that fit nowhere
	for _, u := range plan.Unplaceable {
		for i := range c.Compute.Servers {
			if server := &c.Compute.Servers[i]; server.UUID == u.Consumer && server.Pinned != "" {
				pinned[server.UUID] = server.Pinned
			}
		}
	}
	if len(pinned) == 0 || err != nil || version.Compare(microversion.Version{Major: 2, Minor: unpinVersion}) < 0 {
		return nil
	}
	settings := novaquery.Settings(c, o.nova.Request)
	holders, _, err := capacity.Consumers(c, s, host, func(server *cloud.Server) (placement.Query, error) {
		return novaquery.Like(c, settings, server.UUID, pinned[server.UUID] == "")
	})
	if err != nil {
		return err
	}
	other, err := capacity.Drain(ctx, s, host, holders, unfit)
	if err != nil {
		return err
	}
	for _, m := range other.Moves {
		if zone := pinned[m.Consumer]; zone != "" {
			fmt.Fprintf(o.env.Stderr, "note: %s would fit on %s if it were released from the zone %s: "+
				"PUT /servers/%s with {\"server\": {\"pinned_availability_zone\": null}} at microversion 2.%d\n", cmp.Or(m.Name,
				m.Consumer), m.To, zone, m.Consumer, unpinVersion)
		}
	}
	return nil
}

// planResult is what "berth capacity drain" prints: a line for each consumer. Reasons name the
// ports of groups, in the result for people.
func planResult(p *capacity.Plan, c *cloud.Cloud) cli.Result {
	var groups []string
	if c.Network != nil {
		for i := range c.Network.Ports {
			if port := &c.Network.Ports[i]; port.Request != nil {
				for _, g := range port.Request.Groups {
					// as novaquery calls them
					groups = append(groups, "group "+cmp.Or(g.ID, port.UUID)+":", "port "+cmp.Or(port.Name, port.UUID)+":")
				}
			}
		}
	}
	named := strings.NewReplacer(groups...)
	r := cli.Result{Columns: []string{"Move", "Consumer", "Name", "To", "Note"}, Value: p}
	assumed := 0
	for i, m := range p.Moves {
		r.Rows = append(r.Rows, []any{i + 1, m.Consumer, m.Name, m.To, nil})
		assumed += min(len(m.Assumed), 1)
	}
	for _, s := range p.Unplaceable {
		note := "fits on no other host: " + s.Reason
		if s.FitsAlone {
			note = "fits on no other host with the others: " + s.Reason
		}
		r.Rows = append(r.Rows, []any{nil, s.Consumer, s.Name, nil, note})
		assumed += min(len(s.Assumed), 1)
	}
	for _, w := range p.Waiting {
		r.Rows = append(r.Rows, []any{nil, w.Consumer, nil, nil, w.Reason})
	}
	r.Text = func(w io.Writer) error {
		all := len(p.Moves) + len(p.Unplaceable) + len(p.Waiting)
		switch {
		case all == 0:
			_, err := fmt.Fprintf(w, "nothing has allocations on %s\n", p.Host)
			return err
		case all == len(p.Moves):
			fmt.Fprintf(w, "%s can be drained with %s\n", p.Host, cli.Count(all, "move"))
		case p.Proven && len(p.Unplaceable) > 0:
			fmt.Fprintf(w, "%s cannot be drained; these moves can be made, %d of %d\n", p.Host, len(p.Moves), all)
		default:
			fmt.Fprintf(w, "no plan was found that drains %s; these moves can be made, %d of %d\n", p.Host, len(p.Moves), all)
		}
		if p.Confirm {
			fmt.Fprintln(w, "each move has to be confirmed before the next begins")
		}
		if assumed > 0 {
			fmt.Fprintf(w, "%d of them are taken to need what they have: their flavors and ports are not known\n", assumed)
		}
		var rows [][]any
		for _, row := range r.Rows {
			row = slices.Clone(row)
			for i, v := range row {
				if v == nil {
					row[i] = ""
				}
			}
			row[4] = named.Replace(row[4].(string))
			rows = append(rows, row)
		}
		return cli.WriteTable(w, r.Columns, rows)
	}
	return r
}
