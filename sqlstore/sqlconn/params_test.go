package sqlconn

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func mustQuery(t *testing.T, text string) url.Values {
	t.Helper()
	p, err := url.ParseQuery(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestParametersOfMySQL translates what a URL of SQLAlchemy's says about TLS, and refuses what has
// no meaning here: it may be what requests TLS.
func TestParametersOfMySQL(t *testing.T) {
	garbage := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(garbage, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		params string
		want   string // of TLS: "", "unverified", "chain", "name"; or a part of the error
	}{
		{"", ""},
		{"charset=utf8", ""},
		{"ssl_disabled=true&ssl=true", ""},
		{"ssl=true", "unverified"},
		{"ssl_mode=REQUIRED", "unverified"},
		{"ssl_verify_cert=1", "chain"},
		{"ssl_mode=verify_ca", "chain"},
		{"ssl_verify_identity=on", "name"},
		{"ssl_mode=VERIFY_IDENTITY", "name"},
		{"ssl_mode=DISABLED&ssl=true", "contradicts"},
		{"ssl_mode=SOMETIMES", "parameter ssl_mode"},
		{"ssl=maybe", "parameter ssl"},
		{"ssl_ca=" + garbage, "holds no certificate"},
		{"ssl_ca=/none", "ssl_ca"},
		{"ssl_capath=" + filepath.Dir(garbage), "no file in"},
		{"ssl_key=x", "ssl_key has no ssl_cert"},
		{"ssl_cert=/none", "ssl_cert"},
		{"charset=latin1", "parameter charset"},
		{"connect_timeout=0", "parameter connect_timeout"},
		{"compress=true", "parameter compress"},
		{"compress=0", ""},
		{"secret=hunter2", "parameter secret"},
		{"program_name=a:b", "program_name"},
		{"bind_address=here", "bind_address"},
	} {
		server := Server{Dialect: MySQL, Params: mustQuery(t, c.params)}
		got, tls := "", ""
		err := checkMySQLParams(server.Params)
		if err == nil {
			cfg, err2 := mysqlConfig(server, "db:3307")
			switch err = err2; {
			case err != nil || cfg.TLS == nil:
			case !cfg.TLS.InsecureSkipVerify:
				tls = "name"
			case cfg.TLS.VerifyConnection != nil:
				tls = "chain"
			default:
				tls = "unverified"
			}
			if err == nil && cfg.TLS != nil && cfg.TLS.ServerName != "db" {
				t.Errorf("%s: the name of the server is %q", c.params, cfg.TLS.ServerName)
			}
		}
		if err != nil {
			got = err.Error()
		}
		if strings.Contains(got, "hunter2") {
			t.Errorf("%s: the error has a value: %s", c.params, got)
		}
		if got == "" && tls != c.want || got != "" && (c.want == "" || !strings.Contains(got, c.want)) {
			t.Errorf("%s: TLS %q, error %q; want %q", c.params, tls, got, c.want)
		}
	}
}

// TestAddressesOfMySQL has hosts with and without ports, and sockets.
func TestAddressesOfMySQL(t *testing.T) {
	for _, c := range []struct{ host, params, network, address string }{
		{"db", "", "tcp", "db:3306"},
		{"db:3307", "", "tcp", "db:3307"},
		{"2001:db8::1", "", "tcp", "[2001:db8::1]:3306"},
		{"[2001:db8::1]:3307", "", "tcp", "[2001:db8::1]:3307"},
		{"/run/mysqld.sock", "", "unix", "/run/mysqld.sock"},
		{"db", "unix_socket=/run/a", "unix", "/run/a"},
	} {
		cfg, err := mysqlConfig(Server{Params: mustQuery(t, c.params)}, c.host)
		if err != nil || cfg.Net != c.network || cfg.Addr != c.address {
			t.Errorf("%s: %+v, %v", c.host, cfg, err)
		}
	}
	cfg, err := mysqlConfig(Server{
		Params: mustQuery(t, "connect_timeout=3&read_timeout=4&bind_address=127.0.0.1&program_name=p"),
	}, "db")
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Timeout != 3*time.Second || cfg.ReadTimeout != 4*time.Second || cfg.WriteTimeout != 20*time.Second {
		t.Errorf("%+v", cfg)
	}
}

// TestParametersOfPostgreSQL refuses what libpq does not know.
func TestParametersOfPostgreSQL(t *testing.T) {
	for params, want := range map[string]string{
		"sslmode=require&application_name=a": "",
		"client_encoding=UTF-8":              "",
		"client_encoding=latin1":             "parameter client_encoding",
		"gssencmode=require":                 "not supported",
		"keepalives_idle=x":                  "want a number",
		"work_mem=1GB":                       "options=",
		"secret=hunter2":                     "parameter secret",
	} {
		err := checkPostgresParams(mustQuery(t, params))
		if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "hunter2")) {
			t.Errorf("%s: %v, want %q", params, err, want)
		}
	}
}

// TestNamed gives a server the name of a program, unless the URL has one.
func TestNamed(t *testing.T) {
	s := &Server{Dialect: PostgreSQL}
	if got := s.Named("berth").Params.Get("application_name"); got != "berth" || s.Params != nil {
		t.Errorf("it is called %q, and the original has %v", got, s.Params)
	}
	s.Params = mustQuery(t, "application_name=own")
	if got := s.Named("berth").Params.Get("application_name"); got != "own" {
		t.Errorf("it is called %q", got)
	}
	if _, _, err := NewDialer(Server{Dialect: "oracle"}); err == nil {
		t.Error("there is a dialer of another database")
	}
	for _, dialect := range []string{MySQL, PostgreSQL} {
		if _, _, err := NewDialer(Server{Dialect: dialect, Params: mustQuery(t, "secret=1")}); err == nil {
			t.Errorf("%s: a parameter that has no meaning is accepted", dialect)
		}
		d, dialer, err := NewDialer(Server{Dialect: dialect, Hosts: []string{"127.0.0.1:1"}, User: "u", Database: "d"})
		if err != nil || !d.Shared {
			t.Errorf("%s: %v", dialect, err)
			continue
		}
		if _, _, err := dialer.Dial(t.Context(), Reading); err == nil {
			t.Errorf("%s: there is a server on port 1", dialect)
		}
		if err := dialer.Close(); err != nil {
			t.Errorf("%s: %v", dialect, err)
		}
	}
}
