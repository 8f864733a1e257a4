package main

import (
	"net"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/berthcloud/berth/cmd/berth/internal/cli"
	"github.com/berthcloud/berth/internal/racetest"
)

// A mistake is a command line that fails, and the code that it should fail with.
type mistake struct {
	name string
	args string // MALFORMED and the like are replaced by files and addresses
	code int
}

// mistakes are at least one for each command. serving has those of each service.
var (
	mistakes = []mistake{
		{"UnknownCommand", "sail", cli.ExitUsage},
		{"UnknownFlag", "--sail", cli.ExitUsage},
		{"UnknownShorthand", "-z", cli.ExitUsage},
		{"Group", "db sail", cli.ExitUsage},
		{"GroupPlacement", "placement sail", cli.ExitUsage},
		{"GroupNetwork", "network sail", cli.ExitUsage},
		{"GroupRecords", "records sail", cli.ExitUsage},
		{"GroupCompute", "compute sail", cli.ExitUsage},
		{"HelpUnknown", "help sail", cli.ExitUsage},
		{"HelpUnknownBelow", "help db sail", cli.ExitUsage},
		{"CompletionUnknown", "completion tcsh", cli.ExitUsage},
		{"CompletionBash", "completion bash x", cli.ExitUsage},
		{"CompletionFish", "completion fish x", cli.ExitUsage},
		{"CompletionPowershell", "completion powershell x", cli.ExitUsage},
		{"CompletionZsh", "completion zsh x", cli.ExitUsage},
		{"Version", "version x", cli.ExitUsage},
		{"VersionFormat", "version -f xml", cli.ExitUsage},
		{"ManMissing", "man", cli.ExitUsage},
		{"ManTwo", "man a b", cli.ExitUsage},
		{"ManDirectory", "man /dev/null/x", cli.ExitFailure},

		{"UpDriver", "up --driver pony", cli.ExitUsage},
		{"UpHosts", "up --hosts 0", cli.ExitUsage},
		{"UpHostsNetns", "up --driver netns --hosts 33", cli.ExitUsage},
		{"UpNUMAHosts", "up --numa-hosts 2", cli.ExitUsage},
		{"UpHostsNumber", "up --hosts many", cli.ExitUsage},
		{"UpData", "up --data /dev/null/x", cli.ExitUsage},
		{"UpAddress", "up --listen pony", cli.ExitUsage},
		{
			"UpPort", "up --listen TAKEN --network-listen FREE --identity-listen FREE --image-listen FREE --compute-listen FREE",
			cli.ExitListen,
		},
		{
			"UpNetworkPort",
			"up --network-listen TAKEN --listen FREE --identity-listen FREE --image-listen FREE --compute-listen FREE",
			cli.ExitListen,
		},
		{
			"UpRemote",
			"up --listen 0.0.0.0:0 --network-listen FREE --identity-listen FREE --image-listen FREE --compute-listen FREE",
			cli.ExitUsage,
		},
		{"UpSwitch", "up --reset=perhaps", cli.ExitUsage},

		{"CheckAuthNoSettings", "placement check-auth", cli.ExitUsage},
		{"CheckAuthUnreachable", "placement check-auth --config KEYSTONE", cli.ExitFindings},
		{"CheckAuthFormat", "placement check-auth --config KEYSTONE -f xml", cli.ExitUsage},

		{"AgentNoDevices", "agent", cli.ExitUsage},
		{"AgentKind", "agent --kind pony", cli.ExitUsage},
		{"AgentCA", "agent --config AGENTCA", cli.ExitUsage},
		{"AgentKeyHosts", "agent key --config AGENT", cli.ExitUsage},
		{"AgentKeyName", "agent key --config AGENT a,b", cli.ExitUsage},
		{"AgentKeySecret", "agent key --config AGENT cn1", cli.ExitUsage},
		{"AgentCheckKind", "agent check --kind pony", cli.ExitUsage},
		{"AgentCheckFinds", "agent check --config AGENT", cli.ExitFindings},
		{"AgentCheckFormat", "agent check --config AGENT -f xml", cli.ExitUsage},

		{"AgentInventoryOfNothing", "agent inventory", cli.ExitUsage},
		{"AgentInventoryFile", "agent inventory --compute-config MALFORMED", cli.ExitUsage},
		{"ReshapeHost", "reshape --moves MALFORMED", cli.ExitUsage},
		{"ReshapeMoves", "reshape --host cn1", cli.ExitUsage},
		{"ReshapeFile", "reshape --host cn1 --moves MALFORMED", cli.ExitUsage},
		{"ReshapeNoFile", "reshape --host cn1 --moves /nowhere", cli.ExitUsage},
		{"ReshapeBoth", "reshape --host cn1 --moves MALFORMED --apply --dry-run", cli.ExitUsage},
		{"ReshapeYes", "reshape --host cn1 --moves MALFORMED --yes", cli.ExitUsage},

		{"AuditCode", "audit --code sail", cli.ExitUsage},
		{"AuditSources", "audit --from-file MALFORMED --config MALFORMED", cli.ExitUsage},
		{"AuditRecheckOfFile", "audit --from-file MALFORMED --recheck", cli.ExitUsage},
		{"AuditRecheckBefore", "audit --recheck=-1s", cli.ExitUsage},
		{"AuditRecords", "audit --from-file MALFORMED", cli.ExitFailure},
		{"UpgradeRelease", "upgrade-check --to antelope", cli.ExitUsage},
		{"UpgradeNoRelease", "upgrade-check", cli.ExitUsage},
		{"UpgradeSettings", "upgrade-check --to 2026.2 --from-file MALFORMED --nova-config /nowhere", cli.ExitUsage},
		{"UpgradeRecords", "upgrade-check --to 2026.2 --from-file MALFORMED", cli.ExitFailure},
		{"DoctorCheck", "doctor --check fever", cli.ExitUsage},
		{"DoctorSources", "doctor --from-file MALFORMED --config MALFORMED", cli.ExitUsage},
		{"DoctorRecords", "doctor --from-file MALFORMED", cli.ExitFailure},
		{"DoctorSettings", "doctor --from-file MALFORMED --settings /nowhere", cli.ExitFailure},
		{"OperationsOfAName", "compute operations --server web1", cli.ExitUsage},
		{"OperationsAge", "compute operations --min-age=-1m", cli.ExitUsage},
		{"ChangesOfAName", "network changes --port eth0", cli.ExitUsage},
		{"ChangesLimit", "network changes --limit 0", cli.ExitUsage},
		{"ConsoleAddress", "console --from-file x --listen 0.0.0.0:8790", cli.ExitUsage},
		{"ConsolePort", "console --from-file x --listen 8790", cli.ExitUsage},
		{"ConsoleInterval", "console --from-file x --interval 5ms", cli.ExitUsage},
		{"ConsoleRate", "console --from-file x --requests-per-second=-1", cli.ExitUsage},
		{"ConsoleSources", "console --from-file x --connection sqlite:///x", cli.ExitUsage},
		{"ExporterInterval", "exporter --interval 5ms", cli.ExitUsage},
		{"ExporterRate", "exporter --requests-per-second=-1", cli.ExitUsage},
		{"ExporterQuery", "exporter --query small", cli.ExitUsage},
		{"ExporterQueryTwice", "exporter --query a=resources=VCPU:1 --query a=resources=VCPU:2", cli.ExitUsage},
		{"ExporterQueryWrong", "exporter --query a=resources=VCPU", cli.ExitUsage},
		{"ExporterCompatible", "exporter --compatible pony", cli.ExitUsage},
		{"ExporterHosts", "exporter --slots-by-host --without-hosts", cli.ExitUsage},
		{"ExporterProjects", "exporter --projects=-1", cli.ExitUsage},
		{"ExporterPairDatabase", "exporter --connection sqlite:///x --flavor-ports a=m1,net0", cli.ExitUsage},
		{"ExporterPairPortless", "exporter --flavor-ports a=m1", cli.ExitUsage},
		{"ExporterPairPort", "exporter --flavor-ports a=m1,net0/gold/direct/more", cli.ExitUsage},
		{"ExporterPairTwice", "exporter --flavor-ports a=m1,net0 --query a=resources=VCPU:1", cli.ExitUsage},
		{"ExporterKey", "exporter --tls-cert MALFORMED", cli.ExitUsage},
		{"ExporterCertificate", "exporter --tls-cert MALFORMED --tls-key MALFORMED", cli.ExitUsage},
		{"ExporterClientCA", "exporter --tls-client-ca MALFORMED", cli.ExitUsage},
		{"ExporterNova", "exporter --connection sqlite:////dev/null --nova-config MALFORMED", cli.ExitUsage},
		{"ExporterAddress", "exporter --connection sqlite:////dev/null --listen TAKEN", cli.ExitListen},
		{"ExporterNoSource", "exporter --listen FREE", cli.ExitUsage},
		{"WatchSources", "watch --os-cloud a --config MALFORMED", cli.ExitUsage},
		{"WatchFile", "watch --from-file MALFORMED", cli.ExitUsage},
		{"WatchInterval", "watch --interval 5ms", cli.ExitUsage},
		{"WatchSince", "watch --since yesterday", cli.ExitUsage},
		{"WatchSinceAgo", "watch --since -5m", cli.ExitUsage},
		{"WatchConsumer", "watch --consumer web1", cli.ExitUsage},
		{"WatchClass", "watch --class vcpu", cli.ExitUsage},
		{"WatchNoTree", "watch --tree=", cli.ExitUsage},
		{"WatchFormat", "watch -f xml", cli.ExitUsage},
		{"WatchColumn", "watch -c price", cli.ExitUsage},
		{"HealCode", "heal --code sail", cli.ExitUsage},
		{"HealRecords", "heal --from-file MALFORMED", cli.ExitFailure},
		{"HealAFile", "heal --from-file MALFORMED --apply", cli.ExitUsage},
		{"HealNoPlan", "heal --from-plan MALFORMED", cli.ExitUsage},
		{"HealAPlanOfRecords", "heal --from-plan MALFORMED --config MALFORMED", cli.ExitUsage},
		{"HealYes", "heal --yes", cli.ExitUsage},
		{"HealProvider", "heal --provider port0", cli.ExitUsage},
		{"HealFlag", "heal --forse", cli.ExitUsage},
		{"HealPart", "heal --only disks", cli.ExitUsage},
		{"HealAllocationsCount", "heal --only allocations --nova-exit-codes --max-count -1", cli.NovaBadInput},
		{"HealAllocationsNoRecords", "heal --only allocations --nova-exit-codes --from-file MALFORMED", cli.NovaUnexpected},
		{"HealWord", "heal fast", cli.ExitUsage},
		{"HealPortsOtherCode", "heal --only ports --code orphaned-allocation", cli.ExitUsage},
		{"HealProvidersUnmended", "heal --only providers --code agent-not-synced", cli.ExitUsage},
		{"ExportRecords", "records export --from-file MALFORMED", cli.ExitFailure},
		{"ImportOfNothing", "records import", cli.ExitUsage},
		{"ImportRecords", "records import MALFORMED", cli.ExitFailure},
		{"TreeOfNothing", "records tree", cli.ExitUsage},
		{"CapacityOfNothing", "capacity headroom", cli.ExitUsage},
		{"CapacityOfARecord", "capacity drain cn1 --from-file MALFORMED", cli.ExitFailure},
		{"ExplainNothing", "explain", cli.ExitUsage},
		{"ExplainTwoWays", "explain resources=VCPU:1 --server web1", cli.ExitUsage},
		{"ExplainAQuery", "explain resources=VCPU --from-file MALFORMED", cli.ExitUsage},
		{"ExplainAHint", "explain --server web1 --hint color=x", cli.ExitUsage},
		{"ExplainImageOfAServer", "explain --server web1 --image debian", cli.ExitUsage},
		{"ExplainNoNovaConf", "explain --server web1 --nova-config MISSING", cli.ExitUsage},
		{"LeftWithAnImage", "capacity headroom --query resources=VCPU:1 --image debian --from-file MALFORMED", cli.ExitUsage},
		{"TopRecords", "records top --from-file MALFORMED", cli.ExitFailure},
		{"DiffOfNothing", "records diff", cli.ExitUsage},
		{"TraitsOfNothing", "records traits --aggregate a", cli.ExitUsage},
		{"TraitsNowhere", "records traits --add CUSTOM_A", cli.ExitUsage},
		{"TraitsName", "records traits --aggregate a --add custom_a", cli.ExitUsage},
		{"TraitsBoth", "records traits --aggregate a --add CUSTOM_A --remove CUSTOM_A", cli.ExitUsage},
		{"TraitsColumn", "records traits --aggregate a --add CUSTOM_A -c price", cli.ExitUsage},

		{"MigrateCount", "db online-data-migrations --max-count x", cli.ExitUsage},
		{"MigrateCountNova", "db online-data-migrations --nova-exit-codes --max-count x", cli.NovaBadInput},
		{"MigrateCountMissing", "db online-data-migrations --max-count", cli.ExitUsage},
		{"DumpFile", "db dump --connection MADE --output /nowhere/dump", cli.ExitFailure},
		{"RestoreFile", "db restore --connection NEW --input /nowhere", cli.ExitUsage},
		{"RestoreDamaged", "db restore --connection NEW --input MALFORMED", cli.ExitFailure},
		{"RestoreURL", "db restore --connection pony --input MALFORMED", cli.ExitUsage},
		{"CheckBroken", "db check --connection BROKEN", cli.ExitFindings},
		{"CopyNothing", "db copy", cli.ExitUsage},
		{"CopyURL", "db copy --from MADE --to pony", cli.ExitUsage},
		{"CopyDriver", "db copy --from oracle://u:s3cret@h/x --to NEW", cli.ExitUsage},
		{"CopyUnreachable", "db copy --from mysql+pymysql://u:s3cret@127.0.0.1:1/x --to NEW", cli.ExitDatabase},
		{"CopyFull", "db copy --from MADE --to BROKEN", cli.ExitFailure},
		{"ConnectionFile", "db version --connection @/nowhere", cli.ExitUsage},
		{"ConnectionDirectory", "db version --connection @DIRECTORY", cli.ExitUsage},
		{"ConnectionWithoutFlag", "db version mysql://u:s3cret@h/x", cli.ExitUsage},
	}
	// these are tested with each command that reads settings
	settingsMistakes = []mistake{
		{"NoFile", "--config /nowhere.conf", cli.ExitUsage},
		{"NoDirectory", "--config-dir /nowhere", cli.ExitUsage},
		{"Unreadable", "--config DIRECTORY", cli.ExitUsage},
		{"Malformed", "--config MALFORMED", cli.ExitUsage},
		{"MalformedTwice", "--config MALFORMED --config MALFORMED", cli.ExitUsage},
		{"MissingValue", "--config", cli.ExitUsage},
		{"UnknownFlag", "--sail", cli.ExitUsage},
		{"Argument", "sail", cli.ExitUsage},
	}
	servingMistakes = []mistake{
		{"Address", "--listen pony", cli.ExitUsage},
		{"PortInUse", "--config MEMORY --listen TAKEN", cli.ExitListen},
		{"Remote", "--config MEMORY --listen 0.0.0.0:0", cli.ExitUsage},
		{"Unreachable", "--config UNREACHABLE --listen FREE", cli.ExitDatabase},
		{"Driver", "--config DRIVER --listen FREE", cli.ExitUsage},
		{"NoDirectoryForFile", "--config NOWHERE --listen FREE", cli.ExitDatabase},
		{"LogFile", "--config LOGFILE --listen FREE", cli.ExitUsage},
		{"Policy", "--config POLICY --listen FREE", cli.ExitUsage},
		{"Switch", "--allow-remote-noauth=perhaps", cli.ExitUsage},
	}
	databaseMistakes = []mistake{
		{"URL", "--connection pony", cli.ExitUsage},
		{"Port", "--connection mysql+pymysql://u:s3cret@127.0.0.1:port/x", cli.ExitUsage},
		{"Driver", "--connection oracle://u:s3cret@h/x", cli.ExitUsage},
		{"Unreachable", "--connection mysql+pymysql://u:s3cret@127.0.0.1:1/x", cli.ExitDatabase},
		{"PostgreSQL", "--connection postgresql://u:s3cret@127.0.0.1:1/x", cli.ExitDatabase},
		{"NoDirectory", "--connection sqlite:////nowhere/at/all.db", cli.ExitDatabase},
	}
)

