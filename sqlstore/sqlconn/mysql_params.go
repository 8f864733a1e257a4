package sqlconn

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

// The parameters of a URL that have a meaning here, with the names of PyMySQL and mysqlclient.
// Python raises an error for one that it does not know, and so does checkMySQLParams: none is
// dropped without a word, since it may be the one that requests TLS.
var mysqlParams = map[string]func(value string) error{
	"user": nil, "username": nil, "password": nil, "passwd": nil, "database": nil, "db": nil,
	"unix_socket": nil, "bind_address": nil, "program_name": nil,
	"read_default_file": nil, "read_default_group": nil,
	"init_command": nil, "sql_mode": nil,
	"connect_timeout": wantSeconds, "read_timeout": wantSeconds, "write_timeout": wantSeconds,
	"ssl_ca": nil, "ssl_capath": nil, "ssl_cert": nil, "ssl_key": nil, "ssl_mode": wantSSLMode,
	"ssl": wantTruth, "ssl_disabled": wantTruth, "ssl_verify_cert": wantTruth, "ssl_verify_identity": wantTruth,
	"ssl_check_hostname": wantTruth,
	// Texts are Unicode on every connection, whatever the tables have.
	"charset": wantUnicode, "use_unicode": wantTruth,
	// These change nothing that Berth does: it begins each transaction itself, and loads no files.
	"autocommit": wantTruth, "max_allowed_packet": nil, "binary_prefix": wantTruth,
	"local_infile": wantNot, "compress": wantNot, "client_flag": wantNot,
}

func wantTruth(value string) error {
	if !truth(value) && !untruth(value) {
		return errors.New("want true or false")
	}
	return nil
}

func wantNot(value string) error {
	if !untruth(value) {
		return errors.New("it is not supported: remove it")
	}
	return nil
}

func wantSeconds(value string) error {
	if n, err := strconv.Atoi(value); err != nil || n < 1 {
		return errors.New("want a number of seconds, 1 or more")
	}
	return nil
}

func wantUnicode(value string) error {
	switch strings.ToLower(value) {
	case "utf8", "utf8mb3", "utf8mb4":
		return nil
	}
	return errors.New("want utf8mb4 or utf8: texts are Unicode")
}

func wantSSLMode(value string) error {
	switch strings.ToUpper(value) {
	case "DISABLED", "PREFERRED", "REQUIRED", "VERIFY_CA", "VERIFY_IDENTITY":
		return nil
	}
	return errors.New("want DISABLED, PREFERRED, REQUIRED, VERIFY_CA or VERIFY_IDENTITY")
}

// checkMySQLParams refuses parameters that are not honoured. The error has no value.
func checkMySQLParams(params url.Values) error {
	for name, values := range params {
		check, ok := mysqlParams[name]
		if !ok {
			return fmt.Errorf("the parameter %s of the database URL is not supported: remove it", name)
		}
		for _, value := range values {
			if check == nil {
				continue
			}
			if err := check(value); err != nil {
				return fmt.Errorf("the parameter %s of the database URL: %w", name, err)
			}
		}
	}
	return nil
}

// mysqlConfig translates what a SQLAlchemy URL says. Values are put into the text of statements by
// the driver, which spares the round trip of preparing; rows that are found count as changed, as on
// the other databases.
func mysqlConfig(server Server, host string) (*mysql.Config, error) {
	p := server.Params
	cfg := mysql.NewConfig()
	cfg.User, cfg.Passwd, cfg.DBName = server.User, server.Password, server.Database
	cfg.Net, cfg.Addr = "tcp", host
	if socket := p.Get("unix_socket"); socket != "" {
		host = socket
	}
	if strings.HasPrefix(host, "/") {
		cfg.Net, cfg.Addr = "unix", host
	} else if _, _, err := net.SplitHostPort(host); err != nil {
		cfg.Addr = net.JoinHostPort(strings.Trim(host, "[]"), "3306")
	}
	cfg.InterpolateParams, cfg.ClientFoundRows, cfg.ParseTime = true, true, true
	cfg.Timeout = cmp.Or(seconds(p, "connect_timeout"), connectTimeout)
	// This ends statements that are not answered, which is cheaper than a
	// context that could be cancelled with each. The sessions of tools watch
	// over theirs themselves.
	quiet := cmp.Or(2*server.ResponseTimeout, DefaultResponseTimeout)
	cfg.ReadTimeout = cmp.Or(seconds(p, "read_timeout"), quiet)
	cfg.WriteTimeout = cmp.Or(seconds(p, "write_timeout"), quiet)
	if from := p.Get("bind_address"); from != "" && cfg.Net == "tcp" {
		address := net.ParseIP(from)
		if address == nil {
			return nil, errors.New("bind_address: want an IP address of this machine")
		}
		cfg.DialFunc = (&net.Dialer{LocalAddr: &net.TCPAddr{IP: address}, Timeout: cfg.Timeout}).DialContext
	}
	if name := p.Get("program_name"); name != "" {
		if strings.ContainsAny(name, ",:") {
			return nil, errors.New("program_name: want a name without commas and colons")
		}
		cfg.ConnectionAttributes = "program_name:" + name
	}
	cfg.Logger = &mysql.NopLogger{}
	var err error
	cfg.TLS, err = mysqlTLS(server, host)
	return cfg, err
}

