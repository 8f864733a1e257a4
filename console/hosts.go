package console

import (
	"net/http"
	"time"

	"github.com/berthcloud/berth/ops/overview"
)

// Hosts are the table of all hosts.
type Hosts struct {
	// Number is that of the state, for the stream of its changes.
	Number int64     `json:"number"`
	Time   time.Time `json:"time"`
	overview.Columns
	// Names of aggregates by their UUID, as far as the compute service has them.
	AggregateNames map[string]string `json:"aggregate_names"`
	// Unread says what could not be read of the cloud, a sentence each.
	Unread []string `json:"unread"`
}

func (c *Console) hosts(_ *http.Request, s *state) (any, error) {
	h := Hosts{
		Number: s.number, Time: s.reading.Time, Columns: *s.table.Columns(),
		AggregateNames: map[string]string{}, Unread: append([]string{}, s.reading.Cloud.Unread...),
	}
	if compute := s.reading.Cloud.Compute; compute != nil {
		for i := range compute.Aggregates {
			h.AggregateNames[compute.Aggregates[i].UUID] = compute.Aggregates[i].Name
		}
	}
	return h, nil
}
