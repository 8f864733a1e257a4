package sqlstore

import "github.com/berthcloud/berth/placement"

// TreeRowsBeside reads everything as if there were very much of it.
func ConcurrentTreeRows(rows placement.Reader) (all placement.TreeRows, err error) {
	r := rows.(*reader)
	counts, err := r.countRows()
	if err == nil {
		err = r.halves(&all, counts, r.Concurrently)
	}
	return all, err
}