// allMistakes returns those of each command by its name.
func allMistakes() (all []mistake) {
	all = append(all, mistakes...)
	with := func(command string, more ...mistake) {
		for _, m := range more {
			all = append(all, mistake{strings.ReplaceAll(command, " ", "-") + "/" + m.name, command + " " + m.args, m.code})
		}
	}
	for _, service := range []string{"placement", "network", "compute"} {
		with(service+" serve", settingsMistakes...)
		for _, m := range servingMistakes {
			m.args = regexp.MustCompile(`--config ([A-Z]+)`).ReplaceAllString(m.args, "--config "+strings.ToUpper(service)+"-$1")
			with(service+" serve", m)
		}
	}
	for _, command := range []string{"placement check-auth", "agent", "agent check", "audit", "doctor", "watch"} {
		with(command, settingsMistakes...)
	}
	for _, command := range []string{"version", "sync", "check", "online-data-migrations", "dump", "uninstall"} {
		with("db "+command, settingsMistakes...)
		with("db "+command, databaseMistakes...)
	}
	return all
}

// mistakenFiles writes the files of the mistakes, and returns the replacements of their names.
func mistakenFiles(t *testing.T) *strings.Replacer {
	t.Helper()
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		rewrite(t, path, text)
		return path
	}
	taken, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { taken.Close() })
	names := []string{
		"MALFORMED", file("malformed.conf", "s3cret\n[[[\n"), "DIRECTORY", dir, "TAKEN", taken.Addr().String(), "FREE",
		"127.0.0.1:0",
		"MADE", restored(t, newDatabaseFile(t), nil), "BROKEN", restored(t, newDatabaseFile(t), brokenRows()),
		"NEW", newDatabaseFile(t),
		"KEYSTONE", file("keystone.conf", "[keystone_authtoken]\nauth_url = http://127.0.0.1:1/v3\nauth_type = password\n"+
			"username = placement\npassword = s3cret\n"+
			"project_name = service\nuser_domain_name = Default\nproject_domain_name = Default\n"),
		"AGENTCA", agentFile(t, "[berth]", "network_urls = https://127.0.0.1:1", "network_ca_file = /nonexistent",
			"network_token = s3cret"), "AGENT", agentFile(t),
	}
	for service, text := range map[string][2]string{
		"placement": {"[api]\nauth_strategy = noauth2\n", "[placement_database]\n"},
		"network":   {"[DEFAULT]\nauth_strategy = noauth\n", "[database]\n"},
		"compute":   {"[api]\nauth_strategy = noauth2\n", "[database]\n"},
	} {
		for kind, more := range map[string]string{
			"MEMORY":      "connection = sqlite://\n",
			"UNREACHABLE": "connection = mysql+pymysql://u:s3cret@127.0.0.1:1/x\nmax_retries = 0\n",
			"DRIVER":      "connection = oracle://u:s3cret@127.0.0.1:1/x\n",
			"NOWHERE":     "connection = sqlite:////nowhere/at/all.db\n",
			"LOGFILE":     "connection = sqlite://\n[DEFAULT]\nlog_file = /dev/null/berth.log\n",
			"POLICY": "connection = sqlite://\n[oslo_policy]\npolicy_file = " + file("wrong-policy.yaml", "\"x\": [\n") +
				"\n",
		} {
			names = append(names, strings.ToUpper(service)+"-"+kind, file(service+kind+".conf", text[0]+text[1]+more))
		}
	}
	return strings.NewReplacer(names...)
}

