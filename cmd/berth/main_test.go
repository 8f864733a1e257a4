package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/cmd/berth/internal/cli"
	"github.com/berthcloud/berth/microversion"
)

// asBerth in the environment makes the test binary behave as berth.
const asBerth = "BERTH_TEST_AS_BERTH"

func TestMain(m *testing.M) {
	if os.Getenv(asBerth) != "" {
		main()
	}
	os.Exit(m.Run())
}

// berth runs a command line to its end and returns its output. A service that starts unexpectedly
// is stopped after some time.
func berth(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	home := t.TempDir()
	env := cli.Env{
		Stdin: strings.NewReader(""), Stdout: &out, Stderr: &err, Environ: []string{"HOME=" + home},
		Version: currentVersion(),
	}
	ctx, cancel := context.WithTimeout(t.Context(), hangTime)
	defer cancel()
	// For cobra, nil are the arguments of this test program.
	code = run(ctx, append([]string{}, args...), env)
	return code, out.String(), err.String()
}

// settings writes a placement.conf of a service with noauth2 and a database in
// memory, and further lines.
func settings(t *testing.T, lines ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "placement.conf")
	text := "[api]\nauth_strategy = noauth2\n" + strings.Join(lines, "\n") + "\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func databaseOf(url string) string { return "[placement_database]\nconnection = " + url }

// A commandLine is arguments and their expected result. The output must not contain passwords.
type commandLine struct {
	args   []string
	code   int
	stdout []string // parts of it
	stderr []string
}

func (c commandLine) try(t *testing.T) {
	code, stdout, stderr := berth(t, c.args...)
	if code != c.code {
		t.Errorf("berth %q exits with %d, want %d", c.args, code, c.code)
	}
	contains(t, "standard output", stdout, c.stdout)
	contains(t, "standard error", stderr, c.stderr)
	if strings.Contains(stdout+stderr, "s3cret") {
		t.Errorf("a password shows:\n%s%s", stdout, stderr)
	}
}

