package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"
)

// options are the options of the command line.
type options struct {
	short    bool
	alone    bool // without upstream's service
	rows     *regexp.Regexp
	rounds   int
	span     time.Duration // of one measurement in a round
	json     string
	profile  string
	scratch  string
	programs []string
	record   bool // write a baseline
	runs     int  // of a new baseline
}

const help = `bench measures Berth on this machine and holds it against what it has to reach.

It builds the real program, starts it on databases with clouds of 1,000 to 100,000
hosts, and sends requests over HTTP. A canned server runs concurrently, which sends the same
bytes from memory: the limit for anything that speaks HTTP. Where they are installed,
Debian's Placement (under uwsgi) and MariaDB are started as well; rows that need one
that is missing say so and count as not run.

  go run ./bench                        the whole table; takes a quarter of an hour
  go run ./bench -rows '^flat'          some rows
  go run ./bench -short                 the form for CI: small clouds, ratios against bench/baselines/short.json
  go run ./bench -short -record         write that baseline, on a machine that does nothing else
  go run ./bench -berth /tmp/a,/tmp/b -rows '^mixed'
                                        each row with one program and then with another
  go run ./bench -rows nested -profile /tmp/p    a CPU profile of Berth for each row

A row is "ok" when every bar of it holds, else "short", or "failed" when an answer was
wrong, and then the program ends with 1. The short form fails a row when in three tries
its ratio is beyond the worst value of the baseline by more than that one is beyond the
median, at least by a fifth of the median.
Figures are medians over the rounds; a ratio to the canned server is the median of the
ratios of each round, in which both were measured one after the other. "cpu" is user
and system time of the server process for one request.

`

// parse reads the command line. An error is printed to errs.
func parse(args []string, errs io.Writer) (*options, error) {
	o := &options{span: 400 * time.Millisecond, rows: regexp.MustCompile("")}
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.SetOutput(errs)
	f.BoolVar(&o.short, "short", false, "small clouds, ratios compared with the recorded baseline, no upstream")
	f.Func("rows", "only rows whose name matches this `regexp`", func(text string) (err error) {
		o.rows, err = regexp.Compile(text)
		return err
	})
	f.IntVar(&o.rounds, "rounds", 5, "how often each thing is measured")
	f.StringVar(&o.json, "json", "", "write the figures to this `file` as well, for programs")
	f.Func("berth",
		"measure this `program` instead of building one; of several, path,path, each row with one after the other",
		func(text string) error { o.programs = strings.Split(text, ","); return nil })
	f.StringVar(&o.profile, "profile", "", "write a CPU profile of Berth for each row into this `directory`")
	f.BoolVar(&o.alone, "noupstream", false, "do not start Debian's Placement, which takes most of the time")
	f.StringVar(&o.scratch, "dir", "", "where databases are while they are measured: a `directory` on a disk")
	f.BoolVar(&o.record, "record", false,
		"with -short: measure the rows -runs times and write the baseline, bench/baselines/short.json")
	f.IntVar(&o.runs, "runs", 9, "how often -record measures each row")
	f.Usage = func() {
		fmt.Fprint(errs, help)
		f.PrintDefaults()
		fmt.Fprintln(errs, "\nThe rows:")
		for _, r := range table(1) {
			fmt.Fprintf(errs, "  %-24s %s\n", r.name, r.title)
		}
	}
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	return o, o.check(f, errs)
}

func (o *options) check(f *flag.FlagSet, errs io.Writer) (err error) {
	switch {
	case slices.Contains(o.programs, ""):
		err = errors.New("bench: -berth has an empty path")
	case f.NArg() > 0 || o.rounds < 1 || o.runs < 1:
		err = fmt.Errorf("bench: want no arguments but flags, and a round and a run at least: %q", f.Args())
	case o.record && !o.short:
		err = errors.New("bench: -record writes the baseline of -short: set both")
	case o.record && len(o.programs) > 1:
		err = errors.New("bench: a baseline is that of one program")
	}
	if err != nil {
		fmt.Fprintln(errs, err)
		return err
	}
	if o.short {
		o.alone = true
		o.span, o.rounds = 150*time.Millisecond, min(o.rounds, 3)
	}
	return nil
}
