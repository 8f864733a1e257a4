package documents

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berthcloud/berth/internal/server"
	"github.com/berthcloud/berth/internal/upstreamtest"
)

// ran are the commands of blocks which a test runs, or checks against the program that they call.
var ran = map[string]string{
	"berth":        "TestCommands checks the command and its options with it; TestMigrationPage and TestBackups run some",
	"bin/berth":    "as berth",
	"curl":         "TestCurl",
	"grep":         "behind curl",
	"jq":           "TestFilters compiles its program",
	"make":         "TestTargets",
	"openstack":    "TestOpenStackCommands",
	"promtool":     "TestPromtool",
	"mariadb-dump": "TestBackups", "mariadb": "TestBackups", "pg_dump": "TestBackups", "pg_restore": "TestBackups",
	"sqlite3": "TestBackups",
	"bash":    "TestMigrationPage runs the script", "zstd": "TestBackups", "cmp": "TestBackups",
}

// notRun are the commands of blocks that are read by bash and not run, and why.
var notRun = map[string]string{
	"apt-get": "installs packages; conformance/packaging does so in a directory", "apt-mark": "changes packages",
	"systemctl":        "wants a systemd that runs; conformance/packaging holds the units to it",
	"systemd-sysusers": "makes users",
	"runuser":          "wants the user berth", "userdel": "removes a user", "editor": "is for people",
	"install": "gives files to the user berth", "rm": "removes what others have",
	"mkdir": "TestMigrationPage makes the directory", "cd": "as mkdir",
	"echo": "writes secrets, or talks to HAProxy", "cat": "TestMigrationPage has the files",
	"socat": "talks to a HAProxy that runs", "cut": "behind socat",
	"podman": "wants images", "ip": "needs root and namespaces; conformance/namespaces runs servers in them",
	"ovs-vsctl": "changes the host's switch",
}

var (
	quoted     = regexp.MustCompile(`'[^']*'|"[^"]*"`)
	heredoc    = regexp.MustCompile(`(?s)<<'EOF'\n.*?\nEOF`)
	assignment = regexp.MustCompile(`^\w+=\S*$`)
	separators = regexp.MustCompile(`\|\|?|&&|;|\$\(`)
)

// commandsOf returns the first word of each command of a line.
func commandsOf(line string) (words []string) {
	line, _, _ = strings.Cut(quoted.ReplaceAllString(line, "''"), " #")
	for _, part := range separators.Split(line, -1) {
		fields := strings.Fields(part)
		for len(fields) > 0 && assignment.MatchString(fields[0]) {
			fields = fields[1:]
		}
		if len(fields) > 0 && !strings.HasPrefix(fields[0], "#") {
			words = append(words, strings.TrimSuffix(fields[0], ")"))
		}
	}
	return words
}

// lines returns the lines of shell blocks, those that a backslash continues joined, without
// comments and the texts of files.
func (b block) lines() (all []string) {
	text := strings.ReplaceAll(heredoc.ReplaceAllString(b.text, ""), "\\\n", " ")
	for line := range strings.SplitSeq(text, "\n") {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			all = append(all, line)
		}
	}
	return all
}

// shellLines returns the lines of all documents that begin with a command.
func shellLines(t *testing.T, command string) (all []string) {
	t.Helper()
	for _, b := range blocks(t) {
		if b.kind != shellKind || b.isShown() {
			continue
		}
		for _, line := range b.lines() {
			if words := commandsOf(line); words[0] == command {
				all = append(all, line)
			}
		}
	}
	if len(all) == 0 {
		t.Fatalf("no block has the command %s", command)
	}
	return all
}

// TestShellBlocks parses each block of commands with bash, and requires that a test runs every
// command or that it is listed with a reason why none does.
func TestShellBlocks(t *testing.T) {
	for _, b := range blocks(t) {
		if b.kind != shellKind || b.isShown() {
			continue
		}
		cmd := exec.Command("bash", "-n")
		cmd.Stdin = strings.NewReader(b.text + "\n")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: bash does not take\n%s\n%v\n%s", b.page, b.text, err, out)
		}
		for _, line := range b.lines() {
			for _, word := range commandsOf(line) {
				if ran[word] == "" && notRun[word] == "" {
					t.Errorf("%s: nothing runs %q of %q: test it, or list it with a reason", b.page, word, line)
				}
			}
		}
	}
}

