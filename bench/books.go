package main

import (
	"encoding/json"
	"fmt"

	"github.com/berthcloud/berth/bench/load"
	"github.com/berthcloud/berth/bench/servers"
)

// books are a placement service's answers to requests about every host, by path.
type books map[string]string

// books reads them from the running Berth.
func (s *soaking) books() (books, error) {
	c, err := load.Dial(s.berth.Addr, servers.Headers...)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	b := books{}
	for _, root := range s.make(s.world).Roots() {
		for _, part := range []string{"inventories", "usages", "allocations", "traits", "aggregates"} {
			path := fmt.Sprintf("/resource_providers/%s/%s", root, part)
			body, err := get(c, path)
			if err != nil {
				return nil, err
			}
			b[path] = string(body)
		}
	}
	return b, nil
}

// differences counts the answers that are not the same to the last byte.
func (b books) differences(other books) int {
	n := 0
	for path, body := range b {
		if other[path] != body {
			n++
		}
	}
	return n
}

// settled returns the books without the generations of providers, which a claim and its release
// increment.
func (b books) settled() (books, error) {
	s := books{}
	for path, body := range b {
		var answer map[string]any
		if err := json.Unmarshal([]byte(body), &answer); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		delete(answer, "resource_provider_generation")
		text, err := json.Marshal(answer) // in the order of the keys
		if err != nil {
			return nil, err
		}
		s[path] = string(text)
	}
	return s, nil
}

// changed counts the answers that are not the same but for generations.
func (b books) changed(other books) (int, error) {
	mine, err := b.settled()
	if err != nil {
		return 0, err
	}
	theirs, err := other.settled()
	return mine.differences(theirs), err
}
