package migrations

import (
	"embed"
	"fmt"
	"strings"
)

//go:embed network
var networkFiles embed.FS

// NetworkVersion is the version of the network service's tables that this program
// works on, the one row of berth_network.
const NetworkVersion = 1

// networkWords are what the words in braces mean in each database. Texts are
// compared by their bytes everywhere.
var networkWords = map[string][]string{
	"sqlite": {
		"{id}", "VARCHAR(36)",
		"{word}", "VARCHAR(64)",
		"{name}", "VARCHAR(255)",
		"{text}", "TEXT",
		"{time}", "DATETIME",
		"{end}", "",
	},
	"mysql": {
		"{id}", "VARCHAR(36)",
		"{word}", "VARCHAR(64)",
		"{name}", "VARCHAR(255)",
		"{text}", "MEDIUMTEXT",
		"{time}", "DATETIME(6)",
		"{end}", " ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=",
	},
	"postgresql": {
		"{id}", `VARCHAR(36) COLLATE "C"`,
		"{word}", `VARCHAR(64) COLLATE "C"`,
		"{name}", `VARCHAR(255) COLLATE "C"`,
		"{text}", `TEXT COLLATE "C"`,
		"{time}", "TIMESTAMP WITHOUT TIME ZONE",
		"{end}", "",
	},
}

// NetworkScript returns the statements that bring the network service's tables
// from the version before to a version, 1 being the first, in the named database.
// Collation is the one of MySQL's tables and counts nowhere else. They are to be
// run one by one, in their order and on one connection; on MySQL, where each
// commits by itself, they may be run again when what they make is there. The row
// of berth_network is left to the caller.
func NetworkScript(database string, version int, collation string) ([]string, error) {
	words, ok := networkWords[database]
	if !ok {
		return nil, fmt.Errorf("there are no network tables for %q", database)
	}
	text, err := networkFiles.ReadFile(fmt.Sprintf("network/%04d.sql", version))
	if err != nil {
		return nil, fmt.Errorf("reading version %d of the network tables: %w", version, err)
	}
	if database == "mysql" {
		words = append(words[:len(words)-1:len(words)-1], words[len(words)-1]+collation)
	}
	return statements(strings.NewReplacer(words...).Replace(string(text))), nil
}
