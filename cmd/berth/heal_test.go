package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berthcloud/berth/cmd/berth/internal/cli"
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/cloud/cloudtest"
	"github.com/berthcloud/berth/ops/heal"
)

// What services of berth up disagree on is healed, a plan that is applied late is refused, and
// nothing is done without --apply.
func TestHealOfUp(t *testing.T) {
	dir := t.TempDir()
	u := startUp(t, dir)
	defer u.stop()
	server, port, _ := u.guaranteed()
	named := map[string]string{"OS_CLIENT_CONFIG_FILE": filepath.Join(dir, "clouds.yaml"), "OS_CLOUD": "berth-admin"}
	plan := filepath.Join(dir, "plan.json")
	run := func(code int, stdout, stderr string, args ...string) {
		t.Helper()
		got, out, err := berthIn(t, "", named, args...)
		if got != code || !strings.Contains(out, stdout) || !strings.Contains(err, stderr) {
			t.Errorf("berth %s exits with %d, want %d, and prints:\n%s%s\nwant %q, %q", strings.Join(args, " "), got, code, out,
				err, stdout, stderr)
		}
	}
	healthy := func() {
		t.Helper()
		run(cli.ExitOK, "no findings", "", "audit")
		run(cli.ExitOK, "nothing to heal", "", "heal")
		run(int(heal.Nothing), "nothing to heal", "there is nothing to heal", "heal", "--only", "allocations",
			"--nova-exit-codes", "--apply", "--yes")
	}
	healthy()

	// The server loses its allocation.
	u.request("DELETE", u.url+"/allocations/"+server, nil, nil)
	run(int(heal.Nothing), "step 1: server-without-allocation", "nothing was changed: --apply sends 1 request\n", "heal",
		"--only", "allocations", "--nova-exit-codes", "--plan", plan)
	run(cli.ExitFindings, "step 1: server-without-allocation", "there is something to heal", "heal")
	run(cli.NovaUnexpected, "", "exists, and is not replaced", "heal", "--only", "allocations", "--nova-exit-codes",
		"--plan", plan)
	run(cli.NovaBadInput, "", "confirm with --yes", "heal", "--only", "allocations", "--nova-exit-codes", "--from-plan",
		plan, "--apply")
	run(cli.NovaBadInput, "", `there is no column "price"`, "heal", "--only", "allocations", "--nova-exit-codes",
		"--from-plan", plan, "--apply", "--yes", "-c", "price")
	run(cli.ExitUsage, "", `there is no column "price"`, "audit", "-c", "price")
	run(cli.NovaBadInput, "", `there is no provider with the name or UUID "nowhere"`, "heal", "--only", "allocations",
		"--nova-exit-codes", "--provider", port+"=nowhere")
	run(cli.NovaBadInput, "", `no port of a server with the name or UUID "price"`, "heal", "--only", "allocations",
		"--nova-exit-codes", "--provider", "price=devstack0")
	run(cli.ExitFindings, "step 1", "", "heal", "--provider", port+"=devstack0")
	run(cli.ExitFindings, "server-without-allocation", "", "audit")
	run(cli.ExitUsage, "", "is a plan of [allocations]; it is carried out without --only", "heal", "--only", "ports",
		"--from-plan", plan)
	run(int(heal.Healed), `"outcome": "done"`, "note: in the commands, PLACEMENT_URL="+u.url, "heal", "--only",
		"allocations", "--nova-exit-codes", "--from-plan", plan, "--apply", "--yes", "-f", "json")
	run(int(heal.NotAllocated), "outcome   changed meanwhile: the placement service answers 409",
		"not all was healed: 0 of 1 request done", "heal", "--only", "allocations", "--nova-exit-codes", "--from-plan", plan,
		"--apply", "--yes")
	healthy()

	// Its port loses the key, and then both are lost.
	forget := func() {
		u.request("PUT", u.network+"/ports/"+port,
			map[string]any{"port": map[string]any{"binding:profile": map[string]any{}}}, nil)
	}
	forget()
	run(int(heal.Healed), "If-Match: revision_number=", "NETWORK_URL="+u.network, "heal", "--only", "allocations",
		"--nova-exit-codes", "--code", "bound-without-key", "--port", port, "--apply", "--yes")
	healthy()
	forget()
	u.request("DELETE", u.url+"/allocations/"+server, nil, nil)
	run(cli.ExitOK, "outcome   done", "", "heal", "--apply", "--yes")
	healthy()

	// A consumer that does not exist has an allocation.
	var allocated struct{ Allocations map[string]any }
	u.request("GET", u.url+"/allocations/"+server, nil, &allocated)
	orphan := cloudtest.UUID("orphan")
	for provider := range allocated.Allocations {
		delete(allocated.Allocations[provider].(map[string]any), "generation")
	}
	body := map[string]any{
		"allocations": allocated.Allocations, "project_id": "p", "user_id": "u", "consumer_generation": nil,
		"consumer_type": "INSTANCE",
	}
	u.request("PUT", u.url+"/allocations/"+orphan, body, nil)
	run(int(heal.Nothing), "it is healed with --delete", "there is nothing to heal", "heal", "--only", "allocations",
		"--nova-exit-codes", "--apply", "--yes")
	run(int(heal.Healed), "outcome   done", "", "heal", "--only", "allocations", "--nova-exit-codes", "--apply", "--yes",
		"--delete")
	healthy()
}

