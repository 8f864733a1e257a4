package agent

import (
	"fmt"
	"slices"
	"sync"
)

// Findings are the rules that are not enforced, for the heartbeats. The zero value is empty. It may
// be used concurrently.
type Findings struct {
	mu  sync.Mutex
	all []string
}

// maxFindings bounds the reported findings; a last line has the number of the others.
const maxFindings = 50

// Set replaces them and reports whether they are others than before.
func (f *Findings) Set(all []string) (changed bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	changed = !slices.Equal(f.all, all)
	f.all = all
	return changed
}

// List returns them, not too many, and never nil.
func (f *Findings) List() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := append([]string{}, f.all[:min(len(f.all), maxFindings)]...)
	if more := len(f.all) - len(list); more > 0 {
		list = append(list, fmt.Sprintf("and %d more", more))
	}
	return list
}