func TestCommandLines(t *testing.T) {
	serve := func(lines ...string) []string {
		return []string{"placement", "serve", "--listen", "127.0.0.1:0", "--config", settings(t, lines...)}
	}
	file := filepath.Join(t.TempDir(), "broken.db")
	if err := os.WriteFile(file, []byte("this is no database, however one reads it"), 0o600); err != nil {
		t.Fatal(err)
	}
	codes := []string{
		"Exit codes:", "2  wrong arguments or settings", "4  the database is in use", "5  the address to listen on",
	}
	versions := "placement API " + microversion.Placement.Range()
	for name, tc := range map[string]commandLine{
		"Nothing": {nil, cli.ExitOK, []string{"Usage:", "The placement service, a drop-in for OpenStack Placement"}, nil},
		"Version": {
			[]string{"version"}, cli.ExitOK, []string{"berth ", versions, "os-traits"}, nil,
		},
		"UnknownFormat": {
			[]string{"version", "-f", "xml"},
			cli.ExitUsage, nil,
			[]string{`invalid argument "xml" for "-f, --format" flag: want table, json, yaml, csv or value`},
		},
		"ServeHelp": {
			[]string{"placement", "serve", "--help"}, cli.ExitOK, append(codes, "--config", "--listen", "noauth2"), nil,
		},
		"UpHelp":     {[]string{"up", "--help"}, cli.ExitOK, append(codes, "--reset"), nil},
		"Completion": {[]string{"completion", "bash"}, cli.ExitOK, []string{"bash completion", "__start_berth"}, nil},
		"VersionFlag": {
			[]string{"--version"}, cli.ExitOK, []string{"berth ", "revision ", versions}, nil,
		},
		"FormerTree": {
			[]string{"placement", "tree", "cn1", "--from-file", sampleRecords(t, 2)},
			cli.ExitOK,
			[]string{"cn1"},
			[]string{"note: berth placement tree is berth records tree now\n"},
		},
		"FormerCapacity": {[]string{"capacity", "left", "--help"}, cli.ExitOK, []string{"Headroom counts"}, nil},
		"FormerFlag": {
			[]string{"audit", "--codes", "-f", "value", "-c", "code"}, cli.ExitOK, []string{"orphaned-allocation\n"}, nil,
		},
		"HelpTopics": {
			[]string{"--help"}, cli.ExitOK, []string{"\n  berth help exit-codes  What", "\n  berth help sources     Where"}, nil,
		},
		"Sources": {
			[]string{"help", "sources"}, cli.ExitOK, []string{"--from-file, which berth records export has written"}, nil,
		},
		"ExitCodes": {[]string{"help", "exit-codes"}, cli.ExitOK, []string{"6  findings"}, nil},
		"MistypedCommand": {
			[]string{"plcement"},
			cli.ExitUsage, nil,
			[]string{`unknown command "plcement" for "berth"; did you mean placement?`},
		},
		"MistypedSubcommand": {
			[]string{"placement", "srve"},
			cli.ExitUsage, nil,
			[]string{`unknown command "srve" for "berth placement"; did you mean serve?`},
		},
		"MistypedAgent": {[]string{"agent", "chekc"}, cli.ExitUsage, nil, []string{`did you mean check?`}},
		"MistypedFlag": {
			[]string{"placement", "serve", "--lisen", "x"},
			cli.ExitUsage, nil,
			[]string{`unknown flag: --lisen; did you mean --listen?`},
		},
		"UnknownCommand":    {[]string{"sail"}, cli.ExitUsage, nil, []string{`unknown command "sail"`}},
		"UnknownSubcommand": {[]string{"placement", "sail"}, cli.ExitUsage, nil, []string{`unknown command "sail"`}},
		"URLForCommand":     {[]string{"db", "mysql://u:s3cret@h/x"}, cli.ExitUsage, nil, []string{"a URL is no command"}},
		"URLWithoutFlag": {
			[]string{"db", "version", "mysql://u:s3cret@h/x"}, cli.ExitUsage, nil, []string{"takes flags and no arguments"},
		},
		"UnknownFlag": {[]string{"up", "--sail"}, cli.ExitUsage, nil, []string{"unknown flag: --sail"}},
		"NoSuchFile": {
			[]string{"placement", "serve", "--config", "/nowhere.conf"}, cli.ExitUsage, nil, []string{"/nowhere.conf"},
		},
		"AllWrongAtOnce": {
			serve("[DEFAULT]\ndebug = perhaps\n[placement]\nallocation_conflict_retry_count = many"), cli.ExitUsage, nil,
			[]string{"debug", "perhaps", "allocation_conflict_retry_count", "many"},
		},
		"MySQL": {
			serve(databaseOf("mysql+pymysql://u:s3cret@127.0.0.1:1/placement") + "\nmax_retries = 0"), cli.ExitDatabase, nil,
			[]string{"opening the database placement on 127.0.0.1:1: ", "connection refused"},
		},
		"PostgreSQL": {
			serve(databaseOf("postgresql+psycopg2://u:s3cret@127.0.0.1:1/placement") + "\nmax_retries = 0"), cli.ExitDatabase,
			nil,
			[]string{"opening the database placement on 127.0.0.1:1: ", "connection refused"},
		},
		"NoDatabase": {serve(databaseOf("pony")), cli.ExitUsage, nil, []string{"[placement_database] connection"}},
		"Keystone": {
			serve("[api]\nauth_strategy = keystone"), cli.ExitUsage, nil,
			[]string{"[keystone_authtoken]", "auth_url is not set"},
		},
		"BrokenDatabase": {
			serve(databaseOf("sqlite:///" + file)), cli.ExitDatabase, nil, []string{"opening the database " + file},
		},
		"NoDirectory": {
			serve(databaseOf("sqlite:////nowhere/at/all.db")), cli.ExitDatabase, nil, []string{"/nowhere/at"},
		},
		"AddressIsNoAddress": {
			[]string{"placement", "serve", "--listen", "pony", "--config", settings(t, databaseOf("sqlite://"))},
			cli.ExitUsage,
			nil,
			[]string{"--listen pony: want host:port"},
		},
		"PortAlone": {
			[]string{"placement", "serve", "--listen", "8778"}, cli.ExitUsage, nil, []string{"--listen 8778: want host:port"},
		},
		"NetworkPortAlone": {
			[]string{"network", "serve", "--listen", "9696"}, cli.ExitUsage, nil, []string{"--listen 9696: want host:port"},
		},
		"ComputePortAlone": {
			[]string{"compute", "serve", "--listen", "8774"}, cli.ExitUsage, nil, []string{"--listen 8774: want host:port"},
		},
		"UpPortAlone": {
			[]string{"up", "--identity-listen", "5000"}, cli.ExitUsage, nil, []string{"--identity-listen 5000: want host:port"},
		},
		"PlacementNoFile": {
			[]string{"placement", "serve", "--config-file", "/nowhere.conf"}, cli.ExitUsage, nil, []string{"/nowhere.conf"},
		},
		"CheckAuthNoFile": {
			[]string{"placement", "check-auth", "--config-file", "/nowhere.conf"}, cli.ExitUsage, nil, []string{"/nowhere.conf"},
		},
		"NetworkNoFile": {
			[]string{"network", "serve", "--config-file", "/nowhere.conf"}, cli.ExitUsage, nil, []string{"/nowhere.conf"},
		},
		"ComputeNoFile": {
			[]string{"compute", "serve", "--config-file=/nowhere.conf"}, cli.ExitUsage, nil, []string{"/nowhere.conf"},
		},
		"AgentNoFile": {
			[]string{"agent", "check", "--config-file", "/nowhere.conf"}, cli.ExitUsage, nil, []string{"/nowhere.conf"},
		},
		"AgentComputeNoFile": {
			[]string{"agent", "check", "--compute-config-file", "/nowhere.conf"}, cli.ExitUsage, nil, []string{"/nowhere.conf"},
		},
		"DBNoFile": {
			[]string{"db", "version", "--config-file", "/nowhere.conf"}, cli.ExitUsage, nil, []string{"/nowhere.conf"},
		},
	} {
		t.Run(name, tc.try)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "this is no database, however one reads it" {
		t.Errorf("the broken database is now %q, %v", text, err)
	}
}

func contains(t *testing.T, where, text string, parts []string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%s has no %q:\n%s", where, part, text)
		}
	}
}

