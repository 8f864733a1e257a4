package cloud

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// The file of a cloud is one JSON object: the format and its version, then the fields of a Cloud.
const (
	fileFormat  = "berth cloud records"
	fileVersion = 1
)

type fileHead struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
}

// Write writes the records as a file.
func Write(w io.Writer, c *Cloud) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(struct {
		fileHead
		*Cloud
	}{fileHead{fileFormat, fileVersion}, c})
}

// Read reads the records that Write wrote. It fails for anything else, for a version that is newer
// than this program, and for a file that was cut.
func Read(r io.Reader) (*Cloud, error) {
	var file struct {
		fileHead
		Cloud
	}
	d := json.NewDecoder(r)
	switch err := d.Decode(&file); {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, errors.New("the file ends before its records do: it was cut")
	case err != nil:
		return nil, fmt.Errorf("not a file of a cloud's records: %w", err)
	case file.Format != fileFormat:
		return nil, fmt.Errorf("not a file of a cloud's records: its format is %q, not %q", file.Format, fileFormat)
	case file.Version != fileVersion:
		return nil,
			fmt.Errorf("the file has version %d of the format; this program reads version %d", file.Version, fileVersion)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is something after the records in the file")
	}
	if file.Placement != nil {
		file.Placement.Sort()
	}
	return &file.Cloud, nil
}