// execute runs a line with bash in a directory and returns its output.
func execute(t *testing.T, dir, line string) {
	t.Helper()
	cmd := exec.Command("timeout", "60", "bash", "-o", "pipefail", "-c", line)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s", line, err, out)
	}
}

// TestCurl runs the documents' requests with curl.
func TestCurl(t *testing.T) {
	ops := filepath.Join(t.TempDir(), "ops.sock")
	s := server.StartBerth(t,
		server.Options{Config: map[string]map[string]string{"berth": {"metrics_listen": "unix:" + ops}}})
	api := regexp.MustCompile(`http://127\.0\.0\.1:8778\b`)
	operators := regexp.MustCompile(`http://127\.0\.0\.1:(9778|9697|9775)\b`)
	for _, line := range shellLines(t, "curl") {
		line = api.ReplaceAllString(line, s.URL())
		if operators.MatchString(line) {
			line = operators.ReplaceAllString(strings.Replace(line, "curl ", "curl --unix-socket "+ops+" ", 1),
				"http://operators")
		}
		line, _, _ = strings.Cut(line, "; grep")
		execute(t, t.TempDir(), strings.Replace(line, "curl ", "curl --fail ", 1))
	}
}

// TestFilters compiles the programs of jq.
func TestFilters(t *testing.T) {
	for _, line := range shellLines(t, "jq") {
		execute(t, t.TempDir(), regexp.MustCompile(`/var/log/\S+`).ReplaceAllString(line, "/dev/null"))
	}
}

// TestPromtool runs promtool as the documents do, from the root of the repository.
func TestPromtool(t *testing.T) {
	for _, line := range shellLines(t, "promtool") {
		execute(t, root, line)
	}
}

// TestTargets checks that make has the targets.
func TestTargets(t *testing.T) {
	for _, line := range shellLines(t, "make") {
		execute(t, root, strings.Replace(line, "make ", "make -n ", 1))
	}
}

// TestFormatNeedsGit runs "make format" where there is no git, which lists the files: it fails and
// says so, instead of accepting no files as well formatted.
func TestFormatNeedsGit(t *testing.T) {
	bin := t.TempDir()
	for _, name := range []string{"make", "sh"} {
		program, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(program, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	tree, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "make"), "-s", "-o",
		filepath.Join(tree, ".cache/tools/gofumpt"), "format")
	cmd.Dir, cmd.Env = tree, []string{"PATH=" + bin}
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "make format needs git") {
		t.Errorf("it ends with %v and says\n%s", err, out)
	}
}

// parse parses command lines with the openstack client's own parsers, and prints their errors. It
// looks up commands and options, and sends no requests.
const parse = `
import contextlib, io, json, shlex, sys
from cliff import commandmanager
from openstackclient import shell
app = shell.OpenStackShell()
manager = commandmanager.CommandManager('openstack.cli', convert_underscores=True)
for group in ('openstack.common', 'openstack.compute.v2', 'openstack.identity.v3', 'openstack.image.v2', 'openstack.network.v2',
              'openstack.neutronclient.v2', 'openstack.placement.v1'):
    manager.add_command_group(group)
wrong = []
for line, whole in json.load(sys.stdin):
    said = io.StringIO()
    try:
        factory, name, rest = manager.find_command(shlex.split(line)[1:])
        if whole or rest:
            with contextlib.redirect_stderr(said):
                factory(app, None).get_parser(name).parse_args(rest)
    except (Exception, SystemExit) as e:
        wrong.append('%s: %s %s' % (line, said.getvalue().strip().split('\n')[-1], e))
print(json.dumps(wrong))
`

