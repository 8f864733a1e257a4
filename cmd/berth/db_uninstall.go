package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berthcloud/berth/sqlstore"
)

func newDBUninstall(env environment) *cobra.Command {
	var source dbSource
	var yes, force bool
	cmd := &cobra.Command{
		Use:   "uninstall [--config FILE | --connection URL] [--yes]",
		Short: "Drop Berth's own tables, on the way back to OpenStack Placement",
		Long: `Uninstall drops the tables that Berth keeps for itself on a server (berth_version,
berth_writers, berth_changes, berth_copy). What is left is just what
placement-manage db sync makes, with all providers and allocations in it. Berth
makes its tables again when it is started.

Stop every instance of Berth first. While one has shown within the last two minutes
that it runs, the command refuses, unless --force; one that has written nothing yet
shows nothing.

` + dbExitHelp,
		Example: `  systemctl stop berth-placement
  berth db uninstall --config /etc/placement/placement.conf`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return source.work(cmd.Context(), env, sqlstore.Change, func(db *openedDB) error {
				return uninstallDB(cmd.Context(), env, db, force, func() error {
					return consent(env.stdout, cmd.InOrStdin(), yes)
				})
			})
		},
	}
	source.flags(cmd)
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	cmd.Flags().BoolVar(&force, "force", false, "also while an instance of Berth seems to run")
	return cmd
}

func uninstallDB(ctx context.Context, env environment, db *openedDB, force bool, ask func() error) error {
	own, err := db.Own(ctx)
	if err != nil {
		return fmt.Errorf("the database %s: %w", db.name, err)
	}
	if len(own) == 0 {
		fmt.Fprintf(env.stdout, "nothing to do: %s has no tables of Berth's own\n", db.name)
		return nil
	}
	fmt.Fprintf(env.stdout, "these tables of %s are dropped, with their rows:\n", db.name)
	printCounts(env.stdout, own)
	if err := ask(); err != nil {
		return err
	}
	if err := db.Uninstall(ctx, force); err != nil {
		return fmt.Errorf("the database %s: %w", db.name, err)
	}
	fmt.Fprintln(env.stdout, "done: the database is as OpenStack's tools make it")
	return nil
}

// consent asks on a terminal, and wants --yes elsewhere.
func consent(w io.Writer, stdin io.Reader, yes bool) error {
	if yes {
		return nil
	}
	if !isTerminal(stdin) {
		return fail(exitUsage, errors.New("nobody can be asked here: say --yes"))
	}
	fmt.Fprint(w, "Go on? [y/N] ")
	answer, err := bufio.NewReader(stdin).ReadString('\n')
	if err != nil || !strings.HasPrefix(strings.ToLower(strings.TrimSpace(answer)), "y") {
		return fail(exitFailure, errors.New("nothing was changed"))
	}
	return nil
}
