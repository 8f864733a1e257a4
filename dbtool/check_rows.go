package dbtool

import (
	"fmt"
	"strings"

	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/sqlstore/migrations"
	"github.com/berthcloud/berth/sqlstore/sqlconn"
)

// examples is the number of bad rows that a finding names.
const examples = 3

// A reference is a column with ids of another table that has no foreign key.
type reference struct{ table, column, to string }

// allocated are the references of allocations, and referred those of the other
// tables.
var (
	allocated = []reference{
		{"allocations", "resource_provider_id", "resource_providers"},
		{"allocations", "resource_class_id", "resource_classes"},
	}
	referred = []reference{
		{"inventories", "resource_provider_id", "resource_providers"},
		{"inventories", "resource_class_id", "resource_classes"},
		{"resource_provider_traits", "resource_provider_id", "resource_providers"},
		{"resource_provider_traits", "trait_id", "traits"},
		{"resource_provider_aggregates", "resource_provider_id", "resource_providers"},
		{"resource_provider_aggregates", "aggregate_id", "placement_aggregates"},
		{"consumers", "project_id", "projects"},
		{"consumers", "user_id", "users"},
	}
	typed = reference{"consumers", "consumer_type_id", "consumer_types"}
)

// dangling counts the rows that refer to a row that does not exist.
func (in *inspection) dangling(ref reference) (int64, error) {
	return in.number(`
SELECT COUNT(*)
FROM ` + ref.table + ` r
LEFT JOIN ` + ref.to + ` t ON t.id = r.` + ref.column + `
WHERE t.id IS NULL AND r.` + ref.column + ` IS NOT NULL`)
}

// allDangling makes one finding of all references of a list that have bad rows, with the advice
// for them.
func (in *inspection) allDangling(refs []reference, advice string) (Verdict, string, error) {
	var bad []string
	for _, ref := range refs {
		n, err := in.dangling(ref)
		if err != nil {
			return Success, "", err
		}
		if n > 0 {
			bad = append(bad, fmt.Sprintf("%d rows of %s have a %s that is not in %s.", n, ref.table, ref.column, ref.to))
		}
	}
	if bad == nil {
		return Success, "", nil
	}
	return Failure, strings.Join(bad, " ") + " " + advice, nil
}

// checkAllocations finds allocations of missing providers or classes. They are apart from the
// other references because they cannot be put right through the API.
func checkAllocations(in *inspection) (Verdict, string, error) {
	return in.allDangling(allocated,
		"No request can show or release them. Keep a dump, and with services stopped run for each "+
			"DELETE FROM allocations WHERE column NOT IN (SELECT id FROM table).")
}

// checkReferences finds rows of the other tables that refer to missing ones. The types of
// consumers are a column of the newest revisions only.
func checkReferences(in *inspection) (Verdict, string, error) {
	refs := referred
	if in.revision == "" || len(migrations.After(in.revision)) == 0 {
		refs = append([]reference{typed}, refs...)
	}
	return in.allDangling(refs, "Requests about them fail or leave them out. Keep a dump, and with services stopped "+
		"delete the rows, or put back what they refer to.")
}

// usageQuery requests what is used of each inventory, and of those that are not
// there.
const usageQuery = `
SELECT
    p.uuid,
    c.name,
    u.used,
    i.total,
    i.reserved,
    i.allocation_ratio
FROM (
    SELECT
        resource_provider_id,
        resource_class_id,
        SUM(used) AS used
    FROM allocations
    GROUP BY resource_provider_id, resource_class_id
) u
JOIN resource_providers p ON p.id = u.resource_provider_id
JOIN resource_classes c ON c.id = u.resource_class_id
LEFT JOIN inventories i ON i.resource_provider_id = u.resource_provider_id AND i.resource_class_id = u.resource_class_id
ORDER BY p.id, c.id`

// checkUsage finds providers with more in use than their capacity. That is a warning, since it has
// innocent causes: the API accepts an inventory that is below its usage. What is reserved while it
// is in use, as bare-metal nodes are, is no finding.
func checkUsage(in *inspection) (Verdict, string, error) {
	over, named := 0, []string(nil)
	err := in.Each(func(one *sqlconn.Row) {
		used, inv := one.Int(2), placement.Inventory{Total: one.Int(3), Reserved: one.Int(4), AllocationRatio: one.Float(5)}
		if !one.Null(3) && (inv.Fits(used, 0) || inv.ReservedInUse(used)) {
			return
		}
		if over++; over <= examples {
			named = append(named, fmt.Sprintf("%s has %d %s in use of %d", one.Text(0), used, one.Text(1), inv.Capacity()))
		}
	}, usageQuery)
	if err != nil || over == 0 {
		return Success, "", err
	}
	return Warning, fmt.Sprintf(
		"%d inventories have more in use than their capacity%s: %s. Nothing more is placed there; "+
			"move allocations to other providers, or raise total or allocation_ratio.", over, some(over),
		strings.Join(named, "; ")), nil
}

// some says that not all are named.
func some(n int) string {
	if n <= examples {
		return ""
	}
	return fmt.Sprintf(", %d of them", examples)
}

// A forest has the providers by id.
type forest map[int64]kin

// checkTrees finds providers whose parents form a loop or do not exist, and roots that are not
// those of their trees. A search works by root, and would not see such providers, or see them in a
// wrong tree.
func checkTrees(in *inspection) (Verdict, string, error) {
	all, err := sqlconn.List(in.Tx, readKin, `
SELECT
    id,
    COALESCE(parent_provider_id, 0),
    COALESCE(root_provider_id, 0)
FROM resource_providers
ORDER BY id`)
	if err != nil {
		return Success, "", err
	}
	f := make(forest, len(all))
	for _, k := range all {
		f[k.id] = k
	}
	bad, named := 0, []string(nil)
	for _, k := range all {
		if wrong := f.wrong(k); wrong != "" {
			if bad++; bad <= examples {
				named = append(named, fmt.Sprintf("id %d %s", k.id, wrong))
			}
		}
	}
	if bad == 0 {
		return Success, "", nil
	}
	return Failure, fmt.Sprintf(
		"%d resource providers are not in a proper tree%s: %s. Candidates leave them out or are wrong. Keep a dump, "+
			"and with services stopped set their parent_provider_id and root_provider_id.", bad, some(bad),
		strings.Join(named, "; ")), nil
}

// wrong describes what is wrong with a provider, "" for nothing. A missing root is the finding of
// another check.
func (f forest) wrong(k kin) string {
	top := f.top(k.id)
	switch {
	case k.parent != 0 && f[k.parent].id == 0:
		return fmt.Sprintf("has the parent %d, which is not there", k.parent)
	case top == 0:
		return "is its own ancestor, or below one that is"
	case k.root != 0 && k.root != top:
		return fmt.Sprintf("has the root %d, its tree has the root %d", k.root, top)
	}
	return ""
}

// top returns the provider without a parent that the parents of a provider lead to; 0 when they
// form a loop.
func (f forest) top(id int64) int64 {
	for range deepest {
		parent := f[id].parent
		if f[parent].id == 0 {
			return id
		}
		id = parent
	}
	return 0
}
