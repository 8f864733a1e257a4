package hostkey_test

import (
	"strings"
	"testing"

	"github.com/berthcloud/berth/identity/hostkey"
)

func TestKeys(t *testing.T) {
	keys := hostkey.New("new secret", "old secret")
	key, old := keys.Key("cn1"), hostkey.New("old secret").Key("cn1")
	if key == old || strings.Contains(key, "secret") {
		t.Errorf("the keys of two secrets are %q and %q", key, old)
	}
	for name, tc := range map[string]struct {
		keys hostkey.Keys
		key  string
		host string // "" when it is refused
	}{
		"Own":           {keys, key, "cn1"},
		"OldSecret":     {keys, old, "cn1"},
		"RemovedSecret": {hostkey.New("new secret"), old, ""},
		"OtherHost":     {keys, "cn2" + strings.TrimPrefix(key, "cn1"), ""},
		"OtherSecret":   {keys, hostkey.New("another").Key("cn1"), ""},
		"NoSecret":      {hostkey.Keys{}, key, ""},
		"Colons":        {keys, keys.Key("fe80::1"), "fe80::1"},
		"CaseOfName":    {keys, "CN" + key[2:], ""},
		"CaseOfCode":    {keys, "cn1" + strings.ToUpper(key[3:]), ""},
		"NoCode":        {keys, "cn1:", ""},
		"NoName":        {keys, keys.Key(""), ""},
		"Nothing":       {keys, "", ""},
		"Cut":           {keys, key[:len(key)-1], ""},
		"Longer":        {keys, key + "0", ""},
	} {
		t.Run(name, func(t *testing.T) {
			host, ok := tc.keys.Host(tc.key)
			if ok != (tc.host != "") || ok && host != tc.host {
				t.Errorf("Host(%q) = %q, %v, want %q", tc.key, host, ok, tc.host)
			}
		})
	}
	if host, ok := hostkey.HostOf(key); !ok || host != "cn1" {
		t.Errorf("HostOf(%q) = %q, %v", key, host, ok)
	}
	for _, bad := range []string{
		"", "cn1", "cn1:", "cn1:abc", ":" + strings.Repeat("0", 64), "cn1:" + strings.Repeat("g", 64),
	} {
		if host, ok := hostkey.HostOf(bad); ok {
			t.Errorf("HostOf(%q) = %q, want none", bad, host)
		}
	}
}
