package migrations

import (
	"embed"
	"fmt"
	"regexp"
	"strings"
)

// rowsFiles has a folder for each service, and one for Berth's own tables (OwnScript), with a
// script for each version that is written once for all databases.
//
//go:embed network compute own
var rowsFiles embed.FS

// NetworkVersion is the version of the network service's tables that this program
// works on, the one row of berth_network.
const NetworkVersion = 5

// ComputeVersion is the same of the compute service's tables, and berth_compute.
const ComputeVersion = 17

// RowsFirst are the first versions of services' tables. Earlier ones were never released.
var RowsFirst = map[string]int{"network": 2, "compute": 5}

// rowsWords are what the words in braces mean in each database. Texts are
// compared by their bytes everywhere.
var rowsWords = map[string][]string{
	"sqlite": {
		"{id}", "VARCHAR(36)",
		"{word}", "VARCHAR(64)",
		"{name}", "VARCHAR(255)",
		"{text}", "TEXT",
		"{real}", "DOUBLE",
		"{time}", "DATETIME",
		"{second}", "DATETIME",
		"{body}", "TEXT",
		"{integer}", "INTEGER",
		"{end}", "",
	},
	"mysql": {
		"{id}", "VARCHAR(36)",
		"{word}", "VARCHAR(64)",
		"{name}", "VARCHAR(255)",
		"{text}", "MEDIUMTEXT",
		"{real}", "DOUBLE",
		"{time}", "DATETIME(6)",
		"{second}", "DATETIME",
		"{body}", "MEDIUMTEXT",
		"{integer}", "SIGNED",
		"{end}", " ENGINE=InnoDB DEFAULT CHARSET=utf8mb4",
	},
	"postgresql": {
		"{id}", `VARCHAR(36) COLLATE "C"`,
		"{word}", `VARCHAR(64) COLLATE "C"`,
		"{name}", `VARCHAR(255) COLLATE "C"`,
		"{text}", `TEXT COLLATE "C"`,
		"{real}", "DOUBLE PRECISION",
		"{time}", "TIMESTAMP WITHOUT TIME ZONE",
		"{second}", "TIMESTAMP WITHOUT TIME ZONE",
		"{body}", "TEXT",
		"{integer}", "BIGINT",
		"{end}", "",
	},
}

// jsonWords match what is in a document: {json column path}, with a path like "claim.Host". It is a
// text, of an object its JSON, and NULL when there is none.
var jsonWords = regexp.MustCompile(`\{json (\w+) ([\w.]+)\}`)

// jsonText is the expression for it in each database, of the column and the path.
var jsonText = map[string]func(column, path string) string{
	"sqlite": func(column, path string) string { return fmt.Sprintf("json_extract(%s, '$.%s')", column, path) },
	"mysql": func(column, path string) string {
		return fmt.Sprintf("JSON_UNQUOTE(JSON_EXTRACT(%s, '$.%s'))", column, path)
	},
	"postgresql": func(column, path string) string {
		return fmt.Sprintf("(CAST(%s AS JSON) #>> '{%s}')", column, strings.ReplaceAll(path, ".", ","))
	},
}

// RowsScript returns the statements that bring the tables of a service that keeps
// flat rows, "network" or "compute", from the version before to a version, RowsFirst being the
// first, in the named database. Collation is the one of MySQL's tables, empty for the server's
// default, and counts nowhere else. They are to be run one by one, in their order and on one
// connection; on MySQL, where each commits by itself, they may be run again when what they make is
// there. The row with the version is left to the caller.
func RowsScript(service, database string, version int, collation string) ([]string, error) {
	words, ok := rowsWords[database]
	if !ok {
		return nil, fmt.Errorf("there are no %s tables for %q", service, database)
	}
	text, err := rowsFiles.ReadFile(fmt.Sprintf("%s/%04d.sql", service, version))
	if err != nil {
		return nil, fmt.Errorf("reading version %d of the %s tables: %w", version, service, err)
	}
	if database == "mysql" && collation != "" {
		words = append(words[:len(words)-1:len(words)-1], words[len(words)-1]+" COLLATE="+collation)
	}
	script := jsonWords.ReplaceAllStringFunc(strings.NewReplacer(words...).Replace(string(text)),
		func(word string) string {
			parts := jsonWords.FindStringSubmatch(word)
			return jsonText[database](parts[1], parts[2])
		})
	return statements(script), nil
}
