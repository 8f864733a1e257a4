package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berthcloud/berth/cmd/berth/internal/cli"
	"github.com/berthcloud/berth/compute/inventory"
	"github.com/berthcloud/berth/daemon/hostagent"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/providertree"
)

// agentInventoryOptions are the flags of "berth agent inventory".
type agentInventoryOptions struct {
	agentFlags

	env  cli.Env
	tree bool
	out  *cli.Output
}

// newAgentInventory returns "berth agent inventory".
func newAgentInventory(env cli.Env) *cobra.Command {
	o := &agentInventoryOptions{env: env}
	cmd := &cobra.Command{
		Use:   "inventory --compute-config FILE [--tree] [-f FORMAT]",
		Short: "Show what a compute host would report, and why",
		Long: `Inventory reads the settings of a compute host and its machine as berth agent
does at its start, and shows the inventories that it would report, each with the
setting or the part of the machine that it follows from. With --tree it shows
them as the tree of providers that placement would have, and what would change
there, as the compute service plans it: also which allocations would move, and
why the host could not start. It starts nothing and changes nothing.

Exit codes:
  0  shown
  1  the machine could not be read; standard error says why
  2  wrong arguments or settings
  6  with --tree, the host could not start with this inventory, or no compute
     service says whether it could`,
		Example: `  berth agent inventory --compute-config /etc/nova/nova.conf
  berth agent inventory --compute-config /etc/nova/nova.conf --tree`,
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	cmd.Flags().StringArrayVar(&o.computeFiles, "compute-config", nil,
		"`FILE`: settings of a compute host, a nova.conf; may be repeated, later ones win")
	cmd.Flags().StringArrayVar(&o.computeDirs, "compute-config-dir", nil,
		"`DIR`: directory whose *.conf files are read after those of --compute-config")
	cmd.Flags().BoolVar(&o.tree, "tree", false, "show the tree of providers, and what would change in placement")
	o.out = cli.AddOutput(cmd)
	return cmd
}

// run shows the inventory.
func (o *agentInventoryOptions) run(ctx context.Context) error {
	if len(o.computeFiles)+len(o.computeDirs) == 0 {
		return cli.Fail(cli.ExitUsage, errors.New("--compute-config is absent: the nova.conf of the host"))
	}
	src, err := o.source(ctx, o.env)
	if err != nil {
		return cli.Fail(cli.ExitUsage, err)
	}
	v, warnings, err := src.Inventory(ctx, slog.New(slog.DiscardHandler), o.tree)
	for _, w := range warnings {
		fmt.Fprintln(o.env.Stderr, "warning:", w)
	}
	if err != nil {
		return err
	}
	all, err := reportedInventories(&v.Host)
	if err != nil {
		return cli.Fail(cli.ExitUsage, err)
	}
	if err := o.out.Print(o.env, inventoryResult(all, v, o.tree)); err != nil {
		return err
	}
	if o.tree && v.PlanError != nil {
		return cli.Fail(cli.ExitFindings, v.PlanError)
	}
	return nil
}

// A reportedProvider is a provider of a host's tree as the host would report it.
type reportedProvider struct {
	Name        string              `json:"name"`
	UUID        placement.UUID      `json:"uuid"`
	Parent      string              `json:"parent,omitempty"`
	Inventories []reportedInventory `json:"inventories"`
	Traits      []string            `json:"traits"`
}

// A reportedInventory is an inventory with the reason for it.
type reportedInventory struct {
	Class    string  `json:"resource_class"`
	Total    int64   `json:"total"`
	Reserved int64   `json:"reserved"`
	Ratio    float64 `json:"allocation_ratio"`
	Why      string  `json:"why"`
}

// reportedInventories returns the tree of a host that is new in placement.
func reportedInventories(h *inventory.Host) (all []reportedProvider, err error) {
	plan, err := h.Plan(providertree.Tree{})
	if err != nil {
		return nil, err
	}
	why := map[string]string{}
	for class, a := range map[string]inventory.Amount{
		inventory.VCPU: h.VCPU, inventory.PCPU: h.PCPU, inventory.MemoryMB: h.MemoryMB, inventory.DiskGB: h.DiskGB,
	} {
		why[h.Name+" "+class] = a.Why
	}
	for _, d := range h.Devices {
		why[h.DeviceName(d)+" "+d.Class] = d.Why
	}
	for _, to := range plan.Create {
		p := reportedProvider{Name: to.Name, UUID: to.ID, Traits: []string{}}
		if to.Parent != "" {
			p.Parent = h.Name
		}
		for _, class := range slices.Sorted(maps.Keys(to.Inventories)) {
			i := to.Inventories[class]
			p.Inventories = append(p.Inventories, reportedInventory{
				class, i.Total, i.Reserved, i.AllocationRatio, cmp.Or(why[to.Name+" "+class], fileOf(h, class)),
			})
		}
		p.Traits = append(p.Traits, to.Traits...)
		all = append(all, p)
	}
	return all, nil
}

// fileOf returns the file of an operator's that adds a class.
func fileOf(h *inventory.Host, class string) string {
	for _, a := range h.Additional {
		if _, adds := a.Inventories[class]; adds {
			return a.File
		}
	}
	return ""
}

// An inventoryDocument is the result for programs. Plan is null without --tree.
type inventoryDocument struct {
	Providers []reportedProvider `json:"providers"`
	Plan      []string           `json:"plan"`
	PlanError string             `json:"plan_error,omitempty"`
}

func inventoryResult(all []reportedProvider, v hostagent.Inventory, tree bool) cli.Result {
	doc := inventoryDocument{Providers: all, Plan: v.Plan}
	if v.PlanError != nil {
		doc.PlanError = v.PlanError.Error()
	}
	r := cli.Result{
		Columns: []string{"Provider", "Resource Class", "Total", "Reserved", "Allocation Ratio", "Why"}, Value: doc,
	}
	for _, p := range all {
		for _, i := range p.Inventories {
			r.Rows = append(r.Rows, []any{p.Name, i.Class, i.Total, i.Reserved, i.Ratio, i.Why})
		}
	}
	if tree {
		r.Text = func(w io.Writer) error { return writeInventory(w, all, v) }
	}
	return r
}

// writeInventory writes the tree, and what would change.
func writeInventory(w io.Writer, all []reportedProvider, v hostagent.Inventory) error {
	for _, p := range all {
		indent := ""
		if p.Parent != "" {
			indent = "  "
		}
		fmt.Fprintf(w, "%s%s\n", indent, p.Name)
		for _, i := range p.Inventories {
			text := fmt.Sprintf("%s %d", i.Class, i.Total)
			if i.Reserved > 0 {
				text += fmt.Sprintf(", %d reserved", i.Reserved)
			}
			if i.Ratio != 1 {
				text += fmt.Sprintf(", ratio %v", i.Ratio)
			}
			fmt.Fprintf(w, "%s  %-40s %s\n", indent, text, i.Why)
		}
		for line := range wrapped(p.Traits, 76) {
			fmt.Fprintf(w, "%s  %s\n", indent, line)
		}
	}
	if v.PlanError != nil {
		return nil // standard error has it
	}
	if len(v.Plan) == 0 {
		_, err := fmt.Fprintln(w, "\nPlacement has all of it: a start changes nothing.")
		return err
	}
	fmt.Fprintln(w, "\nWhat a start would change in placement:")
	for _, line := range v.Plan {
		if _, err := fmt.Fprintln(w, " ", line); err != nil {
			return err
		}
	}
	return nil
}

// wrapped returns words in lines of so many columns.
func wrapped(words []string, columns int) iter.Seq[string] {
	return func(yield func(string) bool) {
		line := ""
		for _, word := range words {
			if line != "" && len(line)+1+len(word) > columns {
				if !yield(line) {
					return
				}
				line = ""
			}
			line = strings.TrimPrefix(line+" "+word, " ")
		}
		if line != "" {
			yield(line)
		}
	}
}
