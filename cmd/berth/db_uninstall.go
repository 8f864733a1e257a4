package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berthcloud/berth/dbtool"
)

// newDBUninstall returns "berth db uninstall".
func newDBUninstall(env environment) *cobra.Command {
	var source dbSource
	var yes, force bool
	var form *choice
	cmd := &cobra.Command{
		Use:   "uninstall [--config FILE | --connection URL] [--yes]\n        [-f FORMAT]",
		Short: "Drop Berth's own tables to go back to Placement",
		Long: `Uninstall drops the four tables that Berth adds to a database on a server
(berth_version, berth_writers, berth_changes, berth_holds), and berth_copy,
which an interrupted copy leaves. The tables that placement-manage db sync
creates remain, with all providers and allocations. Berth creates its tables
again when it is started.

Stop every instance of Berth first. While the database has signs of an instance
that ran within the last two minutes, the command refuses, unless --force is
given. An instance that has written nothing yet leaves no sign.

` + dbExitHelp,
		Example: `  systemctl stop berth-placement
  berth db uninstall --config /etc/placement/placement.conf`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return source.work(cmd.Context(), env, dbtool.Change, func(db *openedDB) error {
				say := env.stdout
				if form.json() { // standard output is for the result alone
					say = env.stderr
				}
				own, err := uninstallDB(cmd.Context(), say, db, force, func() error {
					return confirm(cmd.Context(), say, env.stdin, yes)
				})
				if err != nil || !form.json() {
					return err
				}
				return fail(exitFailure, writeJSON(env.stdout, struct {
					Database string              `json:"database"`
					Dropped  []dbtool.TableCount `json:"dropped"`
				}{db.name, own}))
			})
		},
	}
	source.flags(cmd)
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask for confirmation")
	cmd.Flags().BoolVar(&force, "force", false, "drop them even if an instance of Berth seems to run")
	form = addFormat(cmd, "text")
	return cmd
}

// uninstallDB drops Berth's own tables after ask has returned nil, prints messages to say, and
// returns the dropped tables with their numbers of rows.
func uninstallDB(ctx context.Context, say io.Writer, db *openedDB, force bool, ask func() error) ([]dbtool.TableCount, error) {
	own, err := db.Own(ctx)
	if err != nil {
		return nil, fmt.Errorf("the database %s: %w", db.name, err)
	}
	if len(own) == 0 {
		fmt.Fprintf(say, "nothing to do: %s has no tables of Berth's own\n", db.name)
		return []dbtool.TableCount{}, nil
	}
	fmt.Fprintf(say, "these tables of %s are dropped, with their rows:\n", db.name)
	printCounts(say, own)
	if err := ask(); err != nil {
		return nil, err
	}
	if err := db.Uninstall(ctx, force); err != nil {
		return nil, fmt.Errorf("the database %s: %w", db.name, err)
	}
	fmt.Fprintln(say, "done: the database is as OpenStack's tools make it")
	return own, nil
}

// confirm asks for confirmation on a terminal, and requires --yes elsewhere. Every answer that
// does not begin with y is a refusal, and so are the end of the input and that of ctx, which a signal ends.
func confirm(ctx context.Context, w io.Writer, stdin io.Reader, yes bool) error {
	if yes {
		return nil
	}
	if !isTerminal(stdin) {
		return fail(exitUsage, errors.New("standard input is no terminal to ask at: confirm with --yes"))
	}
	fmt.Fprint(w, "Go on? [y/N] ")
	answers := make(chan string, 1)
	go func() { // reading a terminal cannot be interrupted; the process ends then
		answer, err := bufio.NewReader(stdin).ReadString('\n')
		if err != nil {
			answer = ""
		}
		answers <- answer
	}()
	select {
	case answer := <-answers:
		if strings.HasPrefix(strings.ToLower(strings.TrimSpace(answer)), "y") {
			return nil
		}
	case <-ctx.Done():
		fmt.Fprintln(w)
	}
	return fail(exitFailure, errors.New("nothing was changed"))
}
