package console

import (
	"cmp"
	"math"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Counts are what services have counted of their requests since a time.
type Counts struct {
	Since    time.Time
	Requests []RequestCount
	Outcomes []Outcome
}

// A RequestCount is about the requests of a kind to a service.
type RequestCount struct {
	Service string
	Request string // the method and the path, "" for all requests
	// Statuses count the answers by their status; 0 is no answer.
	Statuses map[int]int64
	// Within counts the answers within each of the Bounds, which are seconds.
	Bounds []float64
	Within []int64
}

// An Outcome is how often something came about that is no answer's status.
type Outcome struct {
	What  string `json:"what"` // for people
	Count int64  `json:"count"`
}

// Traffic are the requests that services answer: how many in a second, how fast, and with what.
type Traffic struct {
	// Measured is false where there is nobody to count; all else is empty then.
	Measured bool `json:"measured"`
	// Since is when counting began, and Window the seconds that rates and times are of: those since
	// the answer before, to whichever page, at least.
	Since    time.Time        `json:"since"`
	Window   float64          `json:"window"`
	Requests []RequestTraffic `json:"requests"` // the most frequent first
	Outcomes []Outcome        `json:"outcomes"`
}

// A RequestTraffic is about the requests of a kind to a service.
type RequestTraffic struct {
	Service string  `json:"service"`
	Request string  `json:"request"`
	Rate    float64 `json:"rate"` // in a second
	// Median and P99 are the times that half and 99 % of the answers of the window take at most, in
	// seconds; 0 when there are none.
	Median float64 `json:"median"`
	P99    float64 `json:"p99"`
	// Total, Conflicts (409), Refused (other 4xx) and Failed (5xx, or no answer) are since counting
	// began.
	Total     int64 `json:"total"`
	Conflicts int64 `json:"conflicts"`
	Refused   int64 `json:"refused"`
	Failed    int64 `json:"failed"`
}

// trafficWindow is how old counts are at least before others are compared with later ones.
const trafficWindow = 9 * time.Second

// A trafficMeter compares the counts of a source with earlier ones. It counts when it is called
// only, and may be used by several goroutines.
type trafficMeter struct {
	counts func() (Counts, error)

	mu           sync.Mutex
	before, last *countsAt // before is what last is compared with
}

type countsAt struct {
	Counts
	at time.Time
}

// traffic answers with the requests that services answer.
func (c *Console) traffic(*http.Request, *state) (any, error) {
	if c.source.Counts == nil {
		return Traffic{Requests: []RequestTraffic{}, Outcomes: []Outcome{}}, nil
	}
	return c.meter.read(time.Now())
}

// read returns what has happened since the counts of before, which are those of the last call that
// is some seconds ago; the first call returns what has happened since counting began.
func (m *trafficMeter) read(now time.Time) (Traffic, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.last == nil || now.Sub(m.last.at) >= trafficWindow {
		counts, err := m.counts()
		if err != nil {
			return Traffic{}, err
		}
		m.before, m.last = m.last, &countsAt{counts, now}
		if m.before == nil {
			m.before = &countsAt{at: counts.Since}
		}
	}
	t := Traffic{
		Measured: true, Since: m.last.Since, Window: m.last.at.Sub(m.before.at).Seconds(), Requests: []RequestTraffic{},
		Outcomes: append([]Outcome{}, m.last.Outcomes...),
	}
	earlier := map[[2]string]*RequestCount{}
	for i := range m.before.Requests {
		r := &m.before.Requests[i]
		earlier[[2]string{r.Service, r.Request}] = r
	}
	for i := range m.last.Requests {
		r := &m.last.Requests[i]
		t.Requests = append(t.Requests, trafficOf(r, earlier[[2]string{r.Service, r.Request}], t.Window))
	}
	slices.SortFunc(t.Requests, func(a, b RequestTraffic) int {
		return cmp.Or(cmp.Compare(b.Rate, a.Rate), cmp.Compare(b.Total, a.Total), cmp.Compare(a.Service, b.Service),
			cmp.Compare(a.Request, b.Request))
	})
	return t, nil
}

// trafficOf compares the counts of a kind of request with earlier ones, nil for none, some seconds
// before.
func trafficOf(r, earlier *RequestCount, seconds float64) RequestTraffic {
	t := RequestTraffic{Service: r.Service, Request: r.Request}
	for status, n := range r.Statuses {
		t.Total += n
		switch {
		case status == http.StatusConflict:
			t.Conflicts += n
		case status == 0 || status >= http.StatusInternalServerError:
			t.Failed += n
		case status >= http.StatusBadRequest:
			t.Refused += n
		}
	}
	answers, within := t.Total, slices.Clone(r.Within)
	if earlier != nil {
		for _, n := range earlier.Statuses {
			answers -= n
		}
		for i := range min(len(within), len(earlier.Within)) {
			within[i] -= earlier.Within[i]
		}
	}
	if seconds > 0 {
		t.Rate = float64(answers) / seconds
	}
	t.Median, t.P99 = quantile(0.5, answers, r.Bounds, within), quantile(0.99, answers, r.Bounds, within)
	return t
}

// quantile returns the time that a part of some answers take at most, as Prometheus does: between
// two bounds answers are taken to be equally distributed, and what is above the last one is that.
func quantile(part float64, answers int64, bounds []float64, within []int64) float64 {
	rank := part * float64(answers)
	if answers <= 0 || len(bounds) == 0 {
		return 0
	}
	low, below := 0.0, int64(0)
	for i, bound := range bounds {
		if n := within[i]; float64(n) >= rank && n > below {
			const microseconds = 1e6
			seconds := low + (bound-low)*(rank-float64(below))/float64(n-below)
			return math.Round(seconds*microseconds) / microseconds
		}
		low, below = bound, within[i]
	}
	return bounds[len(bounds)-1]
}
