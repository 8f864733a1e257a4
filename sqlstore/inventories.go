package sqlstore

import (
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/sqlstore/sqlconn"
)

// inventoryFields are those of an inventory itself.
const inventoryFields = `
SELECT
    i.resource_provider_id,
    i.resource_class_id,
    i.total,
    i.reserved,
    i.min_unit,
    i.max_unit,
    i.step_size,
    i.allocation_ratio,
    COALESCE(i.updated_at, i.created_at),`

// inventoryColumns are what readInventory reads. The sum is looked up in the
// index on provider, class and used, which has all of it.
const inventoryColumns = inventoryFields + `
    (
        SELECT SUM(a.used)
        FROM allocations a
        WHERE a.resource_provider_id = i.resource_provider_id
        AND a.resource_class_id = i.resource_class_id
    )
FROM inventories i`

// unusedColumns are inventoryColumns as if nothing were allocated.
const unusedColumns = inventoryFields + `
    0
FROM inventories i`

// inventoryOrder is the order of inventories in a snapshot.
const inventoryOrder = `
ORDER BY i.resource_provider_id, i.resource_class_id`

// readInventory reads a row of inventoryColumns or unusedColumns. A sum of no allocations is NULL,
// which reads as 0.
func readInventory(r *sqlconn.Row) placement.InventoryRow {
	return placement.InventoryRow{
		Provider: r.Int(0),
		Class:    placement.ClassID(r.Int(1)),
		Inventory: placement.Inventory{
			Total:           r.Int(2),
			Reserved:        r.Int(3),
			MinUnit:         r.Int(4),
			MaxUnit:         r.Int(5),
			StepSize:        r.Int(6),
			AllocationRatio: r.Float(7),
		},
		Modified: r.Time(8),
		Used:     r.Int(9),
	}
}

func (r *reader) Inventories(providers ...int64) ([]placement.InventoryRow, error) {
	return sqlconn.ListIn(r.Tx, readInventory, inventoryColumns+`
WHERE i.resource_provider_id IN (`, providers, `)`+inventoryOrder)
}

func (r *reader) ClassInUse(id placement.ClassID) (bool, error) {
	return r.Exists(`
SELECT 1
FROM inventories
WHERE resource_class_id = ?
LIMIT 1`, id)
}

// InsertInventory relies on upstream's unique constraint on provider and class. The caller has
// locked the provider.
func (w *writer) InsertInventory(provider int64, class placement.ClassID, inv placement.Inventory) error {
	_, clash, err := w.Insert(`
INSERT INTO inventories (
    created_at,
    resource_provider_id,
    resource_class_id,
    total,
    reserved,
    min_unit,
    max_unit,
    step_size,
    allocation_ratio
)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		w.Written(), provider, class,
		inv.Total, inv.Reserved, inv.MinUnit, inv.MaxUnit, inv.StepSize, inv.AllocationRatio)
	if clash {
		return placement.ErrNameTaken
	}
	return err
}

func (w *writer) UpdateInventory(provider int64, class placement.ClassID, inv placement.Inventory) error {
	return w.change(`
UPDATE inventories
SET
    updated_at = ?,
    total = ?,
    reserved = ?,
    min_unit = ?,
    max_unit = ?,
    step_size = ?,
    allocation_ratio = ?
WHERE resource_provider_id = ? AND resource_class_id = ?`,
		w.Written(),
		inv.Total, inv.Reserved, inv.MinUnit, inv.MaxUnit, inv.StepSize, inv.AllocationRatio,
		provider, class)
}

func (w *writer) DeleteInventories(provider int64, classes ...placement.ClassID) (int, error) {
	return sqlconn.ExecIn(w.Tx, `
DELETE FROM inventories
WHERE resource_provider_id = ?
AND resource_class_id IN (`, classes, `)`, provider)
}
