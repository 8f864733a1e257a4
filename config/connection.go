package config

import (
	"errors"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/berthcloud/berth/osloconfig"
)

// The values of Connection.Dialect.
const (
	SQLite     = "sqlite"
	MySQL      = "mysql" // MariaDB too
	PostgreSQL = "postgresql"
)

// A Connection is a parsed SQLAlchemy URL of a database.
type Connection struct {
	Dialect  string // SQLite, MySQL or PostgreSQL
	Driver   string // Python's driver, such as "pymysql"; without effect in Berth
	User     string
	Password osloconfig.Secret
	Hosts    []Host // none means the server on this machine
	Database string // of a server; empty for SQLite
	Path     string // of a SQLite file, absolute or relative to the working directory; empty: in memory
	Query    url.Values
}

// A Host is one of the servers in a database URL.
type Host struct {
	Name string // host name, address, or the directory of PostgreSQL's socket
	Port int    // 0: the dialect's own
}

// String returns the host in the syntax of URLs.
func (h Host) String() string {
	name := h.Name
	if strings.Contains(name, ":") {
		name = "[" + name + "]"
	}
	if h.Port == 0 {
		return name
	}
	return name + ":" + strconv.Itoa(h.Port)
}

// connectionSyntax splits a URL as SQLAlchemy does, with its peculiarities: the user ends at the
// last @ before a colon or slash, the password at its first @.
var connectionSyntax = regexp.MustCompile(`^([\w+]+)://` +
	`(?:([^:/]*)(?::([^@]*))?@)?` +
	`(?:(?:\[([^/?]+)\]|([^/:?]+))?(?::([^/?]*))?)?` +
	`(?:/([^?]*))?(?:\?(.*))?`)

// ParseConnection reads a SQLAlchemy URL:
//
//	sqlite:////absolute/path    sqlite:///relative/path    sqlite://  (in memory)
//	mysql+pymysql://user:password@host:3306/placement?charset=utf8mb4
//	postgresql+psycopg2://user:password@/placement?host=a:5432&host=b:5432
//
// Both kinds of server accept several hosts, which SQLAlchemy does not:
//
//	mysql+pymysql://user:password@a:3306,b:3306,c:3306/placement
//
// User and password may contain %XX. The error contains no part of the URL, since a malformed one
// may have the password anywhere.
func ParseConnection(text string) (Connection, error) {
	at := connectionSyntax.FindStringSubmatchIndex(text)
	if at == nil {
		return Connection{}, errors.New("want a database URL: dialect://user:password@host/database or sqlite:////path")
	}
	m := connectionSyntax.FindStringSubmatch(text)
	dialect, driver, _ := strings.Cut(m[1], "+")
	// A further @ after the account means that the password contains an unescaped one: parts of it
	// would be parsed, and shown, as host, database or parameters.
	account := max(at[3], at[5], at[7])
	if rest := strings.TrimPrefix(text[account:], "@"); strings.ToLower(dialect) != SQLite && strings.Contains(rest, "@") {
		return Connection{}, errors.New(
			"an @ in a user's name or password, a database or a parameter is written %40, a / %2F")
	}
	c := Connection{
		Dialect:  strings.ToLower(dialect),
		Driver:   driver,
		User:     unescape(m[2]),
		Password: osloconfig.Secret(unescape(m[3])),
		Database: m[7],
		Query:    parseQuery(m[8]),
	}
	var err error
	if c.Hosts, err = parseHosts(m[4], m[5], m[6]); err != nil {
		return Connection{}, err
	}
	return c.finish()
}

// parseHosts reads the part between @ and /: a host, or several with commas. The syntax splits the
// first one (an address in brackets or a name) and leaves the rest in port.
func parseHosts(address, name, port string) ([]Host, error) {
	if address+name+port == "" {
		return nil, nil
	}
	list := name
	if address != "" {
		list = "[" + address + "]"
	}
	if port != "" {
		list += ":" + port
	}
	var hosts []Host
	for one := range strings.SplitSeq(list, ",") {
		name, port := one, ""
		if i := strings.LastIndexByte(one, ':'); i > strings.LastIndexByte(one, ']') {
			name, port = one[:i], one[i+1:]
		}
		host, err := parseHost(strings.Trim(name, "[]"), port)
		if err != nil {
			return nil, err
		}
		hosts = append(hosts, host)
	}
	return hosts, nil
}

// parseHost reads a host. Errors do not quote it: a password with an unescaped @ or colon may be
// in it.
func parseHost(name, port string) (Host, error) {
	if strings.Contains(name, "@") {
		return Host{}, errors.New("an @ in a user's name or password is written %40")
	}
	if port == "" {
		return Host{Name: name}, nil
	}
	n, err := strconv.Atoi(port)
	if err != nil || n < 1 || n > 65535 {
		return Host{}, errors.New("the port must be a number from 1 to 65535; a / or : in a password is written %2F or %3A")
	}
	return Host{name, n}, nil
}