// A command that ends with a code of nova-manage has it, whatever is in the plan.
func TestHealExitCodes(t *testing.T) {
	build := func(change func(b *cloudtest.Builder)) string {
		b := cloudtest.New()
		b.Host("cn1", "")
		b.Host("cn2", "")
		b.Server("server0", "cn1")
		b.Aggregate("fast", "cn1")
		change(b)
		return recordsFile(t, b.Done())
	}
	healthy := build(func(*cloudtest.Builder) {})
	lost := build(func(b *cloudtest.Builder) { b.Placement.Consumers = []cloud.Consumer{} })
	for name, tc := range map[string]struct {
		args           string
		code           int
		stdout, stderr string
	}{
		"Healthy": {
			"--only allocations --nova-exit-codes --from-file " + healthy, int(heal.Nothing), "nothing to heal\n",
			"there is nothing to heal",
		},
		"Lost": {
			"--only allocations --nova-exit-codes --from-file " + lost, int(heal.Nothing), "step 1: server-without-allocation\n",
			"nothing was changed: --apply sends 1 request\n",
		},
		"NoSuchServer": {
			"--only allocations --nova-exit-codes --server server9 --from-file " + lost, cli.NovaBadInput, "",
			`there is no server with the name or UUID "server9"`,
		},
		"NoSuchServerAll": {
			"--server server9 --from-file " + lost, cli.ExitUsage, "", `there is no server with the name or UUID "server9"`,
		},
		"DeletedServer": {
			"--only allocations --nova-exit-codes --server " + cloudtest.UUID("deleted") + " --from-file " + lost,
			int(heal.Nothing), "nothing to heal\n", "note: no record has the UUID",
		},
		"LostPart": {
			"--only allocations --from-file " + lost, cli.ExitFindings, "step 1: server-without-allocation\n",
			"there is something to heal: --apply sends 1 request\n",
		},
		"FormerName": {
			"allocations --from-file " + lost, cli.ExitFindings, "step 1: server-without-allocation\n",
			"note: berth heal allocations is berth heal --only allocations now\n",
		},
		"FormerAll": {
			"all --from-file " + lost, cli.ExitFindings, "step 1: server-without-allocation\n",
			"note: berth heal all is berth heal now\n",
		},
		"NovaOfTwo": {
			"--only allocations,aggregates --nova-exit-codes --from-file " + lost, cli.NovaBadInput, "",
			"--nova-exit-codes is for --only allocations, or for --only aggregates",
		},
		"NovaOfAll": {
			"--nova-exit-codes --from-file " + lost, cli.NovaBadInput, "", "nova-manage has a command for each of them",
		},
		"HealthyPart": {"--only allocations --from-file " + healthy, cli.ExitOK, "nothing to heal\n", ""},
		"LostAsAll": {
			"--from-file " + lost, cli.ExitFindings, "step 1: server-without-allocation\n",
			"there is something to heal: --apply sends 1 request\n",
		},
		"LostOtherwise": {"--only ports --from-file " + lost, cli.ExitOK, "nothing to heal\n", ""},
		"LostCode": {
			"--code server-without-allocation -f value -c outcome -c codes --from-file " + lost, cli.ExitFindings,
			"planned server-without-allocation\n", "",
		},
		"UnknownHost": {"--only allocations --nova-exit-codes --from-file " + build(func(b *cloudtest.Builder) {
			b.At("server0").Host = "cn9"
		}), int(heal.NoNode), "not healed: server-host-unknown\n", "cn9"},
		"NoPorts": {
			"--only allocations --nova-exit-codes --from-file " + build(func(b *cloudtest.Builder) { b.Network = nil }),
			int(heal.NoPorts), "", "the ports of servers could not be read",
		},
		"NoPortsAll": {
			"--from-file " + build(func(b *cloudtest.Builder) { b.Network = nil }), cli.ExitFailure, "",
			"the ports of servers could not be read",
		},
		"SkippedPorts": {"--only allocations --nova-exit-codes --skip-port-allocations --from-file " +
			build(func(b *cloudtest.Builder) { b.Network = nil }), int(heal.Nothing), "nothing to heal\n", ""},
		"NoServers": {
			"--only allocations --nova-exit-codes --from-file " + build(func(b *cloudtest.Builder) { b.Compute = nil }),
			cli.NovaUnexpected, "", "has no records of the compute service",
		},
		"NoFile": {
			"--only aggregates --nova-exit-codes --from-file " + healthy + ".none", cli.NovaUnexpected, "", "no such file",
		},
		"Aggregates": {
			"--only aggregates --nova-exit-codes --from-file " + healthy, cli.ExitOK, "nothing to heal\n", "",
		},
		"Members": {
			"--only aggregates --nova-exit-codes --from-file " +
				build(func(b *cloudtest.Builder) { b.Compute.Aggregates[0].Hosts = []string{"cn2"} }),
			cli.ExitOK, "step 2: aggregate-mirror-superfluous\n", "note: nothing was changed: --apply sends 2 requests\n",
		},
		"UnknownMember": {"--only aggregates --nova-exit-codes --from-file " + build(func(b *cloudtest.Builder) {
			b.Aggregate("slow", "cn9")
		}), int(heal.HostUnmapped), "not healed: aggregate-host-unknown\n", ""},
		"Busy": {"--only allocations --nova-exit-codes --from-file " +
			build(func(b *cloudtest.Builder) { b.At("server0").Task = "pausing" }), int(heal.Nothing), "skipped\n", ""},
		"BusyAll": {
			"--from-file " + build(func(b *cloudtest.Builder) { b.At("server0").Task = "pausing" }), cli.ExitOK, "skipped\n", "",
		},
		"OnlyWithForce": {
			"--only allocations --nova-exit-codes --from-file " + recordsFile(t, leaking()), int(heal.Nothing),
			"it is healed with --force, or when its code is named", "",
		},
		"OnlyWithForceAll": {
			"--from-file " + recordsFile(t, leaking()), cli.ExitFindings, "not healed: flavor-amount-superfluous\n",
			"not healed: 1 finding\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := berth(t, append([]string{"heal"}, strings.Fields(tc.args)...)...)
			if code != tc.code || !strings.Contains(stdout, tc.stdout) || !strings.Contains(stderr, tc.stderr) {
				t.Errorf("berth heal %s exits with %d, want %d, and prints:\n%s%s\nwant %q, %q", tc.args, code, tc.code, stdout,
					stderr, tc.stdout, tc.stderr)
			}
		})
	}
}

