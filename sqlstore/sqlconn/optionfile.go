package sqlconn

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// An option file of MySQL's has what a URL leaves out (read_default_file, read_default_group). It
// is read as PyMySQL does, with Python's configparser: sections, key = value or key: value, quotes
// around a whole value, comments on lines of their own only. PyMySQL does not follow !include, and
// takes from the file what optionParams has. It goes on without TLS when it cannot read the file,
// or when the file requests TLS in a way that it does not know; here both are errors.

// defaultOptionFile is the file of a group without a file.
const defaultOptionFile = "/etc/my.cnf"

// optionParams are the keys of a file with the parameters that they stand for.
var optionParams = map[string]string{
	"socket": "unix_socket", "bind-address": "bind_address", "default-character-set": "charset",
	"ssl": "ssl", "ssl-mode": "ssl_mode", "ssl-verify-server-cert": "ssl_verify_identity",
	"ssl-ca": "ssl_ca", "ssl-capath": "ssl_capath", "ssl-cert": "ssl_cert", "ssl-key": "ssl_key",
}

// withOptionFile returns the server with what its URL leaves out, and the account and database of
// parameters in place of those of the URL, as SQLAlchemy has it.
func withOptionFile(server Server) (Server, error) {
	p := maps.Clone(server.Params)
	if p == nil {
		p = url.Values{}
	}
	server.Params = p
	server.User = cmp.Or(p.Get("user"), p.Get("username"), server.User)
	server.Password = cmp.Or(p.Get("password"), server.Password, p.Get("passwd"))
	server.Database = cmp.Or(p.Get("database"), p.Get("db"), server.Database)
	file, group := p.Get("read_default_file"), p.Get("read_default_group")
	if file != "" || group != "" {
		options, err := readOptionFile(cmp.Or(file, defaultOptionFile), group)
		if err != nil {
			return server, fmt.Errorf("read_default_file: %w", err)
		}
		for key, param := range optionParams {
			if value := options[key]; value != "" && p.Get(param) == "" {
				p.Set(param, value)
			}
		}
		if err := checkMySQLParams(p); err != nil {
			return server, fmt.Errorf("with what %s has: %w", cmp.Or(file, defaultOptionFile), err)
		}
		server.User = cmp.Or(server.User, options["user"])
		server.Password = cmp.Or(server.Password, options["password"])
		server.Database = cmp.Or(server.Database, options["database"])
		server.Hosts = hostsWith(server.Hosts, options["host"], options["port"])
	}
	if server.Database == "" {
		return server, errors.New("neither the URL nor its option file names a database")
	}
	return server, nil
}

// hostsWith returns hosts, or the one of a file, with the port of the file where they have none.
func hostsWith(hosts []string, host, port string) []string {
	if len(hosts) == 0 && host != "" {
		hosts = []string{host}
	}
	if port == "" {
		return hosts
	}
	if len(hosts) == 0 {
		hosts = []string{"127.0.0.1"}
	}
	with := make([]string, len(hosts))
	for i, h := range hosts {
		with[i] = h
		if _, _, err := net.SplitHostPort(h); err != nil && !strings.HasPrefix(h, "/") {
			with[i] = net.JoinHostPort(strings.Trim(h, "[]"), port)
		}
	}
	return with
}

// readOptionFile returns what a group of a file has, that of clients when it is empty. Errors have
// no values.
func readOptionFile(file, group string) (map[string]string, error) {
	if rest, ok := strings.CutPrefix(file, "~/"); ok {
		home, err := os.UserHomeDir()
		if err != nil {
			return nil, err
		}
		file = filepath.Join(home, rest)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	groups, err := parseOptionFile(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	options, ok := groups[cmp.Or(group, "client")]
	if !ok && group != "" {
		return nil, fmt.Errorf("%s has no group [%s]", file, group)
	}
	for key := range options {
		if strings.HasPrefix(key, "ssl-") && optionParams[key] == "" {
			return nil, fmt.Errorf("%s: the option %s is not supported: remove it", file, key)
		}
	}
	return options, nil
}

// parseOptionFile returns the options of each group. Python takes a line that is indented deeper
// than the option before it for more of that option's value; nothing that is meant to be read by
// MySQL's programs has such lines, so they are refused.
func parseOptionFile(text string) (map[string]map[string]string, error) {
	groups := make(map[string]map[string]string)
	var group map[string]string
	indent, last := 0, ""
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimRight(line, " \t\r\n")
		trimmed := strings.TrimLeft(line, " \t")
		if trimmed == "" || trimmed[0] == '#' || trimmed[0] == ';' {
			continue
		}
		depth := len(line) - len(trimmed)
		if last != "" && depth > indent {
			return nil, fmt.Errorf("line %d is indented deeper than the option %s, which makes it more of its value", n, last)
		}
		indent = depth
		if name, ok := strings.CutPrefix(trimmed, "["); ok {
			end := strings.IndexByte(name, ']')
			if end < 1 {
				return nil, fmt.Errorf("line %d: want a group such as [client]", n)
			}
			if groups[name[:end]] != nil {
				return nil, fmt.Errorf("line %d: the group [%s] is there twice", n, name[:end])
			}
			group, last = make(map[string]string), ""
			groups[name[:end]] = group
			continue
		}
		if group == nil {
			return nil, fmt.Errorf("line %d is before the first group", n)
		}
		key, value := trimmed, ""
		at := strings.IndexAny(trimmed, "=:")
		if at >= 0 {
			key, value = trimmed[:at], strings.TrimSpace(trimmed[at+1:])
		}
		key = strings.ToLower(strings.TrimSpace(key))
		last = key
		if strings.HasPrefix(key, "ssl_") {
			key = strings.ReplaceAll(key, "_", "-") // the same to MySQL's programs, if not to PyMySQL
		}
		if _, ok := group[key]; ok {
			return nil, fmt.Errorf("line %d: the option %s is there twice", n, key)
		}
		if size := len(value); size >= 2 && value[0] == value[size-1] && (value[0] == '\'' || value[0] == '"') {
			value = value[1 : size-1]
		}
		if at < 0 && (key == "ssl" || key == "ssl-verify-server-cert") {
			value = "1"
		}
		group[key] = value
	}
	return groups, nil
}