// Whatever the mistake, the exit code is the documented one, the last line has the reason after the
// program's name, no line is repeated, and no secret is printed.
func TestMistakes(t *testing.T) {
	racetest.Skip(t)
	files, logTime := mistakenFiles(t), regexp.MustCompile(`(?m)^\d{4}-\d\d-\d\d \S+ `)
	made := map[string]bool{}
	for _, m := range allMistakes() {
		for _, c := range leaves(t) {
			if path := strings.TrimPrefix(c.CommandPath(), "berth "); m.args == path || strings.HasPrefix(m.args, path+" ") {
				made[path] = true
			}
		}
		t.Run(m.name, func(t *testing.T) {
			args := strings.Fields(m.args)
			for i, arg := range args {
				args[i] = files.Replace(arg)
			}
			code, stdout, stderr := berth(t, args...)
			if code != m.code {
				t.Errorf("berth %q exits with %d, want %d:\n%s", args, code, m.code, stderr)
			}
			if strings.Contains(stdout+stderr, "s3cret") {
				t.Errorf("a secret shows:\n%s%s", stdout, stderr)
			}
			lines := strings.Split(strings.TrimSuffix(logTime.ReplaceAllString(stderr, ""), "\n"), "\n")
			if last := lines[len(lines)-1]; !strings.HasPrefix(last, "berth: ") {
				t.Errorf("the last line is %q, want it to begin with berth:", last)
			}
			for i, line := range lines {
				text := strings.TrimPrefix(line, "berth: ")
				for j, other := range lines {
					if i != j && text != line && strings.Contains(other, text) {
						t.Errorf("two lines say the same:\n%s\n%s", other, line)
					}
				}
				if i > 0 && lines[i-1] == line {
					t.Errorf("a line comes twice: %s", line)
				}
			}
		})
	}
	for _, c := range leaves(t) {
		if path := strings.TrimPrefix(c.CommandPath(), "berth "); !made[path] && path != "help" {
			t.Errorf("no mistake is made with berth %s", path)
		}
	}
}
