package scheduler

import (
	"encoding/json"

	"github.com/berthcloud/berth/compute"
)

// Hints are the scheduler hints that have an effect.
type Hints struct {
	Group     string `json:"group"`
	Same      names  `json:"same_host"`
	Different names  `json:"different_host"`
}

// names are a list, or one of them by itself.
type names []string

// UnmarshalJSON reads either.
func (n *names) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*n = names{one}
		return nil
	}
	return json.Unmarshal(data, (*[]string)(n))
}

// ReadHints reads scheduler hints. Fault: BadHints.
func ReadHints(text []byte) (h Hints, err error) {
	if len(text) == 0 {
		return h, nil
	}
	if err := json.Unmarshal(text, &h); err != nil {
		return h, compute.Invalid("BadHints", "The scheduler hints cannot be read: %v", err)
	}
	return h, nil
}
