package security_test

import (
	"testing"

	"github.com/berthcloud/berth/network/security"
)

// Protocols are what Neutron takes: names in any case, and numbers of one form.
func TestParseProtocol(t *testing.T) {
	for text, want := range map[string]string{
		"TCP": "tcp", "icmpv6": "icmpv6", "0": "0", "255": "255",
		"256": "", "-1": "", "017": "", "+6": "", " 6": "", "": "", "None": "", "tcp ": "",
	} {
		if got, err := security.ParseProtocol(text); got != want || (err == nil) != (want != "") {
			t.Errorf("ParseProtocol(%q) = %q, %v, want %q", text, got, err, want)
		}
	}
}