func TestVersionAsJSON(t *testing.T) {
	code, stdout, _ := berth(t, "version", "-f", "json")
	var v cli.Version
	if err := json.Unmarshal([]byte(stdout), &v); err != nil || code != cli.ExitOK {
		t.Fatalf("berth version -f json exits with %d and prints %q: %v", code, stdout, err)
	}
	if v.Version == "" || v.Go == "" || v.Platform == "" || v.Traits == "" ||
		v.Placement != microversion.Placement.Range() {
		t.Errorf("berth version -f json prints %+v", v)
	}
}

// A running is a berth that serves in a separate process.
type running struct {
	t   *testing.T
	cmd *exec.Cmd
	log *bufio.Reader
	url string

	token string // of the administrator
}

// start starts a process with a command line and waits until it serves.
func start(t *testing.T, home string, args ...string) *running {
	t.Helper()
	r := launch(t, []string{"HOME=" + home}, nil, args...)
	r.url = "http://" + r.logged(`\bready .*\baddress=(\S+)`)
	return r
}

// A spill buffers what is written to it until it is read, so that a process never blocks on a test
// that does not read its log.
type spill struct {
	mu     sync.Mutex
	more   sync.Cond
	kept   bytes.Buffer
	closed bool
}

// drain reads from a pipe until it is closed.
func drain(from io.Reader) *spill {
	s := &spill{}
	s.more.L = &s.mu
	go func() {
		_, _ = io.Copy(s, from)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.closed = true
		s.more.Broadcast()
	}()
	return s
}

func (s *spill) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.more.Broadcast()
	return s.kept.Write(p)
}

func (s *spill) Read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.kept.Len() == 0 && !s.closed {
		s.more.Wait()
	}
	return s.kept.Read(p) // io.EOF when it is empty
}

// logged reads the output to the first line of a form and returns its group.
func (r *running) logged(form string) string {
	r.t.Helper()
	pattern := regexp.MustCompile(form)
	var seen strings.Builder
	for {
		line, err := r.log.ReadString('\n')
		seen.WriteString(line)
		if m := pattern.FindStringSubmatch(line); m != nil {
			return m[len(m)-1]
		}
		if err != nil {
			r.t.Fatalf("the log has no %s:\n%s", form, seen.String())
		}
	}
}

func (r *running) get(path string) (int, string) {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), "GET", r.url+path, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("X-Auth-Token", r.token)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return res.StatusCode, string(body)
}

// stop sends SIGTERM and checks that the process exits with success.
func (r *running) stop() {
	r.t.Helper()
	if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		r.t.Error(err)
	}
	r.logged(`\b(stopped)`)
	if err := r.cmd.Wait(); err != nil {
		r.t.Errorf("after SIGTERM: %v", err)
	}
}

func TestServeStopsAndStartsAgain(t *testing.T) {
	home := t.TempDir()
	for range 2 {
		r := start(t, home, "placement", "serve", "--listen", "127.0.0.1:0")
		if status, body := r.get("/resource_providers"); status != http.StatusOK || body != `{"resource_providers": []}` {
			t.Errorf("GET /resource_providers = %d %s", status, body)
		}
		if _, err := os.Stat(filepath.Join(home, ".local/share/berth/placement.db")); err != nil {
			t.Error(err)
		}
		r.stop()
	}
}

