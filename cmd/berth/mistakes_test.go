package main

import (
	"net"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
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
		{"UnknownCommand", "sail", exitUsage},
		{"UnknownFlag", "--sail", exitUsage},
		{"UnknownShorthand", "-z", exitUsage},
		{"Group", "db sail", exitUsage},
		{"GroupPlacement", "placement sail", exitUsage},
		{"GroupNetwork", "network sail", exitUsage},
		{"GroupRecords", "records sail", exitUsage},
		{"GroupCompute", "compute sail", exitUsage},
		{"HelpUnknown", "help sail", exitUsage},
		{"HelpUnknownBelow", "help db sail", exitUsage},
		{"CompletionUnknown", "completion tcsh", exitUsage},
		{"CompletionBash", "completion bash x", exitUsage},
		{"CompletionFish", "completion fish x", exitUsage},
		{"CompletionPowershell", "completion powershell x", exitUsage},
		{"CompletionZsh", "completion zsh x", exitUsage},
		{"Version", "version x", exitUsage},
		{"VersionFormat", "version -f xml", exitUsage},
		{"ManMissing", "man", exitUsage},
		{"ManTwo", "man a b", exitUsage},
		{"ManDirectory", "man /dev/null/x", exitFailure},

		{"UpDriver", "up --driver pony", exitUsage},
		{"UpHosts", "up --hosts 0", exitUsage},
		{"UpHostsNetns", "up --driver netns --hosts 33", exitUsage},
		{"UpHostsNumber", "up --hosts many", exitUsage},
		{"UpData", "up --data /dev/null/x", exitUsage},
		{"UpAddress", "up --listen pony", exitUsage},
		{"UpPort", "up --listen TAKEN --network-listen FREE --identity-listen FREE --image-listen FREE --compute-listen FREE", exitListen},
		{"UpNetworkPort", "up --network-listen TAKEN --listen FREE --identity-listen FREE --image-listen FREE --compute-listen FREE", exitListen},
		{"UpRemote", "up --listen 0.0.0.0:0 --network-listen FREE --identity-listen FREE --image-listen FREE --compute-listen FREE", exitUsage},
		{"UpSwitch", "up --reset=perhaps", exitUsage},

		{"CheckAuthNoSettings", "placement check-auth", exitUsage},
		{"CheckAuthUnreachable", "placement check-auth --config KEYSTONE", exitFound},
		{"CheckAuthFormat", "placement check-auth --config KEYSTONE -f xml", exitUsage},

		{"AgentNoDevices", "agent", exitUsage},
		{"AgentKind", "agent --kind pony", exitUsage},
		{"AgentCA", "agent --config AGENTCA", exitUsage},
		{"AgentKeyHosts", "agent key --config AGENT", exitUsage},
		{"AgentKeyName", "agent key --config AGENT a,b", exitUsage},
		{"AgentKeySecret", "agent key --config AGENT cn1", exitUsage},
		{"AgentCheckKind", "agent check --kind pony", exitUsage},
		{"AgentCheckFinds", "agent check --config AGENT", exitFound},
		{"AgentCheckFormat", "agent check --config AGENT -f xml", exitUsage},

		{"AuditCode", "audit --code sail", exitUsage},
		{"AuditSources", "audit --from-file MALFORMED --config MALFORMED", exitUsage},
		{"AuditRecheckOfFile", "audit --from-file MALFORMED --recheck", exitUsage},
		{"AuditRecheckBefore", "audit --recheck=-1s", exitUsage},
		{"AuditRecords", "audit --from-file MALFORMED", exitFailure},
		{"DoctorCheck", "doctor --check fever", exitUsage},
		{"DoctorSources", "doctor --from-file MALFORMED --config MALFORMED", exitUsage},
		{"DoctorRecords", "doctor --from-file MALFORMED", exitFailure},
		{"DoctorSettings", "doctor --from-file MALFORMED --settings /nowhere", exitFailure},
		{"WatchSources", "watch --os-cloud a --config MALFORMED", exitUsage},
		{"WatchFile", "watch --from-file MALFORMED", exitUsage},
		{"WatchInterval", "watch --interval 5ms", exitUsage},
		{"WatchSince", "watch --since yesterday", exitUsage},
		{"WatchSinceAgo", "watch --since -5m", exitUsage},
		{"WatchConsumer", "watch --consumer web1", exitUsage},
		{"WatchClass", "watch --class vcpu", exitUsage},
		{"WatchNoTree", "watch --tree=", exitUsage},
		{"WatchFormat", "watch -f csv", exitUsage},
		{"HealCode", "heal --code sail", exitUsage},
		{"HealRecords", "heal --from-file MALFORMED", exitFailure},
		{"HealAFile", "heal --from-file MALFORMED --apply", exitUsage},
		{"HealNoPlan", "heal --from-plan MALFORMED", exitUsage},
		{"HealAPlanOfRecords", "heal --from-plan MALFORMED --config MALFORMED", exitUsage},
		{"HealYes", "heal --yes", exitUsage},
		{"HealProvider", "heal --provider port0", exitUsage},
		{"HealFlag", "heal --forse", exitUsage},
		{"HealPart", "heal --only disks", exitUsage},
		{"HealAllocationsCount", "heal --only allocations --nova-exit-codes --max-count -1", novaBadInput},
		{"HealAllocationsNoRecords", "heal --only allocations --nova-exit-codes --from-file MALFORMED", novaUnexpected},
		{"HealWord", "heal fast", exitUsage},
		{"HealPortsOtherCode", "heal --only ports --code orphaned-allocation", exitUsage},
		{"HealProvidersUnmended", "heal --only providers --code agent-not-synced", exitUsage},
		{"ExportRecords", "records export --from-file MALFORMED", exitFailure},
		{"ImportOfNothing", "records import", exitUsage},
		{"ImportRecords", "records import MALFORMED", exitFailure},
		{"TreeOfNothing", "records tree", exitUsage},
		{"CapacityOfNothing", "capacity headroom", exitUsage},
		{"CapacityOfARecord", "capacity drain cn1 --from-file MALFORMED", exitFailure},
		{"ExplainNothing", "explain", exitUsage},
		{"ExplainTwoWays", "explain resources=VCPU:1 --server web1", exitUsage},
		{"ExplainAQuery", "explain resources=VCPU --from-file MALFORMED", exitUsage},
		{"ExplainAHint", "explain --server web1 --hint color=x", exitUsage},
		{"ExplainImageOfAServer", "explain --server web1 --image debian", exitUsage},
		{"ExplainNoNovaConf", "explain --server web1 --nova-config MISSING", exitUsage},
		{"LeftWithAnImage", "capacity headroom --query resources=VCPU:1 --image debian --from-file MALFORMED", exitUsage},
		{"TopRecords", "records top --from-file MALFORMED", exitFailure},
		{"DiffOfNothing", "records diff", exitUsage},

		{"MigrateCount", "db online-data-migrations --max-count x", exitUsage},
		{"MigrateCountNova", "db online-data-migrations --nova-exit-codes --max-count x", novaBadInput},
		{"MigrateCountMissing", "db online-data-migrations --max-count", exitUsage},
		{"DumpFile", "db dump --connection MADE --output /nowhere/dump", exitFailure},
		{"RestoreFile", "db restore --connection NEW --input /nowhere", exitUsage},
		{"RestoreDamaged", "db restore --connection NEW --input MALFORMED", exitFailure},
		{"RestoreURL", "db restore --connection pony --input MALFORMED", exitUsage},
		{"CheckBroken", "db check --connection BROKEN", exitFound},
		{"CopyNothing", "db copy", exitUsage},
		{"CopyURL", "db copy --from MADE --to pony", exitUsage},
		{"CopyDriver", "db copy --from oracle://u:s3cret@h/x --to NEW", exitUsage},
		{"CopyUnreachable", "db copy --from mysql+pymysql://u:s3cret@127.0.0.1:1/x --to NEW", exitDatabase},
		{"CopyFull", "db copy --from MADE --to BROKEN", exitFailure},
		{"ConnectionFile", "db version --connection @/nowhere", exitUsage},
		{"ConnectionDirectory", "db version --connection @DIRECTORY", exitUsage},
		{"ConnectionWithoutFlag", "db version mysql://u:s3cret@h/x", exitUsage},
	}
	// these are tested with each command that reads settings
	settingsMistakes = []mistake{
		{"NoFile", "--config /nowhere.conf", exitUsage},
		{"NoDirectory", "--config-dir /nowhere", exitUsage},
		{"Unreadable", "--config DIRECTORY", exitUsage},
		{"Malformed", "--config MALFORMED", exitUsage},
		{"MalformedTwice", "--config MALFORMED --config MALFORMED", exitUsage},
		{"MissingValue", "--config", exitUsage},
		{"UnknownFlag", "--sail", exitUsage},
		{"Argument", "sail", exitUsage},
	}
	servingMistakes = []mistake{
		{"Address", "--listen pony", exitUsage},
		{"PortInUse", "--config MEMORY --listen TAKEN", exitListen},
		{"Remote", "--config MEMORY --listen 0.0.0.0:0", exitUsage},
		{"Unreachable", "--config UNREACHABLE --listen FREE", exitDatabase},
		{"Driver", "--config DRIVER --listen FREE", exitUsage},
		{"NoDirectoryForFile", "--config NOWHERE --listen FREE", exitDatabase},
		{"LogFile", "--config LOGFILE --listen FREE", exitUsage},
		{"Policy", "--config POLICY --listen FREE", exitUsage},
		{"Switch", "--allow-remote-noauth=perhaps", exitUsage},
	}
	databaseMistakes = []mistake{
		{"URL", "--connection pony", exitUsage},
		{"Port", "--connection mysql+pymysql://u:s3cret@127.0.0.1:port/x", exitUsage},
		{"Driver", "--connection oracle://u:s3cret@h/x", exitUsage},
		{"Unreachable", "--connection mysql+pymysql://u:s3cret@127.0.0.1:1/x", exitDatabase},
		{"PostgreSQL", "--connection postgresql://u:s3cret@127.0.0.1:1/x", exitDatabase},
		{"NoDirectory", "--connection sqlite:////nowhere/at/all.db", exitDatabase},
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
		"MALFORMED", file("malformed.conf", "s3cret\n[[[\n"), "DIRECTORY", dir, "TAKEN", taken.Addr().String(), "FREE", "127.0.0.1:0",
		"MADE", restored(t, newDatabaseFile(t), nil), "BROKEN", restored(t, newDatabaseFile(t), brokenRows()), "NEW", newDatabaseFile(t),
		"KEYSTONE", file("keystone.conf", "[keystone_authtoken]\nauth_url = http://127.0.0.1:1/v3\nauth_type = password\nusername = placement\npassword = s3cret\n"+
			"project_name = service\nuser_domain_name = Default\nproject_domain_name = Default\n"),
		"AGENTCA", agentFile(t, "[berth]", "network_urls = https://127.0.0.1:1", "network_ca_file = /nonexistent", "network_token = s3cret"), "AGENT", agentFile(t),
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
			"POLICY":      "connection = sqlite://\n[oslo_policy]\npolicy_file = " + file("wrong-policy.yaml", "\"x\": [\n") + "\n",
		} {
			names = append(names, strings.ToUpper(service)+"-"+kind, file(service+kind+".conf", text[0]+text[1]+more))
		}
	}
	return strings.NewReplacer(names...)
}

// Whatever the mistake, the exit code is the documented one, the last line has the reason after the
// program's name, no line is repeated, and no secret is printed.
func TestMistakes(t *testing.T) {
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
