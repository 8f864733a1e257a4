package main

import (
	"os"
	"testing"

	"github.com/berthcloud/berth/bench/servers"
)

// TestMain lets the test program act as the canned server, as the real one does.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == servers.CannedCommand {
		main()
	}
	os.Exit(m.Run())
}
