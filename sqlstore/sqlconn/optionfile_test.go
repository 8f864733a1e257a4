package sqlconn

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What PyMySQL's reader, Python's configparser, makes of the same texts.
func TestParseOptionFile(t *testing.T) {
	for text, want := range map[string]map[string]string{
		"[client]\nuser=a\nPASSWORD = \"b c\"\nhost: 'db'\nport=3307\n": {
			"user": "a", "password": "b c", "host": "db", "port": "3307",
		},
		"# a\n; b\n[client]\r\n\r\n  user = a\r\n  ssl-ca = /x # not a comment\r\n": {
			"user": "a", "ssl-ca": "/x # not a comment",
		},
		"[client]\nssl\nskip-ssl-x\nssl_ca=/x\n": {
			"ssl": "1", "skip-ssl-x": "", "ssl-ca": "/x",
		},
		"[client]\n!includedir /etc/mysql/conf.d/\nuser=\"\nhost='a\"\n": {
			"!includedir /etc/mysql/conf.d/": "", "user": `"`, "host": `'a"`,
		},
		"[client]\npassword=a=b:c\n[mysqld]\nuser=b\n": {"password": "a=b:c"},
	} {
		groups, err := parseOptionFile(text)
		if diff := cmp.Diff(want, groups["client"]); diff != "" || err != nil {
			t.Errorf("%q: %v (-want +got):\n%s", text, err, diff)
		}
	}
	for text, want := range map[string]string{
		"user=a\n[client]\n":             "line 1 is before the first group",
		"!include /x\n[client]\n":        "line 1 is before the first group",
		"[client]\nuser=a\nuser=b\n":     "line 3: the option user is there twice",
		"[client]\nssl-ca=a\nssl_ca=b\n": "line 3: the option ssl-ca is there twice",
		"[client]\n[client]\n":           "line 2: the group [client] is there twice",
		"[client]\nuser=a\n b\n":         "line 3 is indented deeper than the option user",
		"[\n":                            "line 1: want a group",
	} {
		if _, err := parseOptionFile(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// What the URL leaves out comes from the file.
func TestOptionFileCompletesURL(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "my.cnf")
	if err := os.WriteFile(file, []byte("[client]\nuser=f\npassword=fp\nhost=fh\nport=3307\ndatabase=fd\nsocket=/fs\n"+
		"ssl-ca=/fca\nssl-cert=/fcert\nbind-address=127.0.0.9\nmax_allowed_packet=1\n"+
		"[tripleo]\nssl=1\n[bad]\nssl-crl=/x\n[charset]\ndefault-character-set=latin1\n[old]\n"+
		"ssl=maybe\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	values := func(group string) url.Values {
		return url.Values{"read_default_file": {file}, "read_default_group": {group}}
	}
	server, err := withOptionFile(Server{Params: url.Values{"read_default_file": {file}, "ssl_ca": {"/uca"}}})
	want := Server{
		User: "f", Password: "fp", Database: "fd", Hosts: []string{"fh:3307"},
		Params: url.Values{
			"read_default_file": {file}, "ssl_ca": {"/uca"}, "ssl_cert": {"/fcert"}, "unix_socket": {"/fs"},
			"bind_address": {"127.0.0.9"},
		},
	}
	if diff := cmp.Diff(want, server); diff != "" || err != nil {
		t.Errorf("a URL without anything: %v (-want +got):\n%s", err, diff)
	}
	server, err = withOptionFile(Server{
		User: "u", Password: "p", Database: "d", Hosts: []string{"h", "[::1]", "i:1"},
		Params: url.Values{"read_default_file": {file}},
	})
	if diff := cmp.Diff([]string{"h:3307", "[::1]:3307", "i:1"}, server.Hosts); diff != "" || err != nil ||
		server.User+server.Password+server.Database != "upd" {
		t.Errorf("a whole URL: %v, %v (-want +got):\n%s", server, err, diff)
	}
	if server, err = withOptionFile(Server{Database: "d", Params: values("tripleo")}); err != nil ||
		server.Params.Get("ssl") != "1" || server.User != "" {
		t.Errorf("another group: %v, %v", server, err)
	}
	for group, want := range map[string]string{
		"nowhere": file + " has no group [nowhere]",
		"bad":     "the option ssl-crl is not supported",
		"charset": "charset of the database URL: want utf8mb4",
		"old":     "ssl of the database URL: want true or false",
	} {
		if _, err := withOptionFile(Server{Database: "d", Params: values(group)}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("group %s: %v, want %q", group, err, want)
		}
	}
	missing := filepath.Join(dir, "missing.cnf")
	if _, err := withOptionFile(Server{Database: "d", Params: url.Values{"read_default_file": {missing}}}); err == nil ||
		!strings.Contains(err.Error(), missing) {
		t.Errorf("a missing file: %v, want its name", err)
	}
	if _, err := withOptionFile(Server{Params: values("tripleo")}); err == nil ||
		!strings.Contains(err.Error(), "database") {
		t.Errorf("no database anywhere: %v", err)
	}
}

// Parameters that are not honoured are refused by their name, on both kinds of server, and without
// their values.
func TestParametersAreHonouredOrRefused(t *testing.T) {
	for _, c := range []struct{ dialect, query, refused string }{
		{MySQL, "charset=utf8&connect_timeout=3&read_timeout=4&local_infile=0&autocommit=true&use_unicode=0&sql_mode=ANSI&" +
			"init_command=SET+x&program_name=a", ""},
		{MySQL, "ssl_mode=REQUIRED&max_allowed_packet=1&client_flag=0", ""},
		{MySQL, "charset=latin1secret", "charset"},
		{MySQL, "client_flag=secret", "client_flag"},
		{MySQL, "local_infile=1", "local_infile"},
		{MySQL, "compress=true", "compress"},
		{MySQL, "ssl_cipher=secret", "ssl_cipher"},
		{MySQL, "sslmode=secret", "sslmode"},
		{MySQL, "read_timeout=secret", "read_timeout"},
		{MySQL, "ssl=secret", "ssl"},
		{MySQL, "ssl_mode=secret", "ssl_mode"},
		{MySQL, "ssl_mode=DISABLED&ssl=1", "ssl_mode"},
		{MySQL, "ssl_key=/secret", "ssl_key"},
		{MySQL, "ssl_capath=/nowhere", "ssl_capath"},
		{MySQL, "bind_address=secret", "bind_address"},
		{PostgreSQL, "sslmode=disable&keepalives=1&keepalives_idle=30&client_encoding=UTF-8&application_name=x&" +
			"options=-c%20search_path%3Da&gssencmode=disable", ""},
		{PostgreSQL, "keepalives_idle=secret", "keepalives_idle"},
		{PostgreSQL, "client_encoding=secret", "client_encoding"},
		{PostgreSQL, "sslcrl=/secret", "sslcrl"},
		{PostgreSQL, "hostaddr=secret", "hostaddr"},
		{PostgreSQL, "ssl_ca=/secret", "ssl_ca"},
		{PostgreSQL, "gssencmode=require", "gssencmode"},
	} {
		params, err := url.ParseQuery(c.query)
		if err != nil {
			t.Fatal(err)
		}
		_, dialer, err := NewDialer(Server{
			Dialect: c.dialect, User: "u", Database: "d", Hosts: []string{"127.0.0.1:1"}, Params: params,
		})
		if err == nil {
			_ = dialer.Close()
		}
		switch {
		case c.refused == "" && err != nil:
			t.Errorf("%s %s: %v", c.dialect, c.query, err)
		case c.refused != "" && (err == nil || !strings.Contains(err.Error(), c.refused) ||
			strings.Contains(err.Error(), "secret") && !strings.Contains(err.Error(), "ssl_key")):
			t.Errorf("%s %s: %v, want it refused by name", c.dialect, c.query, err)
		}
	}
}
