package networkapi

import "testing"

// Networks as netaddr 0.8 reads them.
func TestPrefixesAreReadAsNetaddrDoes(t *testing.T) {
	for text, want := range map[string]string{
		"10.0.0.5/8":               "10.0.0.5/8",
		"10.0.0.5":                 "10.0.0.5/32",
		"10":                       "10.0.0.0/32",
		"10.1/16":                  "10.1.0.0/16",
		"010.0.0.1/8":              "10.0.0.1/8",
		"10.1.2.3/255.255.0.0":     "10.1.2.3/16",
		"10.1.2.3/0.0.255.255":     "10.1.2.3/16",
		"10.1.2.3/0.0.0.0":         "10.1.2.3/0",
		"10.1.2.3/255.255.255.255": "10.1.2.3/32",
		"FD00::5/64":               "fd00::5/64",
		"::/0":                     "::/0",
		"fd00::/ffff::":            "fd00::/16",
		"10.1.2.3/255.0.255.0":     "",
		"10.0.0.0/33":              "",
		"10.0.0.0/-1":              "",
		"10.0.0.0/":                "",
		"10.0.0.0.0":               "",
		"10.0.0.256":               "",
		"fe80::1%eth0":             "",
		"nonsense":                 "",
		"/8":                       "",
	} {
		got := ""
		if p, ok := readPrefix(text); ok {
			got = p.String()
		}
		if got != want {
			t.Errorf("readPrefix(%q) = %q, want %q", text, got, want)
		}
	}
}
