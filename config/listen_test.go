package config_test

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/config"
)

func TestAddresses(t *testing.T) {
	got := config.Addresses(" 127.0.0.1:1, unix:/run/x.sock,[::1]:2,")
	want := []config.Address{{TCP: "127.0.0.1:1"}, {Unix: "/run/x.sock"}, {TCP: "[::1]:2"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Addresses (-want +got):\n%s", diff)
	}
	if s := got[1].String() + " " + got[2].String(); s != "unix:/run/x.sock [::1]:2" {
		t.Errorf("addresses read %s", s)
	}
	if none := config.Addresses(""); none != nil {
		t.Errorf("Addresses of nothing = %v", none)
	}
}

func TestSocketModeAndProxies(t *testing.T) {
	b := config.Berth{ListenMode: "0640", TrustedProxies: []string{"10.1.2.3/8", "unix", "2001:db8::1"}}
	networks, unix := b.ProxyNetworks()
	want := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8::1/128")}
	if b.SocketMode() != 0o640 || !unix ||
		!cmp.Equal(want, networks, cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })) {
		t.Errorf("mode %v, networks %v, unix %v", b.SocketMode(), networks, unix)
	}
}

func TestServingSettingsAreChecked(t *testing.T) {
	for _, tc := range []struct{ line, want string }{
		{"listen = unix:run/x.sock", "absolute path"},
		{"listen = unix:/" + strings.Repeat("x", 107), "at most 107 bytes"},
		{"listen = 127.0.0.1:1,pony", "host:port"},
		{"listen = ,", "host:port"},
		{"metrics_listen = 127.0.0.1", "host:port"},
		{"listen_mode = 0999", "octal"},
		{"listen_mode = 4755", "octal"},
		{"path_prefix = placement", "a slash first"},
		{"path_prefix = /placement/", "none last"},
		{"path_prefix = /pla cement", "escaping"},
		{"trusted_proxies = 10.0.0.0/8, pony", `not "pony"`},
		{"tls_min_version = 1.1", "one of 1.2, 1.3"},
		{"listen = 127.0.0.1:1, unix:/run/x.sock", ""},
		{"metrics_listen =", ""},
		{"listen_mode = 666", ""},
		{"path_prefix = /a/placement", ""},
		{"trusted_proxies =", ""},
		{"compress_min_size = -1", ""},
	} {
		path := filepath.Join(t.TempDir(), "placement.conf")
		if err := os.WriteFile(path, []byte("[berth]\n"+tc.line+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, _, err := config.LoadPlacement([]string{path}, nil)
		if tc.want == "" && err != nil {
			t.Errorf("%s: %v", tc.line, err)
		}
		if tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: error is %v, want one with %q", tc.line, err, tc.want)
		}
	}
}
