package devcloud

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"text/template"
)

// guideURL is OpenStack's guide to guaranteed minimum bandwidth.
const guideURL = "https://docs.openstack.org/neutron/latest/admin/config-qos-min-bw.html"

// page returns the text that is printed when everything is ready: the addresses of the services,
// how to log in, and the commands of the guide in its order.
func (c *cloud) page() string {
	var text strings.Builder
	err := upPage.Execute(&text, map[string]any{
		"Services": c.services(), "Console": c.consoleURL(),
		"Verbose": c.opts.Verbose, "Guide": guideURL, "Kbps": c.guaranteed(),
		"Compete":   c.compete(),
		"Placement": c.offered(&c.placement.Server), "Dir": c.dir, "Log": filepath.Join(c.dir, LogFile),
		"Clouds": shellWord(filepath.Join(c.dir, "clouds.yaml")),
		"Openrc": shellWord(filepath.Join(c.dir, upAdmin+"-openrc")),
		"Token":  shellWord(filepath.Join(c.dir, tokenFile)),
	})
	if err != nil {
		panic(err) // the template is a constant, and its fields exist
	}
	return text.String()
}

var upPage = template.Must(template.New("page").Option("missingkey=error").Parse(`
Berth is up:

{{.Services}}
Watch it in a browser: {{.Console}}

{{if .Verbose}}Their log is shown here.{{else}}Requests are logged in {{.Log}};
--verbose shows them here. Warnings and errors are shown here too.{{end}}

In another terminal, with the openstack client (Debian: python3-openstackclient
and python3-osc-placement), as the administrator:

  export OS_CLIENT_CONFIG_FILE={{.Clouds}} OS_CLOUD=berth-admin

For tools without clouds.yaml: source {{.Openrc}}

The commands of OpenStack's guide to guaranteed minimum bandwidth:

  openstack network agent list --agent-type open-vswitch --host devstack0
  openstack --os-placement-api-version 1.17 resource provider list
  openstack network create net0 --provider-network-type vlan \
    --provider-physical-network physnet0 --provider-segment 100
  openstack subnet create subnet0 --network net0 --subnet-range 10.0.4.0/24
  openstack network qos policy create policy0
  openstack network qos rule create policy0 --type minimum-bandwidth \
    --min-kbps {{.Kbps}} --egress
  openstack network qos rule create policy0 --type minimum-bandwidth \
    --min-kbps {{.Kbps}} --ingress

  export OS_CLOUD=berth-demo    # an unprivileged user
  openstack port create port-normal-qos --network net0 --qos-policy policy0
  openstack server create server0 --flavor cirros256 \
    --image cirros-0.5.1-x86_64-disk --port port-normal-qos

  export OS_CLOUD=berth-admin
  openstack port show port-normal-qos -c resource_request
  openstack resource provider allocation show \
    $(openstack server show server0 -f value -c id)

The guide: {{.Guide}}
{{.Compete}}
Without the client:

  curl -H "X-Auth-Token: $(cat {{.Token}})" \
    {{.Placement}}/resource_providers

The agents report the devices in {{.Dir}}/devstack0.ini:
edit it, and placement is updated. Ctrl-C stops all services. Changes are kept
for the next start; "berth up --reset" deletes them.
`))

// services returns a line for each service with its name, its address, and the flag that changes
// the address.
func (c *cloud) services() string {
	urls := map[string]string{
		"placement": c.offered(&c.placement.Server), "network": c.offered(&c.network.Server),
		"compute":  c.offered(&c.compute.Server) + "/v2.1",
		"identity": c.offered(c.identity) + "/v3", "image": c.offered(c.images),
	}
	var b strings.Builder
	line := func(name, url, flag string) { fmt.Fprintf(&b, "  %-9s  %-28s  --%s\n", name, url, flag) }
	for _, a := range c.opts.Addresses() {
		line(a.Service, urls[a.Service], a.Flag)
	}
	if c.operators != nil {
		line("metrics", "http://"+reached(c.operators.Addr, c.publicName())+"/placement/metrics", "metrics-listen")
	}
	return b.String()
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./,:@%+=-]+$`)

// shellWord quotes a text as one word of a shell.
func shellWord(text string) string {
	if plainWord.MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
