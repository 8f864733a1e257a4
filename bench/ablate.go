package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// A program is one of those that -ablate compares.
type program struct{ name, path string }

// programs is a flag of programs to compare, each as name=path, with commas between them.
type programs []program

// Set parses a value.
func (p *programs) Set(text string) error {
	for entry := range strings.SplitSeq(text, ",") {
		name, path, ok := strings.Cut(entry, "=")
		if !ok || name == "" || path == "" {
			return fmt.Errorf("want name=path, not %q", entry)
		}
		*p = append(*p, program{name, path})
	}
	return nil
}

// String returns the value.
func (p *programs) String() string {
	var list []string
	for _, prog := range *p {
		list = append(list, prog.name+"="+prog.path)
	}
	return strings.Join(list, ",")
}

// ablationRuns is how often each program is measured unless -runs says otherwise.
const ablationRuns = 6

// ablate measures the chosen rows with each program in turn, several times, and prints the least
// and the median CPU of a cycle or a request for each row and program: what a mechanism is worth,
// with one program that has it and one that does not. Each run starts with another program, so that
// none always follows the same one.
func (l *lab) ablate(out io.Writer) (ok bool, err error) {
	rows, err := l.chosen()
	if err != nil {
		return false, err
	}
	values := map[string]map[string][]float64{} // by row, then by program
	runs := cmp.Or(l.runs, ablationRuns)
	ok = true
	for n := range runs {
		l.say("run %d of %d", n+1, runs)
		for _, r := range rows {
			r.bars = nil
			for i := range l.programs {
				if l.ctx.Err() != nil {
					return false, l.ctx.Err()
				}
				p := l.programs[(n+i)%len(l.programs)]
				l.program = p.path
				line := l.measure(r)
				cpu, measured := line.Figures.cpu()
				if line.Outcome != reached || !measured {
					fmt.Fprint(out, line)
					ok = false
					continue
				}
				if values[r.name] == nil {
					values[r.name] = map[string][]float64{}
				}
				values[r.name][p.name] = append(values[r.name][p.name], cpu)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		fmt.Fprint(out, l.programs.table(name, values[name]))
	}
	return ok, nil
}

// cpu returns the CPU of a cycle of a mixed row, and of a request of the others.
func (f figures) cpu() (float64, bool) {
	for _, name := range []string{"cpu a cycle", "cpu"} {
		if fig, ok := f.find(name); ok {
			return fig.Value, true
		}
	}
	return 0, false
}

// table returns what the programs need for a row, compared with the first.
func (p programs) table(row string, values map[string][]float64) string {
	var b strings.Builder
	fmt.Fprintln(&b, row)
	first := values[p[0].name]
	for _, prog := range p {
		v := values[prog.name]
		if len(v) == 0 {
			continue
		}
		fmt.Fprintf(&b, "  %-24s least %.3f ms, median %.3f ms of %d", prog.name, slices.Min(v), median(v), len(v))
		if prog != p[0] && len(first) > 0 {
			fmt.Fprintf(&b, "; %+.0f %%, %+.0f %%", 100*(slices.Min(v)/slices.Min(first)-1), 100*(median(v)/median(first)-1))
		}
		fmt.Fprintln(&b)
	}
	return b.String()
}