// seconds reads a time that checkMySQLParams has accepted, 0 when it is not set.
func seconds(p url.Values, name string) time.Duration {
	n, _ := strconv.Atoi(p.Get(name))
	return time.Duration(n) * time.Second
}

// mysqlTLS reads the names of PyMySQL and mysqlclient for TLS; nil without any. A server that has
// no TLS is then an error of the driver's. As with SQLAlchemy, authorities have the server's name
// checked as well unless ssl_check_hostname or ssl_verify_identity is false.
func mysqlTLS(server Server, host string) (*tls.Config, error) {
	p := server.Params
	mode := strings.ToUpper(p.Get("ssl_mode"))
	ca, capath, cert, key := p.Get("ssl_ca"), p.Get("ssl_capath"), p.Get("ssl_cert"), p.Get("ssl_key")
	identity := truth(p.Get("ssl_verify_identity")) || truth(p.Get("ssl_check_hostname")) || mode == "VERIFY_IDENTITY"
	chain := ca != "" || capath != "" || truth(p.Get("ssl_verify_cert")) || mode == "VERIFY_CA" || identity
	on := chain || cert != "" || key != "" || truth(p.Get("ssl")) || mode == "REQUIRED"
	switch disabled := truth(p.Get("ssl_disabled")) || mode == "DISABLED"; {
	case disabled && mode == "DISABLED" && on:
		return nil, errors.New("ssl_mode=DISABLED contradicts the other ssl_ parameters: remove one of them")
	case disabled || !on:
		return nil, nil
	}
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = host
	}
	cfg := &tls.Config{ServerName: name, MinVersion: tls.VersionTLS12}
	if cfg.RootCAs, err = authorities(ca, capath); err != nil {
		return nil, err
	}
	if cert != "" {
		pair, err := tls.LoadX509KeyPair(cert, cmp.Or(key, cert))
		if err != nil {
			return nil, fmt.Errorf("ssl_cert, ssl_key: %w", err)
		}
		cfg.Certificates = []tls.Certificate{pair}
	} else if key != "" {
		return nil, errors.New("ssl_key has no ssl_cert")
	}
	unnamed := untruth(p.Get("ssl_verify_identity")) || untruth(p.Get("ssl_check_hostname")) || mode == "VERIFY_CA"
	if named := identity || (ca != "" || capath != "") && !unnamed; !named {
		cfg.InsecureSkipVerify = true // of the name; the chain is looked at below
		if chain {
			cfg.VerifyConnection = chainOnly(cfg.RootCAs)
		}
	}
	return cfg, nil
}

// authorities reads the certificates of a file and of all files of a directory; nil, for the
// system's, without both.
func authorities(file, dir string) (*x509.CertPool, error) {
	if file == "" && dir == "" {
		return nil, nil
	}
	roots := x509.NewCertPool()
	if file != "" {
		pem, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("ssl_ca: %w", err)
		}
		if !roots.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("ssl_ca: %s holds no certificate", file)
		}
	}
	if dir == "" {
		return roots, nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("ssl_capath: %w", err)
	}
	found := false
	for _, entry := range entries {
		// Names in such a directory are links, of which some may lead nowhere.
		if pem, err := os.ReadFile(filepath.Join(dir, entry.Name())); err == nil && roots.AppendCertsFromPEM(pem) {
			found = true
		}
	}
	if !found {
		return nil, fmt.Errorf("ssl_capath: no file in %s holds a certificate", dir)
	}
	return roots, nil
}

// chainOnly accepts a server whose certificate the authorities signed, whatever
// its name is.
func chainOnly(roots *x509.CertPool) func(tls.ConnectionState) error {
	return func(cs tls.ConnectionState) error {
		rest := x509.NewCertPool()
		for _, c := range cs.PeerCertificates[1:] {
			rest.AddCert(c)
		}
		_, err := cs.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: rest})
		return err
	}
}

// truth reads what Python's clients take for true, untruth what they take for false. Neither is
// true of an empty text.
func truth(text string) bool {
	switch strings.ToLower(text) {
	case "1", "true", "yes", "on", "t", "y":
		return true
	}
	return false
}

func untruth(text string) bool {
	switch strings.ToLower(text) {
	case "0", "false", "no", "off", "f", "n":
		return true
	}
	return false
}
