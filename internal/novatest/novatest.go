// Package novatest runs Debian's Nova, for tests that compare Berth with it. It runs Nova's code in
// Python, and starts no service.
package novatest

import (
	"testing"

	"github.com/berthcloud/berth/internal/upstreamtest"
)

// Run runs a script in a Python that has Nova. The script reads in as JSON from its standard input
// and writes JSON, which is decoded into out. The test fails where Nova is not installed;
// BERTH_TEST_NO_UPSTREAM=1 skips it.
func Run(t testing.TB, script string, in, out any) {
	t.Helper()
	upstreamtest.Run(t, "python3-nova", script, in, out)
}
