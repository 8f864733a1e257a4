package server

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/berthcloud/berth/internal/process"
	"github.com/berthcloud/berth/internal/servertest"
)

// StartNetwork starts Berth's network service without Keystone, with the drivers for Open vSwitch
// and SR-IOV, and with the address of a placement to which it syncs the devices of agents. The
// database is as for StartBerth; Config overrides options of neutron.conf. Policy does not apply to
// it.
func StartNetwork(t testing.TB, placement string, opts Options) *Server {
	t.Helper()
	dir := servertest.Dir(t)
	return startNetwork(t, dir, opts.Env, Render(map[string]map[string]string{
		"DEFAULT":   {"auth_strategy": "noauth", "service_plugins": "qos,placement"},
		"ml2":       {"mechanism_drivers": "openvswitch,sriovnicswitch", "extension_drivers": "qos,port_security"},
		"placement": {"auth_type": "none", "endpoint_override": placement},
		"database":  {"connection": strings.ReplaceAll(connection(t, opts, dir).Berth, "$", "$$")},
	}, opts.Config))
}

// StartCompute starts Berth's compute service without Keystone, with a placement, a network
// service and an image service at these addresses. The database is as for StartBerth; Config
// overrides options of nova.conf. Policy is not for it.
func StartCompute(t testing.TB, placement, network, images string, opts Options) *Server {
	t.Helper()
	bin, dir := Berth(t), servertest.Dir(t)
	at := func(url string) map[string]string {
		return map[string]string{"auth_type": "none", "endpoint_override": url}
	}
	configs := configArguments(t, dir, []string{Render(map[string]map[string]string{
		"api":       {"auth_strategy": "noauth2"},
		"placement": at(placement), "neutron": at(network), "glance": at(images),
		"database": {"connection": strings.ReplaceAll(connection(t, opts, dir).Berth, "$", "$$")},
	}, opts.Config)})
	return servertest.Start(t, "berth compute", "/", func(addr string) *exec.Cmd {
		cmd := exec.Command(bin, append([]string{"compute", "serve", "--listen", addr}, configs...)...)
		cmd.Env = append(os.Environ(), opts.Env...)
		return cmd
	})
}

// StartNetworkByFiles starts Berth's network service with the texts of its configuration files,
// such as neutron.conf and ml2_conf.ini, of which later ones override earlier ones. Its database is
// a file that is removed at the end of the test, unless they name another.
func StartNetworkByFiles(t testing.TB, files ...string) *Server {
	t.Helper()
	dir := servertest.Dir(t)
	database := "[database]\nconnection = sqlite:///" + dir + "/network.db\n"
	return startNetwork(t, dir, nil, append([]string{database}, files...)...)
}

func startNetwork(t testing.TB, dir string, env []string, files ...string) *Server {
	t.Helper()
	bin := Berth(t)
	configs := configArguments(t, dir, files)
	return servertest.Start(t, "berth network", "/", func(addr string) *exec.Cmd {
		cmd := exec.Command(bin, append([]string{"network", "serve", "--listen", addr}, configs...)...)
		cmd.Env = append(os.Environ(), env...)
		return cmd
	})
}

// StartAgent starts Berth's agent with the texts of its configuration files, and returns their
// paths. It is stopped at the end of the test, and its log is printed if that failed. Its directory
// of Open vSwitch is empty.
func StartAgent(t testing.TB, files ...string) (paths []string) {
	t.Helper()
	dir := servertest.Dir(t)
	configs := configArguments(t, dir, files)
	for i := 1; i < len(configs); i += 2 {
		paths = append(paths, configs[i])
	}
	cmd := exec.Command(Berth(t), append([]string{"agent"}, configs...)...)
	cmd.Env = append(os.Environ(), "OVS_RUNDIR="+dir)
	var log process.Log
	cmd.Stdout, cmd.Stderr = &log, &log
	p, err := process.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if !p.Alive() {
			t.Error("the agent has ended")
		}
		p.Kill()
		if t.Failed() {
			t.Logf("log of the agent:\n%s", log.Tail())
		}
	})
	return paths
}

// configArguments writes configuration files and returns the arguments that name them.
func configArguments(t testing.TB, dir string, texts []string) (args []string) {
	t.Helper()
	for i, text := range texts {
		args = append(args, "--config", writeFile(t, dir, fmt.Sprintf("%d.conf", i), text))
	}
	return args
}
