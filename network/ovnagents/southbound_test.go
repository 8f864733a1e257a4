package ovnagents

import (
	"crypto/x509"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/berthcloud/berth/config/configtest"
	"github.com/berthcloud/berth/internal/certtest"
	"github.com/berthcloud/berth/internal/logtest"
)

// Mistakes in the options are reported before the start.
func TestSouthboundOptions(t *testing.T) {
	dir := t.TempDir()
	a := certtest.NewAuthority(t, x509.Certificate{})
	for name, text := range map[string][]byte{"cert.pem": a.PEM(), "key.pem": a.KeyPEM()} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ca := "\novn_sb_ca_cert = " + dir + "/cert.pem"
	for name, tc := range map[string]struct {
		drivers, text string
		watches       bool
		wrong         string
	}{
		"Default":     {"openvswitch,ovn", "", true, ""},
		"OtherDriver": {"openvswitch", "ovn_sb_connection = pony", false, ""},
		"Nowhere":     {"ovn", "ovn_sb_connection =", false, ""},
		"NoRemote":    {"ovn", "ovn_sb_connection = unix:/a,pony", false, `[ovn] ovn_sb_connection: the remote "pony"`},
		"NoAuthority": {"ovn", "ovn_sb_connection = tcp:h:1,ssl:h:2", false, "[ovn] ovn_sb_ca_cert: set it"},
		"NoSuchFile": {
			"ovn", "ovn_sb_connection = ssl:h:2\novn_sb_ca_cert = /nonexistent", false,
			"[ovn] ovn_sb_ca_cert: open /nonexistent",
		},
		"NoPEM": {"ovn", "ovn_sb_connection = ssl:h:2\novn_sb_ca_cert = /dev/null", false, "no certificate in PEM"},
		"NoKey": {
			"ovn", "ovn_sb_connection = ssl:h:2\novn_sb_certificate = " + dir + "/cert.pem" + ca, false,
			"[ovn] ovn_sb_certificate, ovn_sb_private_key",
		},
		"Good": {"ovn", "ovn_sb_connection = ssl:h:2" + ca, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			db, err := Southbound(configtest.ReadNetwork(t, "[ml2]\nmechanism_drivers = "+tc.drivers+"\n[ovn]\n"+tc.text+"\n"),
				logtest.Logger())
			if (err == nil) != (tc.wrong == "") || err != nil && !strings.Contains(err.Error(), tc.wrong) ||
				(db != nil) != tc.watches {
				t.Errorf("watches: %t, error: %v; want %t, %q", db != nil, err, tc.watches, tc.wrong)
			}
		})
	}
	for set, want := range map[int]time.Duration{0: unprobed, 1: time.Second, 60000: time.Minute} {
		if got := probeInterval(set); got != want {
			t.Errorf("ovsdb_probe_interval = %d is %s, want %s", set, got, want)
		}
	}
}
