package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berthcloud/berth/cmd/berth/internal/cli"
	"github.com/berthcloud/berth/identity/hostkey"
)

// The command prints the keys that services with the same secret accept, the newest one's.
func TestAgentKey(t *testing.T) {
	file := filepath.Join(t.TempDir(), "compute.conf")
	const secret, old = "0123456789abcdef0123456789abcdef", "abcdef0123456789abcdef0123456789"
	set := func(value string) {
		t.Helper()
		if err := os.WriteFile(file, []byte("[DEFAULT]\npony = 1\n[berth]\nhost_key_secret = "+value+"\n"),
			0o600); err != nil {
			t.Fatal(err)
		}
	}
	set(secret + ", " + old)
	code, out, stderr := berth(t, "agent", "key", "--config", file, "cn1", "cn2.example.org")
	if want := hostkey.New(secret).Key("cn1") + "\n" + hostkey.New(secret).Key("cn2.example.org") +
		"\n"; code != cli.ExitOK || out != want {
		t.Errorf("exit code %d: it prints\n%s%s, want\n%s", code, out, stderr, want)
	}
	set("short," + secret)
	code, _, stderr = berth(t, "agent", "key", "--config", file, "cn1")
	if code != cli.ExitUsage || !strings.Contains(stderr, "want 32 characters or more") ||
		strings.Contains(stderr, secret) || strings.Contains(stderr, "short,") {
		t.Errorf("a short secret: exit code %d, %s", code, stderr)
	}
}
