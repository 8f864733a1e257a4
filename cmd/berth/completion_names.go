package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/openstack"
)

// completionTime is how long a shell waits for names from a cloud. A service that does not answer by then has no completions.
const completionTime = 2 * time.Second

// namedFlags are the flags whose values are names from a cloud, in the commands that read one.
var namedFlags = map[string]string{
	"host": openstack.Hosts, "without": openstack.Hosts, "server": openstack.Servers, "flavor": openstack.Flavors, "image": openstack.Images,
	"port": openstack.Ports, "network": openstack.Networks,
}

// completeNames adds completions of names from a cloud to a command and all below it that read one: to flags, and to an argument HOST.
func completeNames(cmd *cobra.Command, env environment) {
	if cmd.Flags().Lookup("os-cloud") != nil {
		for name, kind := range namedFlags {
			if f := cmd.Flags().Lookup(name); f != nil && f.NoOptDefVal == "" {
				_ = cmd.RegisterFlagCompletionFunc(name, names(env, kind)) // the flag exists, and has none
			}
		}
		if strings.HasSuffix(cmd.Use, " HOST") {
			host := names(env, openstack.Hosts)
			cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
				if len(args) > 0 {
					return nil, cobra.ShellCompDirectiveNoFileComp
				}
				return host(cmd, args, begun)
			}
		}
	}
	for _, sub := range cmd.Commands() {
		completeNames(sub, env)
	}
}

// names completes names of a kind from the cloud or the file that the flags name, or the variables. It offers the id of what has no name or
// shares it. It is silent about what it cannot read.
func names(env environment, kind string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), completionTime)
		defer cancel()
		weight := "" // of berth capacity left: 3*small
		if number, rest, ok := strings.Cut(begun, "*"); ok {
			weight, begun = number+"*", rest
		}
		all := readNames(ctx, cmd, env, kind, begun)
		count := map[string]int{}
		for _, n := range all {
			count[n.Name]++
		}
		var offers []cobra.Completion
		for _, n := range all {
			word, description := n.Name, n.ID
			if n.Name == "" || count[n.Name] > 1 {
				word, description = n.ID, n.Name
			}
			if strings.HasPrefix(word, begun) {
				offers = append(offers, cobra.CompletionWithDesc(weight+word, description))
			}
		}
		slices.Sort(offers)
		return offers, cobra.ShellCompDirectiveNoFileComp
	}
}

// readNames returns what there is of a kind.
func readNames(ctx context.Context, cmd *cobra.Command, env environment, kind, begun string) (all []openstack.Named) {
	flag := func(name string) string { return cmd.Flag(name).Value.String() }
	source := cloudSource{file: flag("from-file")}
	var c *cloud.Cloud
	switch {
	case source.file == "-":
		return nil
	case source.file != "":
		c, _ = source.readFile(nil)
	case cmd.Flags().Changed("config") || cmd.Flags().Changed("config-dir") || cmd.Flags().Changed("connection"):
		return nil // of a database
	default:
		o := openstack.Options{Cloud: flag("os-cloud"), Region: flag("os-region-name"), Interface: flag("os-interface"), Getenv: env.getenv}
		client, err := openstack.Connect(ctx, o)
		if err == nil {
			all, _ = client.Names(ctx, kind, begun) // the names that were read
		}
		return all
	}
	if c == nil {
		return nil
	}
	switch {
	case kind == openstack.Hosts && c.Placement != nil:
		for _, p := range c.Placement.Providers {
			if p.Parent == "" {
				all = append(all, openstack.Named{ID: p.UUID, Name: p.Name})
			}
		}
	case kind == openstack.Servers && c.Compute != nil:
		for _, s := range c.Compute.Servers {
			all = append(all, openstack.Named{ID: s.UUID, Name: s.Name})
		}
	case kind == openstack.Ports && c.Network != nil:
		for _, p := range c.Network.Ports {
			all = append(all, openstack.Named{ID: p.UUID, Name: p.Name})
		}
	}
	return all
}
