package placementclient

import (
	"encoding/json"
	"errors"

	"github.com/berthcloud/berth/compute/selection"
)

// ReadCandidates reads candidates quickly, if that can be, and slowly.
func ReadCandidates(body []byte) (quickly selection.Answer, could bool, slowly selection.Answer, err error) {
	var q, s wireCandidates
	if could = q.QuickRead(body); could {
		quickly = q.answer()
	}
	if err = json.Unmarshal(body, &s); err == nil {
		slowly = s.answer()
	}
	return quickly, could, slowly, err
}

// ReadQuickly and ReadSlowly are the two ways alone.
func ReadQuickly(body []byte) error {
	var w wireCandidates
	if !w.QuickRead(body) {
		return errors.New("it cannot be read quickly")
	}
	_ = w.answer()
	return nil
}

// ReadSlowly is encoding/json's.
func ReadSlowly(body []byte) error {
	var w wireCandidates
	err := json.Unmarshal(body, &w)
	_ = w.answer()
	return err
}
