package sqlstore

import "github.com/berthcloud/berth/placement"

// TreeRowsBeside reads everything as if there were very much of it.
func TreeRowsBeside(rows placement.Reader) (pic placement.TreeRows, err error) {
	r := rows.(*reader)
	counts, err := r.countRows()
	if err == nil {
		err = r.halves(&pic, counts, r.Beside)
	}
	return pic, err
}
