package console

import (
	"context"
	"net/http"

	"github.com/berthcloud/berth/placement/explain"
)

// An Explained is why a request has the hosts that it has.
type Explained struct {
	Subject
	*explain.Explanation
	Summary string `json:"summary"`
	// ChangeTexts say what each of the changes is, to follow "if".
	ChangeTexts []string `json:"change_texts"`
	// MissTexts say what each of the near hosts lacks.
	MissTexts [][]string `json:"miss_texts"`
	// Refused are hosts that fit, and that Nova does not take.
	Refused []RefusedHost `json:"not_taken"`
}

// nearHosts is how many hosts that do not fit are described.
const nearHosts = 12

// explain answers why the hosts do not fit that do not, first ?host=.
func (c *Console) explain(r *http.Request, s *state) (any, error) {
	requested, err := c.subject(r, s)
	if err != nil {
		return nil, err
	}
	var e *explain.Explanation
	err = c.compute(r.Context(), func(ctx context.Context) (err error) {
		e, err = explain.Explain(ctx, s.reading.Snapshot, requested.query,
			explain.Options{Near: nearHosts, Host: r.URL.Query().Get("host")})
		return err
	})
	if err != nil {
		return nil, err
	}
	x := Explained{
		Subject: requested.describe(), Explanation: e, Summary: e.Summary(), ChangeTexts: []string{}, MissTexts: [][]string{},
		Refused: requested.refusedHosts(s.reading.Cloud, e.Fit),
	}
	for _, change := range e.Changes {
		x.ChangeTexts = append(x.ChangeTexts, change.String())
	}
	for _, host := range e.Near {
		texts := []string{}
		for _, miss := range host.Misses {
			texts = append(texts, miss.String())
		}
		x.MissTexts = append(x.MissTexts, texts)
	}
	return x, nil
}
