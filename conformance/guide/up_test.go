package guide

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/berthcloud/berth/internal/rest"
	"github.com/berthcloud/berth/internal/server"
	"github.com/berthcloud/berth/internal/servertest"
)

// TestUpInvites requires "berth up" to print how to log in and what to try, to log its events to
// its log, and to stop on a signal, with nothing but its page on the terminal. BenchmarkUp measures
// the time of its start.
func TestUpInvites(t *testing.T) { invited(t) }

// BenchmarkUp is the start of "berth up" until its page is printed, on new databases: under two
// seconds.
func BenchmarkUp(b *testing.B) {
	var took time.Duration
	for range b.N {
		took += invited(b)
	}
	b.ReportMetric(took.Seconds()/float64(b.N), "s/invitation")
}

// invited runs "berth up" until its page is printed, and returns the duration.
func invited(t testing.TB) time.Duration {
	t.Helper()
	dir := servertest.Dir(t)
	server.Berth(t) // builds it
	begin := time.Now()
	p := server.StartPage(t, bootTime, server.UpArgs("127.0.0.1:0", dir)...)
	var text strings.Builder
	lines, log := p.Lines, &p.Log
	for !strings.Contains(text.String(), "deletes them") && lines.Scan() {
		text.WriteString(lines.Text() + "\n")
	}
	took := time.Since(begin)
	for _, want := range []string{
		"export OS_CLIENT_CONFIG_FILE=" + filepath.Join(dir, "clouds.yaml") + " OS_CLOUD=berth-admin\n",
		"openstack network create net0", "--port port-normal-qos",
		"source " + filepath.Join(dir, "admin-openrc"), filepath.Join(dir, "berth.log"),
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is not in what it says:\n%s\n%s", want, text.String(), log.Tail())
		}
	}
	for file, want := range map[string]string{
		"admin-openrc": "export OS_COMPUTE_API_VERSION=2.72\n", "demo-openrc": "export OS_COMPUTE_API_VERSION=2.72\n",
		"clouds.yaml": "2.72",
	} {
		if text, err := os.ReadFile(filepath.Join(dir, file)); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s, %v: %s", file, err, text)
		}
	}
	if got := hypervisors(t, text.String(), server.UpToken(t, dir)); !slices.Equal(got, []string{"devstack0"}) {
		t.Errorf("the hosts are %v", got)
	}
	if err := p.End(syscall.SIGTERM, bootTime); err != nil || p.Cmd.ProcessState.ExitCode() != 0 {
		t.Errorf("it ends with %v, %v\n%s", p.Cmd.ProcessState, err, log.Tail())
	}
	for lines.Scan() {
		t.Errorf("it says after its page %q", lines.Text())
	}
	if log.String() != "" {
		t.Errorf("it says besides its page:\n%s", log.Tail())
	}
	logged, err := os.ReadFile(filepath.Join(dir, "berth.log"))
	if text := string(logged); err != nil || !strings.Contains(text, "path=/v2.1/os-hypervisors") ||
		!strings.HasSuffix(strings.TrimSpace(text), "stopped") {
		t.Errorf("the log has neither requests nor an end, %v:\n%s", err, text)
	}
	return took
}

// hypervisors are the names of the hosts of a compute service according to an invitation.
func hypervisors(t testing.TB, invitation, token string) (names []string) {
	t.Helper()
	at := regexp.MustCompile(`(?m)^  compute +(\S+/v2\.1) +--compute-listen$`).FindStringSubmatch(invitation)
	if at == nil {
		t.Fatalf("it is not said where the compute service is:\n%s", invitation)
	}
	c := rest.New(at[1], "compute 2.53").As(token)
	defer c.Close()
	var all struct {
		Hypervisors []struct {
			Name string `json:"hypervisor_hostname"`
		}
	}
	c.Read(t, "/os-hypervisors", &all)
	for _, h := range all.Hypervisors {
		names = append(names, h.Name)
	}
	return names
}
