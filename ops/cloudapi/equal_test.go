package cloudapi_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/dbtool"
	"github.com/berthcloud/berth/httpapi/placementapi/placementapitest"
	"github.com/berthcloud/berth/internal/sqltest"
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/cloudapi"
	"github.com/berthcloud/berth/placement/service"
	"github.com/berthcloud/berth/sqlstore"
)

// The requests that make the cloud of the test: a nested host and one with shared storage, with a
// server, a move and a consumer of an unknown type.
const making = `
PUT /resource_classes/CUSTOM_LICENSE
PUT /traits/CUSTOM_GOLD
POST /resource_providers {"uuid": "00000000-0000-4000-8000-000000000002", "name": "cn1"}
POST /resource_providers {"uuid": "00000000-0000-4000-8000-000000000003", "name": "cn1:eth0", "parent_provider_uuid": "00000000-0000-4000-8000-000000000002"}
POST /resource_providers {"uuid": "00000000-0000-4000-8000-000000000001", "name": "shared"}
PUT /resource_providers/00000000-0000-4000-8000-000000000002/inventories {"resource_provider_generation": 0, "inventories": {"VCPU": {"total": 8, "allocation_ratio": 1.1}, "MEMORY_MB": {"total": 1000, "reserved": 10, "step_size": 10, "min_unit": 10}}}
PUT /resource_providers/00000000-0000-4000-8000-000000000003/inventories {"resource_provider_generation": 0, "inventories": {"NET_BW_EGR_KILOBIT_PER_SEC": {"total": 1000000}, "CUSTOM_LICENSE": {"total": 5}}}
PUT /resource_providers/00000000-0000-4000-8000-000000000001/inventories {"resource_provider_generation": 0, "inventories": {"DISK_GB": {"total": 100}}}
PUT /resource_providers/00000000-0000-4000-8000-000000000002/traits {"resource_provider_generation": 1, "traits": ["HW_CPU_X86_VMX", "CUSTOM_GOLD"]}
PUT /resource_providers/00000000-0000-4000-8000-000000000001/traits {"resource_provider_generation": 1, "traits": ["MISC_SHARES_VIA_AGGREGATE"]}
PUT /resource_providers/00000000-0000-4000-8000-000000000001/aggregates {"resource_provider_generation": 2, "aggregates": ["00000000-0000-4000-8000-0000000000a1", "00000000-0000-4000-8000-0000000000a0"]}
PUT /resource_providers/00000000-0000-4000-8000-000000000002/aggregates {"resource_provider_generation": 2, "aggregates": ["00000000-0000-4000-8000-0000000000a1"]}
PUT /allocations/00000000-0000-4000-8000-0000000000c1 {"allocations": {"00000000-0000-4000-8000-000000000002": {"resources": {"VCPU": 2, "MEMORY_MB": 100}}, "00000000-0000-4000-8000-000000000003": {"resources": {"NET_BW_EGR_KILOBIT_PER_SEC": 500}}, "00000000-0000-4000-8000-000000000001": {"resources": {"DISK_GB": 7}}}, "project_id": "p1", "user_id": "u1", "consumer_generation": null, "consumer_type": "INSTANCE"}
PUT /allocations/00000000-0000-4000-8000-0000000000c0 {"allocations": {"00000000-0000-4000-8000-000000000002": {"resources": {"VCPU": 1}}}, "project_id": "p1", "user_id": "u1", "consumer_generation": null, "consumer_type": "MIGRATION"}
@1.28 PUT /allocations/00000000-0000-4000-8000-0000000000c2 {"allocations": {"00000000-0000-4000-8000-000000000002": {"resources": {"VCPU": 1}}}, "project_id": "p2", "user_id": "u2", "consumer_generation": null}
`

