package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// A baseline is what several runs of the short form measured, at a release or later.
type baseline struct {
	Figures []recorded `json:"figures"`
}

// A recorded figure of a row has the least, the median and the greatest value of n runs. Rows may
// be recorded at different times.
type recorded struct {
	Row    string  `json:"row"`
	Figure string  `json:"figure"`
	Unit   string  `json:"unit"`
	Min    float64 `json:"min"`
	Median float64 `json:"median"`
	Max    float64 `json:"max"`
	N      int     `json:"n"`
	conditions
}

// conditions are when and where a row was recorded.
type conditions struct {
	Date    time.Time `json:"date"`
	Machine machine   `json:"machine"`
	Load    float64   `json:"load"` // average of the minute before
}

// shortBaseline is where -record writes the baseline, below the root of the product's module.
const shortBaseline = "bench/baselines/short.json"

//go:embed baselines/short.json
var shortRecord []byte

// builtInBaseline returns the baseline that the program was built with.
func builtInBaseline() (*baseline, error) {
	b := &baseline{}
	if err := json.Unmarshal(shortRecord, b); err != nil {
		return nil, fmt.Errorf("%s: %w", shortBaseline, err)
	}
	return b, nil
}

// leastMargin is the part of the median by which a value has to be worse than the worst recorded
// one at least, however close those are to each other.
const leastMargin = 0.2

// bar returns the limit of the gate: a value fails that is beyond the worst recorded one by more
// than that one is beyond the median, or by a fifth of the median if that is more. So the margin
// follows from the spread of the runs: with values between 1.0 and 1.2 around 1.1 it is 0.22, and
// 1.42 is the limit; with values between 0.9 and 1.5 around 1.1 it is 0.4, and 1.9 the limit. Where
// more is better, half of the worst value is the limit at least.
func (r recorded) bar() bar {
	if r.moreIsBetter() {
		return atLeast(r.Figure, max(r.Min-max(r.Median-r.Min, leastMargin*r.Median), r.Min/2))
	}
	return atMost(r.Figure, r.Max+max(r.Max-r.Median, leastMargin*r.Median))
}

func (r recorded) moreIsBetter() bool { return !strings.HasPrefix(r.Figure, "cpu ") }

// sensitivity is the factor by which a median run has to get worse before the gate fails.
func (r recorded) sensitivity() float64 {
	if r.moreIsBetter() {
		return r.Median / r.bar().least
	}
	return r.bar().most / r.Median
}

// compared reports whether a figure is compared with the baseline: it is a ratio to a limit that
// was measured in the same round, so that it depends little on the machine. Times of single
// requests and rates on a busy machine are not.
func compared(name string) bool {
	return strings.HasPrefix(name, "cpu / ") || name == "writes / minimal"
}

// hasLimit reports whether a row has figures that are compared.
func (r row) hasLimit() bool {
	switch r.work.(type) {
	case mixed, candidates, cycles, agentReads:
		return true
	}
	return false
}

// shortBars returns the bars of a row in the short form: those of the baseline; and of the table,
// those for compared figures that the baseline does not have, those that have to be exactly zero,
// and the one for wasted work.
func (b *baseline) shortBars(r row) []bar {
	var bars []bar
	for _, rec := range b.Figures {
		if rec.Row == r.name && compared(rec.Figure) {
			bars = append(bars, rec.bar())
		}
	}
	for _, own := range r.bars {
		has := slices.ContainsFunc(bars, func(b bar) bool { return b.figure == own.figure })
		if !has && (compared(own.figure) || own.exact && own.most == 0 || own.figure == wasted) {
			bars = append(bars, own)
		}
	}
	return bars
}

// put adds what runs of a row measured, in place of what the baseline has of the row.
func (b *baseline) put(row string, runs []figures, under conditions) {
	b.Figures = slices.DeleteFunc(b.Figures, func(r recorded) bool { return r.Row == row })
	for _, f := range runs[0] {
		if !compared(f.Name) {
			continue
		}
		var values []float64
		for _, run := range runs {
			if same, ok := run.find(f.Name); ok {
				values = append(values, same.Value)
			}
		}
		b.Figures = append(b.Figures, recorded{
			Row: row, Figure: f.Name, Unit: f.Unit, N: len(values),
			Min: slices.Min(values), Median: median(values), Max: slices.Max(values),
			conditions: under,
		})
	}
}

// write writes the baseline with a line for each figure, so that two of them can be compared.
func (b *baseline) write(file string) error {
	var lines []string
	for _, r := range b.Figures {
		line, err := json.Marshal(r)
		if err != nil {
			return err
		}
		lines = append(lines, "  "+string(line))
	}
	text := `{"figures":[` + "\n" + strings.Join(lines, ",\n") + "\n]}\n"
	return os.WriteFile(file, []byte(text), 0o644)
}
