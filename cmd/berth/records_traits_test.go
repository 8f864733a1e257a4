package main

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/cmd/berth/internal/cli"
)

// The aggregate of these tests, and the path of its first provider.
const (
	traitsAggregate = "22222222-0000-4000-8000-000000000001"
	traitsFirst     = "/resource_providers/00000000-0000-4000-8000-000000000001"
)

// traitsMembers are the requests that make three providers, of which two are in the aggregate.
func traitsMembers() (requests []string) {
	for _, n := range []string{"1", "2", "3"} {
		uuid := "00000000-0000-4000-8000-00000000000" + n
		requests = append(requests, `POST /resource_providers {"uuid": "`+uuid+`", "name": "cn`+n+`"}`)
		if n != "3" {
			requests = append(requests, "PUT /resource_providers/"+uuid+
				`/aggregates {"resource_provider_generation": 0, "aggregates": ["`+traitsAggregate+`"]}`)
		}
	}
	return append(requests, "PUT /traits/CUSTOM_OLD",
		"PUT "+traitsFirst+`/traits {"resource_provider_generation": 1, "traits": ["CUSTOM_OLD", "HW_CPU_X86_VMX"]}`,
		`PUT /resource_providers/00000000-0000-4000-8000-000000000003/traits {"resource_provider_generation": 0, `+
			`"traits": ["CUSTOM_OLD"]}`)
}

// traitsOf reads the traits of the three providers.
func traitsOf(t *testing.T, env map[string]string) (all []string) {
	t.Helper()
	for _, n := range []string{"1", "2", "3"} {
		var got struct{ Traits []string }
		text := sendTo(t, env, "GET", "/resource_providers/00000000-0000-4000-8000-00000000000"+n+"/traits", "")
		if err := json.Unmarshal([]byte(text), &got); err != nil {
			t.Fatal(err)
		}
		slices.Sort(got.Traits)
		all = append(all, strings.Join(got.Traits, " "))
	}
	return all
}

// sendTo sends a request to a placement of servedPlacement, which has to succeed.
func sendTo(t *testing.T, env map[string]string, method, path, body string) string {
	t.Helper()
	res, text := call(t, &http.Transport{}, method, env["OS_ENDPOINT"]+path, body)
	if res.StatusCode > 299 {
		t.Fatalf("%s %s = %d %s", method, path, res.StatusCode, text)
	}
	return text
}

// Traits are added to and removed from the members of an aggregate, first as a dry run, and all
// other traits stay.
func TestTraitsOfAnAggregate(t *testing.T) {
	env := servedPlacement(t, nil, traitsMembers()...)
	const change = "records traits --aggregate " + traitsAggregate +
		" --add CUSTOM_NEW,HW_CPU_X86_VMX --remove CUSTOM_OLD"
	before := []string{"CUSTOM_OLD HW_CPU_X86_VMX", "", "CUSTOM_OLD"}
	after := []string{"CUSTOM_NEW HW_CPU_X86_VMX", "CUSTOM_NEW HW_CPU_X86_VMX", "CUSTOM_OLD"}
	for _, tc := range []struct {
		args         string
		code         int
		stdout, says string
		traits       []string
	}{
		{
			change + " -f value -c provider -c add -c remove -c result", cli.ExitFindings,
			"cn1 CUSTOM_NEW CUSTOM_OLD to change\ncn2 CUSTOM_NEW, HW_CPU_X86_VMX  to change\n",
			"nothing was changed: --apply changes these", before,
		},
		{change + " --apply", cli.ExitUsage, "", "confirm with --yes", before},
		{
			change + " --apply --yes -f value -c provider -c result", cli.ExitOK, "cn1 changed\ncn2 changed\n",
			"to create: CUSTOM_NEW\nto change: cn1 +CUSTOM_NEW -CUSTOM_OLD\n" +
				"to change: cn2 +CUSTOM_NEW +HW_CPU_X86_VMX\n", after,
		},
		{change + " --apply -f value -c provider -c result", cli.ExitOK, "cn1 unchanged\ncn2 unchanged\n", "", after},
		{
			"records traits --aggregate 22222222-0000-4000-8000-00000000000F --add CUSTOM_A", cli.ExitFailure, "",
			"placement has no provider in the aggregate", after,
		},
		{
			"records traits --aggregate " + traitsAggregate + " --add HW_UNKNOWN", cli.ExitFailure, "",
			"placement does not know the trait HW_UNKNOWN", after,
		},
		{"records traits --aggregate ssd --add CUSTOM_A", cli.ExitFailure, "", "compute", after},
	} {
		code, stdout, stderr := berthIn(t, "", env, strings.Fields(tc.args)...)
		if diff := cmp.Diff(tc.stdout, stdout); diff != "" || code != tc.code || !strings.Contains(stderr, tc.says) {
			t.Errorf("berth %s exits with %d, want %d; standard error:\n%s\nstandard output (-want +got):\n%s",
				tc.args, code, tc.code, stderr, diff)
		}
		if diff := cmp.Diff(tc.traits, traitsOf(t, env)); diff != "" {
			t.Errorf("after berth %s (-want +got):\n%s", tc.args, diff)
		}
	}
}

