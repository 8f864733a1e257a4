package migrations

// A Kind says what a column holds, as far as it matters for copying it.
type Kind int

// The kinds of columns.
const (
	Int   Kind = iota // at most 32 bits, signed
	Float             // of single precision on MySQL, double elsewhere
	Text
	Time // without a zone: UTC; text in SQLite
)

// A Column is a column of a table.
type Column struct {
	Name string
	Kind Kind
}

// A Table is one of upstream's tables.
type Table struct {
	Name    string
	Columns []Column // all of them, in their order
	// Key is the primary key: to order by, and to page with.
	Key []string
	// Serial says that the key is an id that the database counts up by
	// itself. Rows that are loaded bring theirs, 0 among them: MySQL takes it
	// for "the next one" unless sql_mode has NO_AUTO_VALUE_ON_ZERO, and
	// PostgreSQL needs the highest (setval) when all are there.
	Serial bool
	// Self are columns that refer to rows of the same table, in any order: a
	// provider may have been moved below a younger one. They can be NULL, and
	// are to be until all rows are there, or before rows are deleted.
	Self []string
}

// Tables are upstream's tables, but for alembic_version, each behind those that
// it refers to: load them in this order, empty them in the opposite one. The
// list is not to be changed.
var Tables = []Table{
	counted("resource_classes", Column{"name", Text}),
	counted("traits", Column{"name", Text}),
	counted("consumer_types", Column{"name", Text}),
	counted("projects", Column{"external_id", Text}),
	counted("users", Column{"external_id", Text}),
	counted("placement_aggregates", Column{"uuid", Text}),
	providers(),
	pairs("resource_provider_traits", "trait_id", "resource_provider_id"),
	pairs("resource_provider_aggregates", "resource_provider_id", "aggregate_id"),
	counted("inventories",
		Column{"resource_provider_id", Int},
		Column{"resource_class_id", Int},
		Column{"total", Int},
		Column{"reserved", Int},
		Column{"min_unit", Int},
		Column{"max_unit", Int},
		Column{"step_size", Int},
		Column{"allocation_ratio", Float}),
	counted("consumers",
		Column{"uuid", Text},
		Column{"project_id", Int},
		Column{"user_id", Int},
		Column{"generation", Int},
		Column{"consumer_type_id", Int}),
	counted("allocations",
		Column{"resource_provider_id", Int},
		Column{"consumer_id", Text},
		Column{"resource_class_id", Int},
		Column{"used", Int}),
}

// stamped puts the columns before others that all tables begin with.
func stamped(columns ...Column) []Column {
	return append([]Column{{"created_at", Time}, {"updated_at", Time}}, columns...)
}

// counted is a table whose rows have an id.
func counted(name string, columns ...Column) Table {
	return Table{
		Name:    name,
		Columns: append(stamped(Column{"id", Int}), columns...),
		Key:     []string{"id"},
		Serial:  true,
	}
}

// providers is the table of providers, the only one with references to itself.
func providers() Table {
	t := counted("resource_providers",
		Column{"uuid", Text},
		Column{"name", Text},
		Column{"generation", Int},
		Column{"root_provider_id", Int},
		Column{"parent_provider_id", Int})
	t.Self = []string{"root_provider_id", "parent_provider_id"}
	return t
}

// pairs is a table that connects rows of two others.
func pairs(name, one, other string) Table {
	return Table{
		Name:    name,
		Columns: stamped(Column{one, Int}, Column{other, Int}),
		Key:     []string{one, other},
	}
}
