package sqlconn

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// A postgresParam is a parameter of a URL: the name that pgx has for it, empty when it is not for
// pgx, and the check of its value.
type postgresParam struct {
	setting string
	check   func(value string) error
}

// postgresParams are the parameters that have a meaning here, with libpq's names. libpq refuses one
// that it does not know, while pgx would send it to the server as a variable of the session:
// variables are set with options.
var postgresParams = func() map[string]postgresParam {
	all := map[string]postgresParam{
		"database": {setting: "dbname"},
		// Texts are Unicode on every connection, whatever the database has.
		"client_encoding": {"", func(value string) error {
			switch strings.ToLower(strings.ReplaceAll(value, "-", "")) {
			case "utf8", "unicode", "auto":
				return nil
			}
			return errors.New("want utf8: texts are Unicode")
		}},
		"gssencmode": {"", func(value string) error {
			if value == "require" {
				return errors.New("it is not supported: remove it")
			}
			return nil
		}},
		"sslcompression": {"", wantNot}, "requiressl": {"", wantNot},
		"keepalives": {"", wantTruth}, "keepalives_idle": {"", wantNumber}, "keepalives_interval": {"", wantNumber},
		"keepalives_count": {"", wantNumber},
	}
	for _, name := range []string{
		"user", "password", "dbname", "passfile", "service", "servicefile", "options", "application_name", "connect_timeout",
		"target_session_attrs",
		"sslmode", "sslnegotiation", "sslrootcert", "sslcert", "sslkey", "sslpassword", "sslcertmode", "sslsni",
		"channel_binding", "require_auth", "krbsrvname", "min_protocol_version", "max_protocol_version",
	} {
		all[name] = postgresParam{setting: name}
	}
	return all
}()

func wantNumber(value string) error {
	if n, err := strconv.Atoi(value); err != nil || n < 0 {
		return errors.New("want a number, 0 for the default")
	}
	return nil
}

// checkPostgresParams refuses parameters that are not honoured. The error has no value.
func checkPostgresParams(params url.Values) error {
	for name, values := range params {
		param, ok := postgresParams[name]
		if !ok {
			return fmt.Errorf("the parameter %s of the database URL is not supported: remove it; "+
				"a variable of the server's sessions is set with options=-c%%20name%%3Dvalue", name)
		}
		if param.check == nil {
			continue
		}
		for _, value := range values {
			if err := param.check(value); err != nil {
				return fmt.Errorf("the parameter %s of the database URL: %w", name, err)
			}
		}
	}
	return nil
}

// keepalives returns a dialer with libpq's settings for idle connections, whose defaults are Go's.
func keepalives(p url.Values) *net.Dialer {
	if untruth(p.Get("keepalives")) {
		return &net.Dialer{KeepAlive: -1}
	}
	number := func(name string) int {
		n, _ := strconv.Atoi(p.Get(name)) // it was checked
		return n
	}
	return &net.Dialer{KeepAliveConfig: net.KeepAliveConfig{
		Enable:   true,
		Idle:     time.Duration(number("keepalives_idle")) * time.Second,
		Interval: time.Duration(number("keepalives_interval")) * time.Second,
		Count:    number("keepalives_count"),
	}}
}

func newPostgresDialer(server Server) (*postgresDialer, error) {
	if err := checkPostgresParams(server.Params); err != nil {
		return nil, err
	}
	cfg, err := pgx.ParseConfig(postgresSettings(server))
	if err != nil {
		// The error repeats the settings, without the password as far as
		// the driver recognises it: better none of it but the cause.
		if cause := errors.Unwrap(err); cause != nil {
			return nil, fmt.Errorf("connection settings: %w", cause)
		}
		return nil, errors.New("connection settings: the driver does not understand the parameters behind the ? of the URL")
	}
	dialer := keepalives(server.Params)
	dialer.Timeout = cfg.ConnectTimeout // which pgx leaves to the dialer
	cfg.DialFunc = dialer.DialContext
	db := stdlib.OpenDB(*cfg)
	db.SetMaxIdleConns(-1) // the pool of sessions keeps them
	return &postgresDialer{db}, nil
}

// postgresSettings writes the server in libpq's form. Parameters of the URL go before the defaults
// here, and the server's own fields before both. Values are quoted, since a password may have
// spaces and quotes.
func postgresSettings(server Server) string {
	var hosts, ports []string
	for _, host := range server.Hosts {
		name, port := host, "5432"
		if h, p, err := net.SplitHostPort(host); err == nil && !strings.HasPrefix(host, "/") {
			name, port = h, p
		}
		hosts, ports = append(hosts, strings.Trim(name, "[]")), append(ports, port)
	}
	settings := map[string]string{
		"target_session_attrs": "read-write",
		"connect_timeout":      strconv.Itoa(int(connectTimeout.Seconds())),
		"application_name":     "berth-placement",
		"client_encoding":      "UTF8", // of Go's texts, whatever the database has
	}
	if server.Standby {
		settings["target_session_attrs"] = "any"
	}
	if server.Params.Has("service") { // whose own values go before defaults
		delete(settings, "connect_timeout")
		delete(settings, "application_name")
	}
	for name, values := range server.Params {
		if param := postgresParams[name]; param.setting != "" {
			settings[param.setting] = values[len(values)-1]
		}
	}
	for name, value := range map[string]string{
		"user": server.User, "password": server.Password, "dbname": server.Database,
		"host": strings.Join(hosts, ","), "port": strings.Join(ports, ","),
	} {
		if value != "" && settings[name] == "" {
			settings[name] = value
		}
	}
	var b strings.Builder
	for name, value := range settings {
		b.WriteString(name + "='" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(value) + "' ")
	}
	return b.String()
}