// The file of a plan is the plan that json prints, and the text of a plan has all requests.
func TestHealPlanFile(t *testing.T) {
	b := cloudtest.New()
	b.Host("cn1", "")
	b.Server("server0", "cn1")
	b.Placement.Consumers = []cloud.Consumer{}
	plan := filepath.Join(t.TempDir(), "plan.json")
	_, stdout, _ := berth(t, "heal", "--from-file", recordsFile(t, b.Done()), "--plan", plan, "-f", "json")
	var printed struct {
		Plan     heal.Plan
		Commands []string
	}
	if err := json.Unmarshal([]byte(stdout), &printed); err != nil || len(printed.Commands) != 1 ||
		!strings.HasPrefix(printed.Commands[0], "curl -X PUT") {
		t.Fatalf("%v: %s", err, stdout)
	}
	text, err := os.ReadFile(plan)
	if err != nil {
		t.Fatal(err)
	}
	read, err := heal.Read(strings.NewReader(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	if read.Steps[0].Request.Path != printed.Plan.Steps[0].Request.Path || len(read.Steps) != 1 {
		t.Errorf("the file has %+v, and %+v is printed", read.Steps, printed.Plan.Steps)
	}
	if code, stdout, stderr := berth(t, "heal", "--from-plan", plan); code != cli.ExitFindings ||
		!strings.Contains(stdout, "step 1: server-without-allocation") {
		t.Errorf("with the plan it exits with %d:\n%s%s", code, stdout, stderr)
	}
}
