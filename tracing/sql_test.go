package tracing_test

import (
	"testing"

	"github.com/berthcloud/berth/tracing"
)

func TestSummarize(t *testing.T) {
	for statement, want := range map[string]string{
		"":                              "",
		"COMMIT":                        "COMMIT",
		"select 1 from traits":          "SELECT traits",
		"SELECT id\nFROM\n\t`traits` t": "SELECT traits",
		"INSERT INTO allocations(a, b) VALUES (?, ?)\nON DUPLICATE KEY UPDATE a = ?": "INSERT allocations",
		"UPDATE \"consumers\" SET a = ?":                                             "UPDATE consumers",
		"DELETE FROM inventories;":                                                   "DELETE inventories",
		"SELECT a FROM (SELECT b FROM users) x":                                      "SELECT users",
		"SELECT a FROM projects WHERE b = ? FOR UPDATE":                              "SELECT projects",
		"SELECT a FROM": "SELECT",
	} {
		if got := tracing.Summarize(statement); got != want {
			t.Errorf("summarize(%q) = %q, want %q", statement, got, want)
		}
	}
}
