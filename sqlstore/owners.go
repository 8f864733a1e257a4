package sqlstore

import (
	"fmt"
	"strings"
	"time"

	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/sqlstore/sqlconn"
)

// ownerIDs are the ids of the projects, users and types that consumers name; 0
// for those that do not exist.
type ownerIDs struct{ projects, users, types map[string]int64 }

func newOwnerIDs() ownerIDs {
	return ownerIDs{make(map[string]int64), make(map[string]int64), make(map[string]int64)}
}

// with has the names of all owners of consumers as well, with the ids that are
// known. Those that are to go name none. The maps of o are extended in place.
func (o ownerIDs) with(requested []placement.ConsumerRow, known ownerIDs) ownerIDs {
	if o.projects == nil {
		o = newOwnerIDs()
	}
	add := func(ids, known map[string]int64, name string) {
		if name != "" && ids[name] == 0 {
			ids[name] = known[name]
		}
	}
	for _, a := range requested {
		add(o.projects, known.projects, a.Project)
		add(o.users, known.users, a.User)
		add(o.types, known.types, a.Type)
	}
	return o
}

// ensure makes the owners of a consumer that do not exist. Every consumer needs a project and a
// user; a type is optional. A row that another service inserts at the same time is found by
// Owner.Ensure.
func (o ownerIDs) ensure(t *sqlconn.Tx, c placement.ConsumerRow) error {
	for _, part := range []struct {
		Owner
		ids  map[string]int64
		name string
	}{{Projects, o.projects, c.Project}, {Users, o.users, c.User}, {consumerTypes, o.types, c.Type}} {
		if part.ids[part.name] != 0 || part.name == "" && part.Owner == consumerTypes {
			continue
		}
		id, err := part.Owner.Ensure(t, part.name)
		if err != nil {
			return err
		}
		part.ids[part.name] = id
	}
	return nil
}

// question requests the ids that are not known; it reports false when there are
// none. The tables are queried in one UNION ALL, each row with the number of its table. Names are
// compared as the database compares them: an owner whose name differs in case only is not found in
// the map, and Ensure then returns the row that the unique index has.
func (o ownerIDs) question() (sqlconn.Question, bool) {
	parts := []struct {
		Owner
		ids map[string]int64
	}{{Projects, o.projects}, {Users, o.users}, {consumerTypes, o.types}}
	var texts []string
	var values []any
	for i, part := range parts {
		_ = sqlconn.InList(unknown(part.ids), func(marks string, args []any) error {
			texts = append(texts, fmt.Sprintf(`
SELECT %d, id, %s
FROM %s
WHERE %s IN (%s)`, i, part.Column, part.Table, part.Column, marks))
			values = append(values, args...)
			return nil
		})
	}
	return sqlconn.Question{Statement: sqlconn.Statement{Query: strings.Join(texts, `
UNION ALL`), Args: values}, Each: func(one *sqlconn.Row) { parts[one.Int(0)].ids[one.Text(2)] = one.Int(1) }}, len(texts) > 0
}

// unknown returns the names that have no id yet.
func unknown(ids map[string]int64) []string {
	var names []string
	for name, id := range ids {
		if id == 0 {
			names = append(names, name)
		}
	}
	return names
}

const (
	// ownersLast is how long ids of owners are cached. Nothing in Berth
	// or upstream's service removes such a row, but people do by hand.
	ownersLast = 5 * time.Second
	// maxOwners is how many are cached.
	maxOwners = 10_000
)

// An ownerCache has the ids that committed transactions found. It belongs to
// the writing goroutine.
type ownerCache struct {
	ids  ownerIDs
	born time.Time
}

// known returns the ids that are cached. When it is too old, too large, or from a clock that was
// set back, it starts again, empty.
func (m *ownerCache) known(now time.Time) ownerIDs {
	full := len(m.ids.projects)+len(m.ids.users)+len(m.ids.types) > maxOwners
	if age := now.Sub(m.born); m.ids.projects == nil || full || age > ownersLast || age < 0 {
		m.ids, m.born = newOwnerIDs(), now
	}
	return m.ids
}

// add adds what a transaction found that is committed now.
func (m *ownerCache) add(o ownerIDs) {
	if m.ids.projects == nil {
		return
	}
	add := func(to, from map[string]int64) {
		for name, id := range from {
			if id != 0 {
				to[name] = id
			}
		}
	}
	add(m.ids.projects, o.projects)
	add(m.ids.users, o.users)
	add(m.ids.types, o.types)
}

// invalidate drops everything: a statement that relied on it failed.
func (m *ownerCache) invalidate() { m.ids = ownerIDs{} }
