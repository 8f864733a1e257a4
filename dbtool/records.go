package dbtool

import (
	"context"
	"fmt"

	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/sqlstore/sqlconn"
)

// Placement reads the records of the placement service in one transaction, a query for each table.
// Without consumers, Consumers of the result is nil. Rows that refer to a row that does not exist
// are left out, as the service does, except allocations without consumer: they count to what is
// used, so they are there as a consumer without project.
func (t *Tables) Placement(ctx context.Context, consumers bool, p Progress) (*cloud.Placement, error) {
	var records *cloud.Placement
	err := t.Read(ctx, func(r *sqlconn.Tx) error {
		if err := t.complete(r); err != nil {
			return err
		}
		_, total, err := count(r)
		if err != nil {
			return err
		}
		l := &recordLoader{
			Tx: r, meter: meter{progress: p, of: total}, records: &cloud.Placement{}, providers: map[int64]int{},
		}
		if err := l.load(consumers); err != nil {
			return err
		}
		records = l.records
		return nil
	})
	if err != nil {
		return nil, err
	}
	records.Sort()
	return records, nil
}

// A recordLoader reads the tables one by one. The names of classes, traits and aggregates are read
// before the rows that have their ids.
type recordLoader struct {
	*sqlconn.Tx
	meter   meter
	records *cloud.Placement
	// providers are the indexes of providers in the records, by their ids.
	providers map[int64]int
}

func (l *recordLoader) load(consumers bool) error {
	classes, err := l.names("resource_classes", "name")
	if err != nil {
		return err
	}
	traits, err := l.names("traits", "name")
	if err != nil {
		return err
	}
	aggregates, err := l.names("placement_aggregates", "uuid")
	if err != nil {
		return err
	}
	for _, name := range classes {
		l.records.Classes = append(l.records.Classes, name)
	}
	for _, name := range traits {
		l.records.Traits = append(l.records.Traits, name)
	}
	if err := l.loadProviders(); err != nil {
		return err
	}
	if err := l.loadInventories(classes); err != nil {
		return err
	}
	for _, m := range []struct {
		table, column string
		names         map[int64]string
		of            func(*cloud.Provider) *[]string
	}{
		{"resource_provider_traits", "trait_id", traits, func(p *cloud.Provider) *[]string { return &p.Traits }},
		{
			"resource_provider_aggregates", "aggregate_id", aggregates,
			func(p *cloud.Provider) *[]string { return &p.Aggregates },
		},
	} {
		err := l.each(m.table, `SELECT resource_provider_id, `+m.column+` FROM `+m.table, func(row *sqlconn.Row) {
			if at, ok := l.providers[row.Int(0)]; ok && m.names[row.Int(1)] != "" {
				list := m.of(&l.records.Providers[at])
				*list = append(*list, m.names[row.Int(1)])
			}
		})
		if err != nil {
			return err
		}
	}
	return l.loadAllocations(classes, consumers)
}

// each calls fn with the rows of a query, and counts them for the progress.
func (l *recordLoader) each(table, query string, fn func(*sqlconn.Row)) error {
	rows := 0
	err := l.Each(func(row *sqlconn.Row) {
		fn(row)
		rows++
	}, query)
	l.meter.add(table, rows)
	if err != nil {
		return fmt.Errorf("%s: %w", table, err)
	}
	return nil
}

// names reads a table of names by their ids.
func (l *recordLoader) names(table, column string) (map[int64]string, error) {
	all := map[int64]string{}
	err := l.each(table, `SELECT id, `+column+` FROM `+table, func(row *sqlconn.Row) { all[row.Int(0)] = row.Text(1) })
	return all, err
}