// makeCloud sends the requests that make the cloud of the test.
func makeCloud(t *testing.T, url string) {
	t.Helper()
	for line := range strings.Lines(strings.TrimSpace(making)) {
		version := "1.39"
		if text, ok := strings.CutPrefix(line, "@"); ok {
			version, line, _ = strings.Cut(text, " ")
		}
		method, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		path, body, _ := strings.Cut(rest, " ")
		req, err := http.NewRequestWithContext(t.Context(), method, url+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("OpenStack-API-Version", "placement "+version)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("X-Auth-Token", "admin")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if res.StatusCode > 299 {
			t.Fatalf("%s = %s %s", line, res.Status, text)
		}
	}
}

// alone are the variables of a placement service without Keystone.
func alone(url string) []string {
	return []string{"OS_AUTH_TYPE=admin_token", "OS_ENDPOINT=" + url, "OS_TOKEN=admin"}
}

// readAlone reads a placement service without Keystone.
func readAlone(t *testing.T, url string, parts cloud.Parts) (*cloud.Cloud, error) {
	t.Helper()
	client, err := cloudapi.Connect(t.Context(), cloudapi.Options{Environ: alone(url), Wait: atOnce})
	if err != nil {
		t.Fatal(err)
	}
	return client.Read(t.Context(), parts, nil)
}

// The records of a cloud are the same from the API, from the database, and from the file that they
// were written to.
func TestSourcesAreEqual(t *testing.T) {
	t.Run("SQLite", func(t *testing.T) {
		testSourcesAreEqual(t, sqlstore.Options{Path: filepath.Join(t.TempDir(), "placement.db")})
	})
	sqltest.OnServers(t, func(t *testing.T, url string) {
		testSourcesAreEqual(t, sqlstore.Options{Server: sqltest.Server(t, url)})
	})
}

func testSourcesAreEqual(t *testing.T, database sqlstore.Options) {
	store := sqltest.Open(t, database)
	api := httptest.NewServer(placementapitest.On(t, store, service.DefaultSettings()))
	defer api.Close()
	makeCloud(t, api.URL)
	for _, needed := range []cloud.Part{cloud.PlacementPart, cloud.PlacementPart | cloud.ConsumersPart} {
		consumers := needed&cloud.ConsumersPart != 0
		c, err := readAlone(t, api.URL, cloud.Parts{Need: needed})
		if err != nil {
			t.Fatal(err)
		}
		if n := len(c.Placement.Consumers); (c.Placement.Consumers != nil) != consumers || consumers && n != 3 {
			t.Errorf("%d consumers are read", n)
		}
		tables, err := dbtool.OpenTables(t.Context(), database, dbtool.Look)
		if err != nil {
			t.Fatal(err)
		}
		defer tables.Close()
		fromDatabase, err := tables.Placement(t.Context(), consumers, nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.Placement, fromDatabase); diff != "" {
			t.Errorf("records (-API +database):\n%s", diff)
		}
		var file bytes.Buffer
		if err := cloud.Write(&file, c); err != nil {
			t.Fatal(err)
		}
		again, err := cloud.Read(&file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c, again); diff != "" {
			t.Errorf("records (-API +file):\n%s", diff)
		}
		if consumers {
			text, _ := json.Marshal(c.Placement.Provider("00000000-0000-4000-8000-000000000002"))
			const provider = `{"uuid":"00000000-0000-4000-8000-000000000002","name":"cn1","generation":6,` +
				`"root_provider_uuid":"00000000-0000-4000-8000-000000000002",` +
				`"inventories":{"MEMORY_MB":{"total":1000,"reserved":10,"min_unit":10,"max_unit":2147483647,"step_size":10,` +
				`"allocation_ratio":1},` +
				`"VCPU":{"total":8,"reserved":0,"min_unit":1,"max_unit":2147483647,"step_size":1,"allocation_ratio":1.1}},` +
				`"usages":{"MEMORY_MB":100,"VCPU":4},"traits":["CUSTOM_GOLD","HW_CPU_X86_VMX"],` +
				`"aggregates":["00000000-0000-4000-8000-0000000000a1"]}`
			if diff := cmp.Diff(provider, string(text)); diff != "" {
				t.Errorf("cn1 (-want +got):\n%s", diff)
			}
		}
	}
}
