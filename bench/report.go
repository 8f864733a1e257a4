package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"
)

// A report is everything that a run found, in the form that -json writes.
type report struct {
	Date    time.Time `json:"date"`
	Short   bool      `json:"short"`
	Rounds  int       `json:"rounds"`
	Load    float64   `json:"load"` // average of the minute before: other load on the machine
	Machine machine   `json:"machine"`
	Rows    []line    `json:"rows"`
}

// A line is the result of one row.
type line struct {
	Name    string   `json:"name"`
	Title   string   `json:"title"`
	Program string   `json:"program,omitempty"` // where there are several
	Outcome outcome  `json:"outcome"`
	Reasons []string `json:"reasons,omitempty"` // why it is no better
	Figures figures  `json:"figures"`
	Seconds float64  `json:"seconds"` // how long it was measured
}

func newReport(l *lab) *report {
	return &report{
		Date: time.Now().UTC().Truncate(time.Second), Short: l.short, Rounds: l.rounds, Load: loadAverage(),
		Machine: thisMachine(), Rows: []line{},
	}
}

// where describes the machine of the measurements for readers.
func (r *report) where() string {
	m := r.Machine
	text := fmt.Sprintf("%s, %d cores, %d GB, Linux %s, %s, revision %s, %s, %d rounds, load %.1f before",
		m.CPU, m.Cores, m.MemoryGB, m.Kernel, m.Go, m.Revision, r.Date.Format("2006-01-02 15:04 MST"), r.Rounds, r.Load)
	if r.Short {
		text += fmt.Sprintf("; short form: clouds are %d times smaller than the titles say", shortSmaller)
	}
	return text
}

// String returns a line of the table: the outcome, the measurements, and the bars that they do not
// reach.
func (l line) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-8s %-24s %s\n", l.Outcome, l.Name, strings.TrimPrefix(l.Program+": "+l.Title, ": "))
	texts := make([]string, len(l.Figures))
	for i, f := range l.Figures {
		texts[i] = f.String()
	}
	for _, part := range wrapped(texts, 100) {
		fmt.Fprintf(&b, "         %s\n", part)
	}
	for _, reason := range l.Reasons {
		fmt.Fprintf(&b, "         ! %s\n", reason)
	}
	return b.String()
}

// wrapped joins texts to lines of about a width.
func wrapped(texts []string, width int) []string {
	var lines []string
	for _, t := range texts {
		last := len(lines) - 1
		if last < 0 || len(lines[last])+len(t)+3 > width {
			lines = append(lines, t)
			continue
		}
		lines[last] += " | " + t
	}
	return lines
}

func (r *report) summary() string {
	n := map[outcome]int{}
	for _, l := range r.Rows {
		n[l.Outcome]++
	}
	return fmt.Sprintf("%d rows: %d ok, %d short, %d not run, %d failed", len(r.Rows), n[reached], n[short], n[notRun],
		n[broken])
}

func (r *report) write(file string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644)
}