// loadProviders reads the providers. One without root, which old releases have left, is a root.
func (l *recordLoader) loadProviders() error {
	var parents, roots []int64
	err := l.each("resource_providers", `
SELECT
    id,
    uuid,
    name,
    generation,
    parent_provider_id,
    root_provider_id
FROM resource_providers`, func(row *sqlconn.Row) {
		id, parent, root := row.Int(0), int64(0), row.Int(0)
		if !row.Null(4) {
			parent = row.Int(4)
		}
		if !row.Null(5) {
			root = row.Int(5)
		}
		p := cloud.Provider{
			UUID: row.Text(1), Name: row.Text(2), Inventories: map[string]cloud.Inventory{}, Usages: map[string]int64{},
		}
		if !row.Null(3) {
			p.Generation = row.Int(3)
		}
		l.providers[id] = len(l.records.Providers)
		l.records.Providers = append(l.records.Providers, p)
		parents, roots = append(parents, parent), append(roots, root)
	})
	for i := range l.records.Providers {
		if at, ok := l.providers[parents[i]]; ok {
			l.records.Providers[i].Parent = l.records.Providers[at].UUID
		}
		if at, ok := l.providers[roots[i]]; ok {
			l.records.Providers[i].Root = l.records.Providers[at].UUID
		}
	}
	return err
}

func (l *recordLoader) loadInventories(classes map[int64]string) error {
	d := l.Dialect()
	ratio := "allocation_ratio"
	if d == sqlconn.MySQLDialect { // as in selected
		ratio += " + 0.0E0"
	}
	return l.each("inventories", `
SELECT
    resource_provider_id,
    resource_class_id,
    total,
    reserved,
    min_unit,
    max_unit,
    step_size,
    `+ratio+`
FROM inventories`, func(row *sqlconn.Row) {
		at, ok := l.providers[row.Int(0)]
		class := classes[row.Int(1)]
		if !ok || class == "" {
			return
		}
		l.records.Providers[at].Inventories[class] = cloud.Inventory{
			Total: row.Int(2), Reserved: row.Int(3), MinUnit: row.Int(4), MaxUnit: row.Int(5), StepSize: row.Int(6),
			AllocationRatio: toFloat(d, row.Float(7)),
		}
	})
}

// loadAllocations reads what is used, and by whom.
func (l *recordLoader) loadAllocations(classes map[int64]string, consumers bool) error {
	var list []cloud.Consumer
	index := map[string]int{}
	if consumers {
		list = []cloud.Consumer{}
		err := l.each("consumers", `
SELECT
    c.uuid,
    c.generation,
    p.external_id,
    u.external_id,
    t.name
FROM consumers c
LEFT JOIN projects p ON p.id = c.project_id
LEFT JOIN users u ON u.id = c.user_id
LEFT JOIN consumer_types t ON t.id = c.consumer_type_id`, func(row *sqlconn.Row) {
			index[row.Text(0)] = len(list)
			list = append(list, cloud.Consumer{
				UUID: row.Text(0), Generation: row.Int(1), Project: row.Text(2), User: row.Text(3), Type: row.Text(4),
			})
		})
		if err != nil {
			return err
		}
	}
	err := l.each("allocations", `SELECT resource_provider_id, resource_class_id, consumer_id, used FROM allocations`,
		func(row *sqlconn.Row) {
			at, ok := l.providers[row.Int(0)]
			class := classes[row.Int(1)]
			if !ok || class == "" {
				return
			}
			provider, uuid, used := &l.records.Providers[at], row.Text(2), row.Int(3)
			provider.Usages[class] += used
			if !consumers {
				return
			}
			i, ok := index[uuid]
			if !ok {
				i, index[uuid] = len(list), len(list)
				list = append(list, cloud.Consumer{UUID: uuid})
			}
			c := &list[i]
			if c.Allocations == nil {
				c.Allocations = map[string]map[string]int64{}
			}
			if c.Allocations[provider.UUID] == nil {
				c.Allocations[provider.UUID] = map[string]int64{}
			}
			c.Allocations[provider.UUID][class] += used
		})
	if consumers {
		l.records.Consumers = make([]cloud.Consumer, 0, len(list))
		for _, c := range list {
			if len(c.Allocations) > 0 {
				l.records.Consumers = append(l.records.Consumers, c)
			}
		}
	}
	return err
}
