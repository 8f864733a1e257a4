// Command chart draws the curves that "bench -scaling" has written, as SVG:
//
//	go run ./bench/chart curves.json > docs/scaling.svg
//
// It does not measure.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/berthcloud/berth/bench/curves"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "chart:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	if len(args) != 1 {
		return fmt.Errorf("want one argument, a file that bench -scaling wrote")
	}
	text, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	var set curves.Set
	if err := json.Unmarshal(text, &set); err != nil {
		return fmt.Errorf("reading %s: %w", args[0], err)
	}
	_, err = out.Write(set.SVG())
	return err
}
