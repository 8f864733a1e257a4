package sqlstore_test

import (
	"context"
	"crypto/x509"
	"crypto/x509/pkix"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berthcloud/berth/internal/certtest"
	"github.com/berthcloud/berth/internal/dbtest"
	"github.com/berthcloud/berth/internal/sqltest"
	"github.com/berthcloud/berth/sqlstore"
)

// TestOptionFileHasTLS opens a database of MariaDB whose account needs TLS, which is in an option
// file, as TripleO and the operator of Kubernetes write it.
func TestOptionFileHasTLS(t *testing.T) {
	sqltest.Need(t)
	dir := t.TempDir()
	for _, d := range []string{dir, filepath.Dir(dir)} { // the server runs as another user
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	put := func(name string, text []byte) string {
		path := filepath.Join(dir, name)
		mustWrite(t, path, string(text), 0o644)
		return path
	}
	authority := certtest.NewAuthority(t, x509.Certificate{})
	stranger := certtest.NewAuthority(t, x509.Certificate{Subject: pkix.Name{CommonName: "stranger"}})
	cert, key := authority.Sign(x509.Certificate{
		Subject: pkix.Name{CommonName: "db"}, IPAddresses: []net.IP{net.ParseIP("127.0.0.1")},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
	other, otherKey := authority.Sign(x509.Certificate{
		Subject: pkix.Name{CommonName: "other"}, DNSNames: []string{"other.example"},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
	ca, strange := put("ca.pem", authority.PEM()), put("stranger.pem", stranger.PEM())
	start := func(name string, cert, key []byte) (account dbtest.Database, address string) {
		s := dbtest.NewMariaDB(t, dbtest.Fast(), dbtest.Setting("ssl_cert", put(name+".pem", cert)),
			dbtest.Setting("ssl_key", put(name+".key", key)))
		account = s.CreateDatabase(t)
		s.Exec(t, "ALTER USER '"+account.User+"'@'127.0.0.1' REQUIRE SSL")
		return account, s.Address()
	}
	named, namedAt := start("named", cert, key)
	unnamed, unnamedAt := start("unnamed", other, otherKey)
	attempt := func(account dbtest.Database, address, params string) error {
		where := server(t, account.URL(address)+params)
		where.Retries = 0
		s, err := sqlstore.Open(context.Background(), sqlstore.Options{Server: where})
		if err != nil {
			return err
		}
		defer s.Close()
		if n, err := s.Count(context.Background(), `SELECT COUNT(*) FROM information_schema.session_status WHERE `+
			`variable_name = 'SSL_CIPHER' AND variable_value <> ''`); n != 1 || err != nil {
			t.Errorf("%s: the connection is not encrypted: %d, %v", params, n, err)
		}
		return nil
	}
	missing := filepath.Join(dir, "missing.cnf")
	file := put("tripleo.cnf", []byte("[tripleo]\nssl=1\nssl-ca="+ca+"\nbind-address=127.0.0.1\n"+
		"[client]\nssl-ca="+strange+"\n[plain]\nssl=0\n[asked]\nssl\n[unchecked]\nssl-ca="+ca+"\nssl-verify-server-cert=0\n"))
	values := "&read_default_file=" + file + "&read_default_group="
	for _, c := range []struct {
		name    string
		account dbtest.Database
		address string
		params  string
		refused string // part of the error, empty for none
	}{
		{"without TLS", named, namedAt, "", "Access denied"},
		{"TripleO's", named, namedAt, values + "tripleo", ""},
		{"Kubernetes'", named, namedAt, "&read_default_file=" + file, "certificate signed by unknown authority"},
		{"the URL's authority before the file's", named, namedAt, "&read_default_file=" + file + "&ssl_ca=" + ca, ""},
		{"a group without TLS", named, namedAt, values + "plain", "Access denied"},
		{"TLS without authorities", named, namedAt, values + "asked", ""},
		{"no such file", named, namedAt, "&read_default_file=" + missing, missing},
		{"no such group", named, namedAt, values + "absent", "no group [absent]"},
		{"another name", unnamed, unnamedAt, values + "tripleo", "127.0.0.1"},
		{"another name that is not checked", unnamed, unnamedAt, values + "unchecked", ""},
		{"the URL's", named, namedAt, "&ssl_ca=" + ca, ""},
		{"the URL's, another name", unnamed, unnamedAt, "&ssl_ca=" + ca, "127.0.0.1"},
		{"the URL's, not checked", unnamed, unnamedAt, "&ssl_check_hostname=false&ssl_ca=" + ca, ""},
	} {
		err := attempt(c.account, c.address, c.params)
		if c.refused == "" && err != nil || c.refused != "" && (err == nil || !strings.Contains(err.Error(), c.refused)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.refused)
		}
	}

	// A server without TLS is refused when TLS is configured.
	plain := dbtest.MariaDB(t)
	if err := attempt(plain.CreateDatabase(t), plain.Address(), values+"tripleo"); err == nil ||
		!strings.Contains(err.Error(), "TLS") {
		t.Errorf("a server without TLS: %v", err)
	}
}

// TestInitCommand has a statement of the URL's begin each session.
func TestInitCommand(t *testing.T) {
	sqltest.Need(t)
	s := open(t, sqlstore.Options{
		Server: server(t, dbtest.MariaDB(t).NewDatabase(t)+"&init_command=SET+SESSION+lock_wait_timeout%3D77"),
	})
	if n, err := s.Count(context.Background(), "SELECT CAST(@@lock_wait_timeout AS SIGNED)"); n != 77 || err != nil {
		t.Errorf("lock_wait_timeout = %d, %v", n, err)
	}
}
