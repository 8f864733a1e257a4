// Command build makes the pages of the console: it fetches the npm packages that
// console/package-lock.json pins, checks the types of console/src with TypeScript's native
// compiler, and bundles the sources into console/dist, which package console embeds. It needs Go
// and nothing else, no Node. The same sources give the same bytes on every machine.
//
//	go -C console/build run .           write console/dist
//	go -C console/build run . -verify   fail when console/dist is not what the sources give
//	go -C console/build run . -fetch    fetch the packages only
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "console/build:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("build", flag.ContinueOnError)
	console := flags.String("console", "..", "the `directory` with package.json and src")
	verify := flags.Bool("verify", false, "compare with dist instead of writing it")
	fetchOnly := flags.Bool("fetch", false, "fetch the npm packages and do nothing else")
	types := flags.Bool("types", true, "check the types")
	if err := flags.Parse(args); err != nil {
		return err
	}
	dir, err := filepath.Abs(*console)
	if err != nil {
		return err
	}
	packages, err := readLock(filepath.Join(dir, "package-lock.json"), thisMachine())
	if err != nil {
		return err
	}
	if err := fetchAll(ctx, packages, dir); err != nil {
		return err
	}
	if *fetchOnly {
		return nil
	}
	if *types {
		if err := checkTypes(ctx, dir); err != nil {
			return err
		}
	}
	out, err := bundle(dir, packages)
	if err != nil {
		return err
	}
	if *verify {
		return compare(filepath.Join(dir, "dist"), out)
	}
	return write(filepath.Join(dir, "dist"), out)
}