// TestOpenStackCommands has the real client read the openstack commands of all documents, those
// within the text too. Of the latter, some are named without arguments.
func TestOpenStackCommands(t *testing.T) {
	upstreamtest.Need(t, "python3-openstackclient python3-osc-placement", "/usr/bin/openstack")
	var lines [][2]any
	whole := regexp.MustCompile(`\$\((openstack [^)]*)\)`)
	for _, b := range blocks(t) {
		if b.kind != shellKind || b.isShown() {
			continue
		}
		for _, line := range b.lines() {
			if m := whole.FindStringSubmatch(line); m != nil {
				line = m[1]
			}
			if line, _, _ = strings.Cut(line, " | "); strings.HasPrefix(line, "openstack ") {
				lines = append(lines, [2]any{line, true})
			}
		}
	}
	for _, p := range pages(t) {
		prose := strings.ReplaceAll(p.prose(), "\n", " ")
		for _, m := range inlineCode.FindAllStringSubmatch(prose, -1) {
			if line, _, _ := strings.Cut(m[1], " | "); strings.HasPrefix(line, "openstack ") {
				lines = append(lines, [2]any{line, false})
			}
		}
	}
	if len(lines) < 20 {
		t.Fatalf("the documents have %d commands of the openstack client only: this test looks for the wrong thing",
			len(lines))
	}
	input, err := json.Marshal(lines)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(upstreamtest.Python, "-c", parse)
	cmd.Stdin = strings.NewReader(string(input))
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	var wrong []string
	if err == nil {
		err = json.Unmarshal(out, &wrong)
	}
	if err != nil {
		t.Fatalf("the openstack client: %v\n%s", err, &stderr)
	}
	for _, w := range wrong {
		t.Error(w)
	}
}

// TestSnippets parses the snippets of settings, units, and files of other programs with the program
// that reads them.
func TestSnippets(t *testing.T) {
	bin := server.Berth(t)
	readers := map[string]func(*testing.T, block){
		settingsKind: func(t *testing.T, b block) { readSettings(t, bin, b) },
		unitKind:     func(t *testing.T, b block) { readUnit(t, bin, b) },
		haproxyKind:  readHAProxy,
		nginxKind:    readNginx,
		yamlKind:     func(t *testing.T, b block) { readYAML(t, bin, b) },
		jsonKind:     readJSON,
	}
	var seen []string
	for _, b := range blocks(t) {
		if reader := readers[b.kind]; reader != nil && !b.isShown() {
			first, _, _ := strings.Cut(b.text, "\n")
			name := regexp.MustCompile(`\W+`).ReplaceAllString(first, "_") // nginx takes no brace in a path
			t.Run(filepath.Base(b.page)+"/"+name, func(t *testing.T) { reader(t, b) })
			seen = append(seen, b.kind)
		}
	}
	for kind := range readers {
		if !slices.Contains(seen, kind) {
			t.Errorf("no block is of the kind %s: this test looks for the wrong thing", kind)
		}
	}
}

