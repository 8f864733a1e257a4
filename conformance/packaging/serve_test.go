package packaging

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/berthcloud/berth/internal/process"
	"github.com/berthcloud/berth/internal/servertest"
)

// patience bounds every wait of these tests.
const patience = 30 * time.Second

// A service is a program that was started as in its unit file.
type service struct {
	*process.Process
	t   *testing.T
	cmd *exec.Cmd
	url string
	log process.Log
}

// start runs a command on a free port with noauth2: the environment overrides the settings file,
// which is as installed.
func start(t *testing.T, cmd *exec.Cmd, env ...string) *service {
	t.Helper()
	address := servertest.FreeAddress(t)
	s := &service{t: t, cmd: cmd, url: "http://" + address}
	cmd.Env = append(append(os.Environ(), "OS_API__AUTH_STRATEGY=noauth2", "OS_BERTH__LISTEN="+address), env...)
	cmd.Stdout, cmd.Stderr = &s.log, &s.log
	var err error
	if s.Process, err = process.Start(cmd); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Kill)
	return s
}

// stop ends the service as systemd does and expects a successful exit.
func (s *service) stop() {
	s.t.Helper()
	s.Signal(syscall.SIGTERM)
	if code := s.exit(); code != 0 {
		s.t.Errorf("the service did not stop well: exit status %d\n%s", code, s.log.String())
	}
}

// exit waits for the end of the process and returns its exit status.
func (s *service) exit() int {
	s.t.Helper()
	select {
	case <-s.Ended():
	case <-time.After(patience):
		s.t.Fatalf("the service is still there\n%s", s.log.String())
	}
	return s.cmd.ProcessState.ExitCode()
}

// answers writes a provider and reads it back.
func (s *service) answers() {
	s.t.Helper()
	s.await()
	if status, body := s.call(http.MethodPost, `{"name":"cn1"}`); status != http.StatusOK ||
		!strings.Contains(body, `"cn1"`) {
		s.t.Errorf("writing: %d %s", status, body)
	}
	if status, body := s.call(http.MethodGet, ""); status != http.StatusOK || !strings.Contains(body, `"cn1"`) {
		s.t.Errorf("reading: %d %s", status, body)
	}
}

// await returns when the root document is served.
func (s *service) await() {
	s.t.Helper()
	if err := s.Await(s.url+"/", patience, 20*time.Millisecond); err != nil {
		s.t.Fatalf("%v\n%s", err, s.log.String())
	}
}

// call sends one request about providers as the administrator.
func (s *service) call(method, body string) (int, string) {
	s.t.Helper()
	req, err := http.NewRequest(method, s.url+"/resource_providers", strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("X-Auth-Token", "admin")
	req.Header.Set("OpenStack-API-Version", "placement 1.39")
	req.Header.Set("Content-Type", "application/json")
	client := http.Client{Timeout: patience}
	res, err := client.Do(req)
	if err != nil {
		s.t.Fatalf("%v\n%s", err, s.log.String())
	}
	defer res.Body.Close()
	var text bytes.Buffer
	if _, err := text.ReadFrom(res.Body); err != nil {
		s.t.Fatal(err)
	}
	return res.StatusCode, text.String()
}

// command is the command of the unit file, as an array.
func command(t *testing.T, unpacked string) []string {
	t.Helper()
	return strings.Fields(unit(t, unpacked).only(t, "ExecStart"))
}

// serves starts the command of the unit file inside of the root, as the user and in the directory
// of the unit file.
func (r root) serves(t *testing.T, user, group int) {
	t.Helper()
	args := command(t, string(r))
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = "/" + statePath
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Chroot:     string(r),
		Credential: &syscall.Credential{Uid: uint32(user), Gid: uint32(group)},
	}
	s := start(t, cmd)
	s.answers()
	r.there(t, statePath+"/placement.db")
	s.stop()
}

// unpackedService starts the unpacked program with the unpacked settings, except for the path of
// the database. It works for all users.
func unpackedService(t *testing.T, env ...string) *service {
	t.Helper()
	_, unpacked := pkg(t)
	args := command(t, unpacked)
	for i, arg := range args {
		if strings.HasPrefix(arg, "/") {
			args[i] = filepath.Join(unpacked, arg)
		}
	}
	database := filepath.Join(t.TempDir(), "placement.db")
	return start(t, exec.Command(args[0], args[1:]...),
		append(env, "OS_PLACEMENT_DATABASE__CONNECTION=sqlite:///"+database)...)
}

func TestUnpackedProgramServes(t *testing.T) {
	s := unpackedService(t)
	s.answers()
	s.stop()
	if strings.Contains(s.log.String(), "there is no") {
		t.Errorf("the installed settings are warned about:\n%s", s.log.String())
	}
}

// TestUntouchedSettingsDoNotServe requires an unconfigured service to report that and to end with
// the code after which systemd does not restart it.
func TestUntouchedSettingsDoNotServe(t *testing.T) {
	s := unpackedService(t, "OS_API__AUTH_STRATEGY=keystone")
	if code := s.exit(); code != 2 {
		t.Errorf("exit status %d, want 2\n%s", code, s.log.String())
	}
	_, unpacked := pkg(t)
	for _, service := range []string{"placement", "network", "compute", "agent"} {
		if got := unitOf(t, unpacked, service).only(t, "RestartPreventExitStatus"); got != "2" {
			t.Errorf("%s: RestartPreventExitStatus=%s, want 2", service, got)
		}
	}
	for _, args := range [][]string{{"network", "serve"}, {"compute", "serve"}, {"agent"}} {
		settings := filepath.Join(unpacked, "etc/berth", args[0]+".conf")
		cmd := exec.Command(filepath.Join(unpacked, programPath), append(args, "--config", settings)...)
		out, err := output(cmd)
		if err == nil || cmd.ProcessState.ExitCode() != 2 ||
			!strings.Contains(out, "not set") && !strings.Contains(out, "no device") {
			t.Errorf("%v with untouched settings: %v\n%s", args, err, out)
		}
	}
}

