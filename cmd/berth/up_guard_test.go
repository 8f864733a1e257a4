package main

import (
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/berthcloud/berth/cmd/berth/internal/cli"
	"github.com/berthcloud/berth/devcloud"
)

// upToken returns the administrator's token of a cloud in a directory, which only its owner
// may read.
func upToken(t *testing.T, dir string) string {
	t.Helper()
	path := filepath.Join(dir, "token")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%s has mode %v, %v", path, info.Mode(), err)
	}
	return strings.TrimSpace(string(text))
}

// status requests a page with a token and a Host header, "" for that of the URL.
func status(t *testing.T, url, token, host string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Host = host
	req.Header.Set("X-Auth-Token", token)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	return res.StatusCode
}

// The administrator's token is no fixed one. It outlives a restart and not a reset.
func TestUpToken(t *testing.T) {
	dir := t.TempDir()
	leaky := filepath.Join(dir, "clouds.yaml")
	if err := os.WriteFile(leaky, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(leaky, 0o644); err != nil {
		t.Fatal(err)
	}
	run := func(flags ...string) (token string) {
		r := launch(t, nil, nil, append(upArgs(dir), flags...)...)
		url := r.served("listen") + "/resource_providers"
		token = upToken(t, dir)
		for text, want := range map[string]int{"admin": 401, "": 401, token[:len(token)-1]: 401, token: 200} {
			if got := status(t, url, text, ""); got != want {
				t.Errorf("with the token %q it answers %d, want %d", text, got, want)
			}
		}
		r.stop()
		return token
	}
	first := run()
	if len(first) < 32 {
		t.Errorf("the token %q can be guessed", first)
	}
	if again := run(); again != first {
		t.Errorf("the token was %s and is %s after a restart", first, again)
	}
	if reset := run("--reset"); reset == first {
		t.Error("the token is the same after a reset")
	}
	if info, err := os.Stat(leaky); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%s has mode %v, %v", leaky, info.Mode(), err)
	}
}

// A web page whose host name resolves to this machine (DNS rebinding) cannot use the services.
func TestUpAnswersForItsOwnNamesOnly(t *testing.T) {
	dir := t.TempDir()
	r := launch(t, nil, nil, append(upArgs(dir), "--allowed-host", "cloud.example.org")...)
	var urls []string
	for _, a := range new(devcloud.Options).Addresses() {
		urls = append(urls, r.served(a.Flag))
	}
	token := upToken(t, dir)
	for _, url := range urls {
		_, port, _ := net.SplitHostPort(strings.Split(url, "/")[2])
		for host, refused := range map[string]bool{
			"rebound.example:" + port: true, "rebound.example": true, "127.0.0.1.rebound.example": true,
			"192.0.2.1:" + port: true, "localhost.example": true,
			"": false, "localhost:" + port: false, "LOCALHOST.": false, "cloud.example.org:" + port: false,
			"[::1]:" + port: false, "127.0.0.2": false,
		} {
			if got := status(t, url, token, host); (got == http.StatusForbidden) != refused || got >= 500 {
				t.Errorf("GET %s for host %q = %d, want it refused: %v", url, host, got, refused)
			}
		}
	}
	r.stop()
}

// A service with noauth2 cannot be reached from other machines unless the operator allows it.
func TestOtherMachinesAreRefused(t *testing.T) {
	noauth := func(lines ...string) string {
		path := filepath.Join(t.TempDir(), "any.conf")
		rewrite(t, path, strings.Join(lines, "\n")+"\n")
		return path
	}
	memory := "[database]\nconnection = sqlite://"
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"Up":         {append(upArgs(t.TempDir()), "--listen", "0.0.0.0:0"), "--allow-remote-without-tls"},
		"UpIdentity": {append(upArgs(t.TempDir()), "--identity-listen", "[::]:0"), "--allow-remote-without-tls"},
		"UpMetrics":  {append(upArgs(t.TempDir()), "--metrics-listen", "0.0.0.0:0"), "--allow-remote-without-tls"},
		"Placement":  {[]string{"placement", "serve", "--listen", "0.0.0.0:0"}, "--allow-remote-noauth"},
		"PlacementFile": {[]string{
			"placement", "serve", "--config", settings(t, databaseOf("sqlite://"), "[berth]\nlisten = 127.0.0.1:0, :0"),
		}, "allow_remote_noauth"},
		"Network": {[]string{"network", "serve", "--listen", "0.0.0.0:0"}, "--allow-remote-noauth"},
		"NetworkFile": {[]string{
			"network", "serve", "--config",
			noauth("[DEFAULT]\nauth_strategy = noauth\nbind_host = 0.0.0.0\nbind_port = 0", memory),
		}, "allow_remote_noauth"},
		"Compute": {
			[]string{"compute", "serve", "--listen", "0.0.0.0:0", "--config", noauth("[api]\nauth_strategy = noauth2", memory)},
			"allow_remote_noauth",
		},
	} {
		t.Run(name, func(t *testing.T) {
			commandLine{tc.args, cli.ExitUsage, nil, []string{"which other machines can reach", tc.want}}.try(t)
		})
	}
}

// A service that is stopped before its database was open exits with an error, since it never
// served.
func TestStoppedBeforeTheDatabaseIsThere(t *testing.T) {
	url := "mysql+pymysql://u:s3cret@127.0.0.1:1/placement"
	for name, tc := range map[string]struct{ command, lines string }{
		"Placement": {"placement", "[api]\nauth_strategy = noauth2\n[placement_database]\nconnection = " + url},
		"Network":   {"network", "[DEFAULT]\nauth_strategy = noauth\n[database]\nconnection = " + url},
		"Compute":   {"compute", "[api]\nauth_strategy = noauth2\n[database]\nconnection = " + url},
	} {
		for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
			t.Run(name+"/"+sig.String(), func(t *testing.T) {
				conf := filepath.Join(t.TempDir(), "any.conf")
				rewrite(t, conf, tc.lines+"\n")
				r := launch(t, nil, nil, tc.command, "serve", "--config-file", conf, "--listen", "127.0.0.1:0")
				r.logged(`(the database cannot be reached yet)`)
				r.signal(sig)
				r.logged(`^(berth: .*)`)
				_ = r.cmd.Wait()
				if code := r.cmd.ProcessState.ExitCode(); code != cli.ExitDatabase {
					t.Errorf("it exits with %d, want %d", code, cli.ExitDatabase)
				}
			})
		}
	}
}