// put writes a file and returns its path.
func put(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// readSettings has the service of a page read settings. Invalid ones have exit code 2, which
// precedes that of a database in a missing directory.
func readSettings(t *testing.T, bin string, b block) {
	dir := t.TempDir()
	file := put(t, dir, "snippet.conf", b.text)
	args := []string{"db", "version", "--connection", "sqlite:///" + dir + "/none.db", "--config", file}
	serve := func(service, strategy string) []string {
		more := put(t, dir, "more.conf",
			strategy+"\n[database]\nconnection = sqlite:///"+dir+"/none/none.db\n[berth]\nlisten = 127.0.0.1:0")
		return []string{service, "serve", "--config", file, "--config", more}
	}
	switch filepath.Base(b.page) {
	case "network.md":
		args = serve("network",
			"[DEFAULT]\nauth_strategy = noauth\n[placement]\nauth_type = none\nendpoint_override = http://127.0.0.1:1")
	case "compute.md":
		args = serve("compute",
			"[api]\nauth_strategy = noauth2\n[placement]\nauth_type = none\nendpoint_override = http://127.0.0.1:1\n"+
				"[neutron]\nauth_type = none\nendpoint_override = http://127.0.0.1:1\n[glance]\nauth_type = none\n"+
				"endpoint_override = http://127.0.0.1:1")
	case "agent.md":
		args = []string{"agent", "check", "--config", file}
	case "compute-host.md":
		args = []string{"agent", "check", "--compute-config", file}
	}
	if code, out := server.Run(t, time.Minute, bin, args...); code == 2 || code < 0 {
		t.Errorf("berth %q ends with exit code %d:\n%s", args, code, out)
	}
}

// readUnit has systemd parse a unit, or a drop-in of the package's.
func readUnit(t *testing.T, bin string, b block) {
	dir := t.TempDir()
	// The type notify-reload needs systemd 253.
	text := strings.NewReplacer("/usr/bin/berth", bin, "Type=notify-reload", "Type=notify").Replace(b.text)
	packaged := strings.ReplaceAll(read(t, filepath.Join(root, "packaging/systemd/berth-placement.service")),
		"/usr/bin/berth", bin)
	name := "berth-placement.service"
	unit := put(t, dir, name, packaged)
	switch {
	case strings.Contains(text, "[Socket]"):
		unit = put(t, dir, "berth-placement.socket", text)
	case strings.HasPrefix(text, "[Unit]"):
		put(t, dir, name, text)
	default:
		if err := os.Mkdir(unit+".d", 0o700); err != nil {
			t.Fatal(err)
		}
		put(t, dir, name+".d/snippet.conf", text)
	}
	out, err := exec.Command("systemd-analyze", "verify", "--man=no", unit).CombinedOutput()
	if err != nil || strings.Contains(string(out), dir) {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
}

// certificate writes a certificate with its key into one file, for proxies.
func certificate(t *testing.T, dir string) string {
	t.Helper()
	path := filepath.Join(dir, "cloud.pem")
	execute(t, dir, "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=cloud -keyout key.pem -out cert.pem && "+
		"cat cert.pem key.pem > "+path)
	return path
}

func readHAProxy(t *testing.T, b block) {
	dir := t.TempDir()
	text := strings.ReplaceAll(b.text, "/etc/haproxy/cloud.pem", certificate(t, dir))
	file := put(t, dir, "haproxy.cfg", "defaults\n    mode http\n    timeout connect 5s\n    timeout client 60s\n"+
		"    timeout server 60s\nlisten other\n    bind unix@"+dir+"/other.sock\n"+text)
	if out, err := exec.Command("/usr/sbin/haproxy", "-c", "-f", file).CombinedOutput(); err != nil {
		t.Errorf("haproxy: %v\n%s", err, out)
	}
}

func readNginx(t *testing.T, b block) {
	dir := t.TempDir()
	pem := certificate(t, dir)
	text := strings.ReplaceAll(b.text, "listen 443 ssl", "listen unix:"+dir+"/nginx.sock ssl")
	file := put(t, dir, "nginx.conf", fmt.Sprintf("pid %[1]s/pid;\nerror_log %[1]s/error.log;\nevents {}\nhttp {\n"+
		"access_log off;\nssl_certificate %[2]s;\nssl_certificate_key %[2]s;\n%[3]s\n}", dir, pem, text))
	if out, err := exec.Command("/usr/sbin/nginx", "-t", "-c", file).CombinedOutput(); err != nil {
		t.Errorf("nginx: %v\n%s", err, out)
	}
}

// readYAML has Prometheus's tool, or the agent, read a file in YAML.
func readYAML(t *testing.T, bin string, b block) {
	dir := t.TempDir()
	file := put(t, dir, "snippet.yaml", b.text)
	if filepath.Base(b.page) != "compute-host.md" {
		if out, err := exec.Command("promtool", "check", "config", "--syntax-only", file).CombinedOutput(); err != nil {
			t.Errorf("promtool: %v\n%s", err, out)
		}
		return
	}
	conf := put(t, dir, "nova.conf", "[DEFAULT]\nstate_path = "+dir+"\n[compute]\nprovider_config_location = "+dir+
		"\n[berth]\nfake_vcpus = 2\nfake_memory_mb = 4096\nfake_disk_gb = 10")
	if code, out := server.Run(t, time.Minute, bin, "agent", "check", "--compute-config", conf); code != 0 {
		t.Errorf("berth agent check ends with exit code %d:\n%s", code, out)
	}
	put(t, dir, "snippet.yaml", strings.ReplaceAll(b.text, "CUSTOM_", "custom "))
	if code, out := server.Run(t, time.Minute, bin, "agent", "check", "--compute-config", conf); code == 0 {
		t.Errorf("berth agent check takes classes of any name, so it cannot have read the file:\n%s", out)
	}
}

// readJSON parses JSON in which … marks omissions.
func readJSON(t *testing.T, b block) {
	text := regexp.MustCompile(`([:,\[]\s*)…`).ReplaceAllString(b.text, "${1}null")
	if !json.Valid([]byte(text)) {
		t.Errorf("this is no JSON:\n%s", text)
	}
}
