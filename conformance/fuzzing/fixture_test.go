package fuzzing

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/berthcloud/berth/internal/process"
	"github.com/berthcloud/berth/internal/server"
	"github.com/berthcloud/berth/internal/servertest"
)

// apis are all APIs of "berth up", by the flags for their addresses.
var apis = map[string]string{
	"placement": "listen", "network": "network-listen", "compute": "compute-listen", "identity": "identity-listen",
	"image": "image-listen",
}

// A cloud is a running "berth up".
type cloud struct {
	t         testing.TB
	process   *process.Process
	log       *watchedLog
	addresses map[string]string
	operators string
	accounts  []account
	keys      map[string]string // of hosts, by name
}

// An account is a user and its scope.
type account struct {
	name, password, scope string
	at                    string // the address of the identity service
	current               *atomic.Pointer[string]
}

// token returns the token of an account.
func (a account) token() string { return *a.current.Load() }

// start starts a "berth up" with separate databases.
func start(t testing.TB) *cloud {
	t.Helper()
	dir := servertest.Dir(t)
	c := &cloud{t: t, addresses: map[string]string{}, operators: servertest.FreeAddress(t)}
	args := []string{"up", "--data", dir, "--verbose", "--hosts", "2", "--metrics-listen", c.operators}
	for api, flag := range apis {
		c.addresses[api] = servertest.FreeAddress(t)
		args = append(args, "--"+flag, c.addresses[api])
	}
	c.log = &watchedLog{}
	cmd := exec.Command(server.Berth(t), args...)
	cmd.Stderr = c.log
	var err error
	if c.process, err = process.Start(cmd); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.end)
	c.await(filepath.Join(dir, "demo-openrc"))
	text, err := os.ReadFile(filepath.Join(dir, "passwords.json"))
	if err != nil {
		t.Fatal(err)
	}
	passwords := map[string]string{}
	if err := json.Unmarshal(text, &passwords); err != nil {
		t.Fatal(err)
	}
	hosts := []string{"devstack0", "devstack1", silentHost}
	printed, err := exec.Command(server.Berth(t),
		append([]string{"agent", "key", "--config", filepath.Join(dir, "hosts.conf")}, hosts...)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	c.keys = map[string]string{}
	for i, key := range strings.Fields(string(printed)) {
		c.keys[hosts[i]] = key
	}
	const project = `{"project":{"id":"d3e0000000000000000000000000d3e0"}}`
	for _, a := range []account{
		{name: "admin", scope: project},
		{name: "demo", scope: project},
		{name: "nova", scope: project},
		{name: "berth", scope: project},
		{name: "admin", scope: `{"system":{"all":true}}`},
		{name: "demo", scope: `"unscoped"`},
	} {
		a.password, a.at, a.current = passwords[a.name], c.addresses["identity"], new(atomic.Pointer[string])
		c.accounts = append(c.accounts, a)
		c.login(a)
	}
	return c
}

// await waits for a file, which is written when everything is ready.
func (c *cloud) await(path string) {
	c.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for limit := time.After(90 * time.Second); ; {
		if _, err := os.Stat(path); err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-c.process.Ended():
			c.t.Fatalf("it has ended\n%s", c.log.tail())
		case <-limit:
			c.t.Fatalf("it is not ready\n%s", c.log.tail())
		}
	}
}

func (c *cloud) address(api string) string { return c.addresses[api] }

// login gets an account a new token.
func (c *cloud) login(a account) {
	c.t.Helper()
	body := fmt.Sprintf(`{"auth":{"identity":{"methods":["password"],"password":{"user":{"name":%q,`+
		`"domain":{"id":"default"},"password":%q}}},"scope":%s}}`, a.name, a.password, a.scope)
	res, err := http.Post("http://"+a.at+"/v3/auth/tokens", "application/json", strings.NewReader(body))
	if err != nil {
		c.t.Errorf("logging in as %s: %v", a.name, err)
		return
	}
	defer res.Body.Close()
	token := res.Header.Get("X-Subject-Token")
	if token == "" {
		c.t.Errorf("logging in as %s: %s", a.name, res.Status)
	}
	a.current.Store(&token)
	c.log.keepSecret(token, a.password)
}

// get sends a request to the operators' side of a service.
func (c *cloud) get(path string) (status int, text string) {
	c.t.Helper()
	res, err := http.Get("http://" + c.operators + path)
	if err != nil {
		c.t.Errorf("requesting %s: %v", path, err)
		return 0, ""
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		c.t.Errorf("requesting %s: %v", path, err)
	}
	return res.StatusCode, string(body)
}

// metric returns a number that has no labels.
func (c *cloud) metric(service, name string) float64 {
	c.t.Helper()
	_, text := c.get("/" + service + "/metrics")
	m := regexp.MustCompile(`(?m)^` + name + ` (\S+)$`).FindStringSubmatch(text)
	if m == nil {
		c.t.Errorf("%s has no metric %s", service, name)
		return 0
	}
	n, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		c.t.Error(err)
	}
	return n
}

// end stops it, as an operator does.
func (c *cloud) end() {
	if !c.process.Alive() {
		c.t.Error("it has ended by itself")
	}
	if err := c.process.End(syscall.SIGTERM, time.Minute); err != nil {
		c.t.Error(err)
	}
	for _, line := range c.log.wrong() {
		c.t.Errorf("the log has: %.2000s", line)
	}
	if c.t.Failed() {
		c.t.Logf("the end of the log:\n%s", c.log.tail())
	}
}

// A watchedLog checks each line of a program's log, and stores the last ones and the faulty ones:
// errors, lines in another format, such as a panic, and secrets.
type watchedLog struct {
	mu      sync.Mutex // guards the rest
	rest    []byte     // of a line without its end
	last    []byte
	bad     []string
	secrets []string
}

// keepSecret has lines with a text reported.
func (l *watchedLog) keepSecret(secrets ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.secrets = append(l.secrets, secrets...)
}

var logLine = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:.]+ [0-9]+ (DEBUG|INFO|WARNING|ERROR|CRITICAL) `)

// expected are the errors that clients cause: those of documented answers, and those after agents
// and hosts report invalid values, or after their providers are changed.
var expected = regexp.MustCompile(`a request failed error="(Unable to create the network\. ` +
	`No tenant network|Binding for port |Failed to attach network adapter device )|` +
	`the agent's devices are not synced to placement |the resources of the host are not up to date in placement |the ` +
	`tree of a host could not be synced to placement `)

// Write takes what the program logs.
func (l *watchedLog) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = append(l.last, text...)
	if surplus := len(l.last) - 4<<10; surplus > 0 {
		l.last = append([]byte(nil), l.last[surplus:]...)
	}
	l.rest = append(l.rest, text...)
	for {
		line, rest, cur := bytes.Cut(l.rest, []byte("\n"))
		if !cur {
			return len(text), nil
		}
		l.look(string(line))
		l.rest = append([]byte(nil), rest...)
	}
}

func (l *watchedLog) look(line string) {
	m := logLine.FindStringSubmatch(line)
	wrong := m == nil || (m[1] == "ERROR" || m[1] == "CRITICAL") && !expected.MatchString(line)
	for _, secret := range l.secrets {
		wrong = wrong || secret != "" && strings.Contains(line, secret)
	}
	if wrong && len(l.bad) < 50 {
		l.bad = append(l.bad, line)
	}
}

func (l *watchedLog) wrong() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.bad...)
}

func (l *watchedLog) tail() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.last)
}