func TestServeKeepsADatabaseInMemory(t *testing.T) {
	home := t.TempDir()
	conf := settings(t, databaseOf("sqlite://"))
	r := start(t, home, "placement", "serve", "--listen", "127.0.0.1:0", "--config", conf)
	newest := `"max_version": "` + microversion.Placement.Max().String() + `"`
	if status, body := r.get("/"); status != http.StatusOK || !strings.Contains(body, newest) {
		t.Errorf("GET / = %d %s", status, body)
	}
	r.stop()
	if remaining, err := os.ReadDir(home); err != nil || len(remaining) > 0 {
		t.Errorf("files are left: %v, %v", remaining, err)
	}
}

func TestDatabaseInUseIsRefused(t *testing.T) {
	conf := settings(t, databaseOf("sqlite:///"+filepath.Join(t.TempDir(), "placement.db")))
	r := start(t, t.TempDir(), "placement", "serve", "--listen", "127.0.0.1:0", "--config", conf)
	code, _, stderr := berth(t, "placement", "serve", "--listen", "127.0.0.1:0", "--config", conf)
	if code != cli.ExitInUse || !strings.Contains(stderr, "placement.db") || !strings.Contains(stderr, "in use") {
		t.Errorf("a second start exits with %d, want %d:\n%s", code, cli.ExitInUse, stderr)
	}
	r.stop()
}

func TestAddressInUseIsRefused(t *testing.T) {
	var lc net.ListenConfig
	ln, err := lc.Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	address := ln.Addr().String()
	path := filepath.Join(t.TempDir(), "placement.db")
	code, _, stderr := berth(t, "placement", "serve", "--listen", address, "--config",
		settings(t, databaseOf("sqlite:///"+path)))
	if code != cli.ExitListen || !strings.Contains(stderr, "listening on "+address) {
		t.Errorf("serving on a taken address exits with %d, want %d:\n%s", code, cli.ExitListen, stderr)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the database was made before the address was had: %v", err)
	}
}

// upArgs start "berth up" at free ports, in a directory.
func upArgs(dir string) []string {
	return append(upQuietArgs(dir), "--verbose")
}

// upQuietArgs are upArgs without the services' log.
func upQuietArgs(dir string) []string {
	return []string{
		"up", "--listen", "127.0.0.1:0", "--network-listen", "127.0.0.1:0", "--identity-listen", "127.0.0.1:0",
		"--image-listen", "127.0.0.1:0", "--compute-listen", "127.0.0.1:0", "--data", dir,
	}
}

// served reads the page of "berth up" to the address that a flag changes.
func (r *running) served(flag string) string {
	r.t.Helper()
	return r.logged(`^  [a-z]+ +(http://\S+) +--` + flag + `\n`)
}

// An invalid file of images is an error that names the file.
func TestUpRefusesImages(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "images.json")
	if err := os.WriteFile(path, []byte(`{"images": [{"id": "7"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	code, _, stderr := berth(t, upArgs(dir)...)
	if want := path + `: image 1: its id is "7", which is no UUID`; code != cli.ExitUsage ||
		!strings.Contains(stderr, want) {
		t.Errorf("it exits with %d, want %d and %q:\n%s", code, cli.ExitUsage, want, stderr)
	}
}

func TestUpLoadsTheGuide(t *testing.T) {
	dir := t.TempDir()
	for range 2 { // an existing file is unchanged
		r := launch(t, nil, nil, upArgs(dir)...)
		r.url = r.served("listen")
		r.token = upToken(t, dir)
		want := []string{
			"devstack0 2",
			"devstack0:NIC Switch agent 4a8a819d-61f9-5822-8c5c-3e9c7cb942d6 0 below devstack0",
			"devstack0:NIC Switch agent:ens5 1c7e83f0-108d-5c35-ada7-7ebebbe43aad 2 below devstack0:NIC Switch agent",
			"devstack0:Open vSwitch agent 89ca1421-5117-5348-acab-6d0e2054239c 0 below devstack0",
			"devstack0:Open vSwitch agent:br-physnet0 4a6f5f40-b7a1-5df4-9938-63983543f365 2 below devstack0:Open vSwitch agent",
		}
		if diff := cmp.Diff(want, providers(t, r)); diff != "" {
			t.Errorf("the providers (-want +got):\n%s", diff)
		}
		r.stop()
	}
}
