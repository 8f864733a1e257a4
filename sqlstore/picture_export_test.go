package sqlstore

import "github.com/berthcloud/berth/placement"

// PictureBeside reads everything as if there were very much of it.
func PictureBeside(rows placement.Reader) (pic placement.Picture, err error) {
	r := rows.(*reader)
	counts, err := r.countRows()
	if err == nil {
		err = r.halves(&pic, counts, r.Beside)
	}
	return pic, err
}