// finish applies the rules of the dialect.
func (c Connection) finish() (Connection, error) {
	switch c.Dialect {
	case SQLite:
		return c.finishSQLite()
	case MySQL, "mariadb":
		c.Dialect = MySQL
		return c.finishServer()
	case PostgreSQL:
		return c.finishServer()
	case "postgres":
		return Connection{}, errors.New("the dialect postgres is called postgresql")
	}
	return Connection{}, errors.New("want one of the dialects sqlite, mysql, mariadb, postgresql")
}

// finishSQLite turns the database into a path. file: URIs are refused, since their parameters
// (mode, cache) would change what the lock of the file protects.
func (c Connection) finishSQLite() (Connection, error) {
	if c.User != "" || c.Password != "" || len(c.Hosts) > 0 {
		return Connection{}, errors.New("a SQLite URL has no host: want sqlite:////absolute/path or sqlite:///relative/path")
	}
	if c.Query.Get("uri") == "true" || strings.HasPrefix(c.Database, "file:") {
		return Connection{}, errors.New("want the path of a SQLite file, not a file: URI")
	}
	if c.Database != ":memory:" {
		c.Path = c.Database
	}
	c.Database = ""
	return c, nil
}

// finishServer reads hosts from the query, as libpq has lists of servers and socket directories:
// host=a:5432&host=b or host=a,b&port=5432,5433.
func (c Connection) finishServer() (Connection, error) {
	// The file of an option or of a service may name it.
	elsewhere := c.Query.Has("read_default_file") || c.Query.Has("read_default_group") || c.Query.Has("service")
	if c.Database == "" && !elsewhere {
		return Connection{}, errors.New("the URL names no database: want one behind the last slash, as in …@host/placement")
	}
	names := split(c.Query["host"])
	ports := split(c.Query["port"])
	if len(names) == 0 {
		return c, nil
	}
	c.Hosts = nil
	for i, name := range names {
		port := ""
		if len(ports) > 0 {
			port = ports[min(i, len(ports)-1)]
		}
		if !strings.HasPrefix(name, "/") && strings.Count(name, ":") == 1 {
			name, port, _ = strings.Cut(name, ":")
		}
		h, err := parseHost(name, port)
		if err != nil {
			return Connection{}, err
		}
		c.Hosts = append(c.Hosts, h)
	}
	c.Query.Del("host")
	c.Query.Del("port")
	return c, nil
}

// split returns the elements of values, each of which may be a list with commas.
func split(values []string) []string {
	var words []string
	for _, v := range values {
		words = append(words, strings.Split(v, ",")...)
	}
	return words
}

// InMemory reports whether the database is SQLite without a file.
func (c Connection) InMemory() bool { return c.Dialect == SQLite && c.Path == "" }

// String returns the connection as a URL, with asterisks in place of secrets.
func (c Connection) String() string {
	var b strings.Builder
	b.WriteString(c.Dialect)
	if c.Driver != "" {
		b.WriteString("+" + c.Driver)
	}
	b.WriteString("://" + c.account() + c.servers())
	if path := c.Database + c.Path; path != "" {
		b.WriteString("/" + path)
	}
	if len(c.Query) > 0 {
		b.WriteString("?" + c.query())
	}
	return b.String()
}

// account returns the user and asterisks for the password, with the @ that ends them.
func (c Connection) account() string {
	switch {
	case c.User == "" && c.Password == "":
		return ""
	case c.Password == "":
		return url.PathEscape(c.User) + "@"
	}
	return url.PathEscape(c.User) + ":" + c.Password.String() + "@"
}

// servers returns the hosts, separated by commas.
func (c Connection) servers() string {
	var hosts []string
	for _, h := range c.Hosts {
		hosts = append(hosts, h.String())
	}
	return strings.Join(hosts, ",")
}

// query masks parameters that drivers take passwords from.
func (c Connection) query() string {
	var pairs []string
	for name, values := range c.Query {
		for _, v := range values {
			v = url.QueryEscape(v)
			if strings.Contains(strings.ToLower(name), "pass") {
				v = osloconfig.Secret(v).String()
			}
			pairs = append(pairs, url.QueryEscape(name)+"="+v)
		}
	}
	slices.Sort(pairs)
	return strings.Join(pairs, "&")
}

// parseQuery reads parameters as Python's parse_qsl: empty ones are dropped, and malformed escapes
// are literal text.
func parseQuery(text string) url.Values {
	query := url.Values{}
	for pair := range strings.SplitSeq(text, "&") {
		name, value, _ := strings.Cut(pair, "=")
		if value != "" {
			query.Add(unescape(strings.ReplaceAll(name, "+", " ")), unescape(strings.ReplaceAll(value, "+", " ")))
		}
	}
	return query
}

var escapes = regexp.MustCompile(`(?:%[0-9a-fA-F]{2})+`)

// unescape decodes %XX as Python's unquote: other text after a percent sign is literal, and invalid
// UTF-8 becomes U+FFFD.
func unescape(text string) string {
	return escapes.ReplaceAllStringFunc(text, func(run string) string {
		raw, err := url.PathUnescape(run)
		if err != nil { // cannot be: the pattern admits proper escapes only
			return run
		}
		return strings.ToValidUTF8(raw, "\ufffd")
	})
}
