package config_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/berthcloud/berth/config"
)

func TestParseConnection(t *testing.T) {
	for _, c := range []struct {
		text  string
		want  config.Connection
		shown string
	}{
		{"sqlite://", config.Connection{Dialect: config.SQLite}, "sqlite://"},
		{"sqlite:///:memory:", config.Connection{Dialect: config.SQLite}, "sqlite://"},
		{"sqlite:///rel/a.db", config.Connection{Dialect: config.SQLite, Path: "rel/a.db"}, "sqlite:///rel/a.db"},
		{"sqlite:////var/lib/a b.db?timeout=3", config.Connection{
			Dialect: config.SQLite, Path: "/var/lib/a b.db", Query: url.Values{"timeout": {"3"}},
		}, "sqlite:////var/lib/a b.db?timeout=3"},
		{
			"mysql+pymysql://pl%40ce:p%3Aa%2Fs%25%zz+@db.example:3307/placement?charset=utf8mb4&ssl_ca=%2Fca&empty=",
			config.Connection{
				Dialect: config.MySQL, Driver: "pymysql", User: "pl@ce", Password: "p:a/s%%zz+",
				Hosts: []config.Host{{Name: "db.example", Port: 3307}}, Database: "placement",
				Query: url.Values{"charset": {"utf8mb4"}, "ssl_ca": {"/ca"}},
			},
			"mysql+pymysql://pl@ce:***@db.example:3307/placement?charset=utf8mb4&ssl_ca=%2Fca",
		},
		{"mariadb://user@[::1]/p?passwd=hunter2", config.Connection{
			Dialect: config.MySQL, User: "user", Hosts: []config.Host{{Name: "::1"}}, Database: "p",
			Query: url.Values{"passwd": {"hunter2"}},
		}, "mysql://user@[::1]/p?passwd=***"},
		{"mysql://user:a:b/c@host/p", config.Connection{
			Dialect: config.MySQL, User: "user", Password: "a:b/c", Hosts: []config.Host{{Name: "host"}}, Database: "p",
		}, "mysql://user:***@host/p"},
		{"postgresql+psycopg2://u:p@/placement?host=a:5432&host=b", config.Connection{
			Dialect: config.PostgreSQL, Driver: "psycopg2", User: "u", Password: "p", Database: "placement",
			Hosts: []config.Host{{Name: "a", Port: 5432}, {Name: "b"}},
		}, "postgresql+psycopg2://u:***@a:5432,b/placement"},
		{"postgresql:///placement?host=/run/pg,b&port=5433&sslmode=require", config.Connection{
			Dialect: config.PostgreSQL, Database: "placement",
			Hosts: []config.Host{{Name: "/run/pg", Port: 5433}, {Name: "b", Port: 5433}},
			Query: url.Values{"sslmode": {"require"}},
		}, "postgresql://" + "/run/pg:5433,b:5433/placement?sslmode=require"},
	} {
		got, err := config.ParseConnection(c.text)
		if err != nil {
			t.Errorf("ParseConnection(%q) = %v", c.text, err)
			continue
		}
		if diff := cmp.Diff(c.want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("ParseConnection(%q) (-want +got):\n%s", c.text, diff)
		}
		if got.String() != c.shown {
			t.Errorf("ParseConnection(%q).String() = %q, want %q", c.text, got, c.shown)
		}
	}
}

func TestInMemory(t *testing.T) {
	for text, want := range map[string]bool{
		"sqlite://": true, "sqlite:///": true, "sqlite:///x": false, "mysql://h/d": false,
	} {
		c, err := config.ParseConnection(text)
		if err != nil || c.InMemory() != want {
			t.Errorf("ParseConnection(%q).InMemory() = %t, %v, want %t", text, c.InMemory(), err, want)
		}
	}
}

func TestParseConnectionErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                                   "want a database URL",
		"hunter2":                            "want a database URL",
		"/var/lib/hunter2.db":                "want a database URL",
		"sqlite://var/lib/hunter2.db":        "has no host",
		"sqlite:///file:hunter2?uri=true":    "not a file: URI",
		"oracle://u:hunter2@h/d":             "want one of the dialects",
		"postgres://u:hunter2@h/d":           "called postgresql",
		"mysql://u:p@hunter2@h/d":            "written %40",
		"mysql://u:p@h/hunter2@h/d":          "written %40",
		"mysql://u:p@hunter2:1@h/d":          "written %40",
		"mysql://u:p@h?hunter2=x@h/d":        "written %40",
		"mysql://us/er:hunter2@h/d":          "written %40",
		"mysql://u:p@[x]hunter2@h/d":         "written %40",
		"postgresql://u:p@x/hunter2?a=b@h/d": "written %40",
		"mysql://u:hunter2/h/d":              "port must be a number",
		"mysql://u:p@h:hunter2/d":            "port must be a number",
		"mysql://u:p@h:70000/hunter2":        "port must be a number",
		"postgresql://u:p@/d?host=a:hunter2": "port must be a number",
	} {
		_, err := config.ParseConnection(text)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("ParseConnection(%q) = %v, want an error with %q and without the URL", text, err, want)
		}
	}
}

func FuzzParseConnection(f *testing.F) {
	f.Add("mysql+pymysql://u:p@h:1/d?x=y")
	f.Add("sqlite:////a")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := config.ParseConnection(text)
		if err == nil && c.Password != "" && !strings.Contains(fmt.Sprint(c), ":***@") {
			t.Errorf("ParseConnection(%q) shows as %s", text, c)
		}
	})
}

// A file that the URL names may have the database.
func TestDatabaseNamedElsewhere(t *testing.T) {
	for _, text := range []string{
		"mysql+pymysql:///?read_default_file=/etc/my.cnf", "mysql://u@h?read_default_group=x", "postgresql:///?service=berth",
	} {
		if _, err := config.ParseConnection(text); err != nil {
			t.Errorf("ParseConnection(%q) = %v", text, err)
		}
	}
}