// Somebody else changes a provider between the reading and the writing: what both have changed is
// there.
func TestTraitsThatOthersChange(t *testing.T) {
	var env map[string]string
	var writes atomic.Int64
	env = servedPlacement(t, func() {
		if writes.Add(1) == 1 { // the first write is the command's, about cn1
			sendTo(t, env, "PUT", traitsFirst+"/traits",
				`{"resource_provider_generation": 2, "traits": ["CUSTOM_OLD", "HW_CPU_X86_AVX"]}`)
		}
	}, traitsMembers()...)
	code, stdout, stderr := berthIn(t, "", env, "records", "traits", "--aggregate", traitsAggregate,
		"--remove", "CUSTOM_OLD", "--add", "HW_CPU_X86_VMX", "--apply", "--yes", "-f", "json")
	var got struct {
		Aggregate string
		Applied   bool
		Providers []struct {
			Name, Result string
			Generation   int
			Add, Remove  []string
		}
	}
	if err := json.Unmarshal([]byte(stdout), &got); err != nil || code != cli.ExitOK {
		t.Fatalf("it exits with %d: %v in %s%s", code, err, stdout, stderr)
	}
	if first := got.Providers[0]; !got.Applied || got.Aggregate != traitsAggregate || first.Result != "changed" ||
		first.Generation != 4 || len(first.Add) != 1 || len(first.Remove) != 1 {
		t.Errorf("it prints %+v", got)
	}
	want := []string{"HW_CPU_X86_AVX HW_CPU_X86_VMX", "HW_CPU_X86_VMX", "CUSTOM_OLD"}
	if diff := cmp.Diff(want, traitsOf(t, env)); diff != "" {
		t.Errorf("traits (-want +got):\n%s", diff)
	}
}

// A provider that others change all the time is given up and named, and the others are changed.
func TestTraitsOfARestlessProvider(t *testing.T) {
	var env map[string]string
	var writes atomic.Int64
	bodies := []string{}
	for _, generation := range []string{"2", "3", "4", "5", "6"} {
		bodies = append(bodies, `{"resource_provider_generation": `+generation+`, "inventories": {}}`)
	}
	env = servedPlacement(t, func() {
		// Each write of the command about cn1 comes after one of somebody else, which is counted
		// too.
		if n := int(writes.Add(1)); n%2 == 1 && n/2 < len(bodies) {
			sendTo(t, env, "PUT", traitsFirst+"/inventories", bodies[n/2])
		}
	}, traitsMembers()...)
	code, stdout, stderr := berthIn(t, "", env, "records", "traits", "--aggregate", traitsAggregate,
		"--add", "HW_CPU_X86_SGX", "--apply", "--yes", "-f", "value", "-c", "provider", "-c", "result")
	const says = "1 provider could not be changed: the same command continues"
	if code != cli.ExitFailure || !strings.Contains(stderr, says) ||
		!strings.HasPrefix(stdout, "cn1 failed: PUT /resource_providers/") || !strings.HasSuffix(stdout, "\ncn2 changed\n") {
		t.Errorf("it exits with %d, and prints\n%s%s", code, stdout, stderr)
	}
}
