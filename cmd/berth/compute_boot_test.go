package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berthcloud/berth/internal/fakehosts"
)

// A service without a network service logs that at its start, and refuses servers, which could not
// be built.
func TestBootWithoutPeers(t *testing.T) {
	images := httptest.NewServer(fakehosts.Images())
	defer images.Close()
	conf := filepath.Join(t.TempDir(), "nova.conf")
	rewrite(t, conf, "[api]\nauth_strategy = noauth2\n[database]\nconnection = sqlite://\n[placement]\n"+
		"auth_type = none\nendpoint_override = http://127.0.0.1:1\n"+
		"[glance]\nauth_type = none\nendpoint_override = "+images.URL+"\n")
	compute := launch(t, []string{"HOME=" + t.TempDir()}, nil, "compute", "serve", "--listen", "127.0.0.1:0", "--config",
		conf)
	compute.logged(`a service is not configured.*service=network`)
	compute.url = "http://" + compute.logged(`\bready .*\baddress=(\S+)`)
	request(t, compute, "POST", "/v2.1/flavors",
		`{"flavor": {"id": "c1", "name": "c1", "vcpus": 1, "ram": 64, "disk": 1}}`)
	res, text := call(t, &http.Transport{}, "POST", compute.url+"/v2.1/servers",
		`{"server": {"name": "vm", "flavorRef": "c1", "imageRef": "`+fakehosts.Image+`", "networks": "none"}}`,
		"X-Auth-Token: admin", "OpenStack-API-Version: compute 2.72")
	if res.StatusCode != http.StatusServiceUnavailable ||
		!strings.Contains(text, "The network service is not configured.") {
		t.Errorf("the boot = %d %s, want 503 and why", res.StatusCode, text)
	}
}

// With support of an image's format required of hosts, servers boot on hosts that report it, and on
// none whose operator has excluded the format: the server's fault then names the trait.
func TestImageTypesOfHosts(t *testing.T) {
	images := httptest.NewServer(fakehosts.Images())
	defer images.Close()
	places := start(t, t.TempDir(), "placement", "serve", "--listen", "127.0.0.1:0")
	dir := t.TempDir()
	neutron := filepath.Join(dir, "neutron.conf")
	rewrite(t, neutron, "[DEFAULT]\nauth_strategy = noauth\n[database]\nconnection = sqlite://\n")
	networks := start(t, t.TempDir(), "network", "serve", "--listen", "127.0.0.1:0", "--config", neutron)
	conf := novaConf(t, places)
	text, err := os.ReadFile(conf)
	if err != nil {
		t.Fatal(err)
	}
	rewrite(t, conf, strings.Replace(string(text), "http://127.0.0.1:1", images.URL+"\nauth_type = none", 1)+
		"[neutron]\nauth_type = none\nendpoint_override = "+networks.url+
		"\n[scheduler]\nquery_placement_for_image_type_support = true\n")
	compute := start(t, t.TempDir(), "compute", "serve", "--listen", "127.0.0.1:0", "--config", conf)
	h := &hostedCompute{places: places, compute: compute, file: filepath.Join(dir, "nova.conf")}
	rewrite(t, h.file, h.hostText(dir))
	launch(t, nil, nil, "agent", "--compute-config", h.file)
	candidates := func(trait string) func() bool {
		return func() bool {
			return strings.Contains(request(t, places, "GET", "/allocation_candidates?resources=VCPU:1&required="+trait, ""),
				`"VCPU"`)
		}
	}
	wait(t, "the host is a candidate", candidates("COMPUTE_NODE"))

	request(t, compute, "POST", "/v2.1/flavors",
		`{"flavor": {"id": "c1", "name": "c1", "vcpus": 1, "ram": 64, "disk": 1}}`)
	type server struct {
		ID, Status string
		Fault      struct{ Message, Details string }
	}
	boot := func() server {
		res, text := call(t, &http.Transport{}, "POST", compute.url+"/v2.1/servers",
			`{"server": {"name": "vm", "flavorRef": "c1", "imageRef": "`+fakehosts.Image+`", "networks": "none"}}`,
			"X-Auth-Token: admin", "OpenStack-API-Version: compute 2.72")
		if res.StatusCode != http.StatusAccepted {
			t.Fatalf("the boot = %d %s", res.StatusCode, text)
		}
		var shown struct{ Server server }
		decodeFrom(t, text, &shown)
		at := "/v2.1/servers/" + shown.Server.ID
		wait(t, "the boot ends", func() bool {
			decodeFrom(t, request(t, compute, "GET", at, ""), &shown)
			return shown.Server.Status != "BUILD"
		})
		return shown.Server
	}
	if s := boot(); s.Status != "ACTIVE" {
		t.Errorf("a server of a qcow2 image is %+v, want ACTIVE", s)
	}

	rewrite(t, h.file, h.hostText(dir, "[compute]", "image_type_exclude_list = qcow2,raw"))
	wait(t, "the format leaves placement", func() bool { return !candidates("COMPUTE_IMAGE_TYPE_QCOW2")() })
	if !candidates("COMPUTE_IMAGE_TYPE_ISO")() {
		t.Error("formats that are not excluded are gone too")
	}
	const none = "No valid host was found. "
	if s := boot(); s.Status != "ERROR" || !strings.HasPrefix(s.Fault.Message, none) ||
		!strings.Contains(s.Fault.Details, "COMPUTE_IMAGE_TYPE_QCOW2") {
		t.Errorf("a server of an excluded format is %+v, want ERROR and why", s)
	}
}
