package dbtest

import (
	"net/url"
	"strings"
)

// A Database is one of a server's databases, with an account that has all rights in it and none
// elsewhere.
type Database struct {
	Name, User, Password string

	engine engine
}

// URL returns the database's SQLAlchemy URL at the addresses (host:port), which
// may be those of proxies. Of several addresses each is a parameter host.
func (d Database) URL(addresses ...string) string { return d.engine.url(d, addresses) }

// String returns the name: a Database does not print its password.
func (d Database) String() string { return d.Name }

// sqlalchemyURL writes the URL that both engines have in common.
func sqlalchemyURL(driver string, d Database, addresses []string, query url.Values) string {
	u := url.URL{Scheme: driver, User: url.UserPassword(d.User, d.Password), Path: "/" + d.Name}
	if len(addresses) == 1 {
		u.Host = addresses[0]
	} else {
		query["host"] = addresses
	}
	u.RawQuery = strings.ReplaceAll(query.Encode(), "%3A", ":")
	return u.String()
}

func newDatabase(e engine) Database {
	name := "berth_" + secret()[:12]
	return Database{name, name, secret(), e}
}