// A placement.conf of upstream's, copied unchanged, may name a log file where the packaged service
// cannot write: it ends, and says what to do, with a directory where it can.
func (r root) refusesLogFile(t *testing.T, user, group int) {
	t.Helper()
	u := unit(t, string(r))
	logs := "/var/log/" + u.only(t, "LogsDirectory")
	if writable := u.only(t, "ReadWritePaths"); !strings.Contains(writable+" ", logs+" ") {
		t.Errorf("ReadWritePaths=%s is without %s", writable, logs)
	}
	if err := os.MkdirAll(r.path("var/log/placement"), 0o750); err != nil { // upstream's, not the service's
		t.Fatal(err)
	}
	for file, code := range map[string]int{"/var/log/placement/placement-api.log": 2, logs + "/placement-api.log": 0} {
		args := command(t, string(r))
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Dir = "/" + statePath
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Chroot:     string(r),
			Credential: &syscall.Credential{Uid: uint32(user), Gid: uint32(group)},
		}
		s := start(t, cmd, "OS_DEFAULT__LOG_FILE="+file, "LOGS_DIRECTORY="+logs)
		if code == 0 {
			s.await()
			s.stop()
			r.there(t, strings.TrimPrefix(file, "/"))
			continue
		}
		got, log := s.exit(), s.log.String()
		if got != code || !strings.Contains(log, file+": permission denied") || !strings.Contains(log, "remove them") ||
			!strings.Contains(log, "name a file in "+logs) {
			t.Errorf("with log_file = %s: exit status %d, want %d\n%s", file, got, code, log)
		}
	}
}

// TestServiceKeepsItsUnitsPromises replaces systemd: the unit file has Type=notify and WatchdogSec,
// and reloads with a signal. Without READY=1 a service would be killed, without WATCHDOG=1
// repeatedly.
func TestServiceKeepsItsUnitsPromises(t *testing.T) {
	_, unpacked := pkg(t)
	u := unit(t, unpacked)
	if u.only(t, "Type") != "notify" || u.only(t, "WatchdogSec") == "0" ||
		!strings.Contains(u.only(t, "ExecReload"), "-HUP") {
		t.Fatalf("the unit file makes other promises than this test is about: %v", u)
	}
	path := filepath.Join(t.TempDir(), "notify")
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	s := unpackedService(t, "NOTIFY_SOCKET="+path, "WATCHDOG_USEC=1000000")
	s.hear(socket, "READY=1")
	s.hear(socket, "WATCHDOG=1")
	s.Signal(syscall.SIGHUP)
	s.hear(socket, "RELOADING=1")
	s.hear(socket, "READY=1")
	s.answers()
	s.stop()
}

// hear waits for a message of the service.
func (s *service) hear(socket *net.UnixConn, want string) {
	s.t.Helper()
	if err := socket.SetReadDeadline(time.Now().Add(patience)); err != nil {
		s.t.Fatal(err)
	}
	for message := make([]byte, 4096); ; {
		n, err := socket.Read(message)
		if err != nil {
			s.t.Fatalf("waiting for %s: %v\n%s", want, err, s.log.String())
		}
		for line := range strings.Lines(string(message[:n])) {
			if strings.TrimSpace(line) == want {
				return
			}
		}
	}
}

// TestSocketUnitIsServed opens a socket as systemd does for the socket unit: the service answers on
// it, whatever its settings.
func TestSocketUnitIsServed(t *testing.T) {
	need(t, "systemd-socket-activate", "systemd")
	_, unpacked := pkg(t)
	name := regexp.MustCompile(`(?m)^FileDescriptorName=(.+)$`).FindStringSubmatch(
		read(t, filepath.Join(unpacked, "usr/lib/systemd/system/berth-placement.socket")))
	if name == nil {
		t.Fatal("the socket has no name")
	}
	address := servertest.FreeAddress(t)
	args := []string{"--listen=" + address, "--fdname=" + name[1]}
	for _, variable := range []string{"OS_API__AUTH_STRATEGY", "OS_BERTH__LISTEN", "OS_PLACEMENT_DATABASE__CONNECTION"} {
		args = append(args, "--setenv="+variable) // it clears the others
	}
	args = append(args, filepath.Join(unpacked, programPath), "placement", "serve", "--config",
		filepath.Join(unpacked, settingsPath))
	s := start(t, exec.Command("systemd-socket-activate", args...),
		"OS_PLACEMENT_DATABASE__CONNECTION=sqlite:///"+filepath.Join(t.TempDir(), "placement.db"))
	configured := s.url
	s.url = "http://" + address
	s.answers()
	if err := checkClosed(configured); err != nil {
		t.Error(err)
	}
	s.stop()
}

// checkClosed expects that the address in the settings has no listener.
func checkClosed(url string) error {
	conn, err := net.DialTimeout("tcp", strings.TrimPrefix(url, "http://"), time.Second)
	if err != nil {
		return nil
	}
	return errors.Join(fmt.Errorf("%s is listened on in addition to the socket", url), conn.Close())
}
