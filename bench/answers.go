package main

import (
	"encoding/json"
	"fmt"

	"github.com/berthcloud/berth/bench/load"
	"github.com/berthcloud/berth/bench/servers"
)

// answers are a placement service's answers to requests about every host, by path.
type answers map[string]string

// answers reads them from the running Berth.
func (s *soaking) answers() (answers, error) {
	c, err := load.Dial(s.berth.Addr, servers.Headers...)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	all := answers{}
	for _, root := range s.make(s.cloud).Roots() {
		for _, part := range []string{"inventories", "usages", "allocations", "traits", "aggregates"} {
			path := fmt.Sprintf("/resource_providers/%s/%s", root, part)
			body, err := get(c, path)
			if err != nil {
				return nil, err
			}
			all[path] = string(body)
		}
	}
	return all, nil
}

// differences counts the answers that are not the same to the last byte.
func (a answers) differences(other answers) int {
	n := 0
	for path, body := range a {
		if other[path] != body {
			n++
		}
	}
	return n
}

// settled returns the answers without the generations of providers, which a claim and its release
// increment.
func (a answers) settled() (answers, error) {
	settled := answers{}
	for path, body := range a {
		var answer map[string]any
		if err := json.Unmarshal([]byte(body), &answer); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		delete(answer, "resource_provider_generation")
		text, err := json.Marshal(answer) // in the order of the keys
		if err != nil {
			return nil, err
		}
		settled[path] = string(text)
	}
	return settled, nil
}

// changed counts the answers that are not the same but for generations.
func (a answers) changed(other answers) (int, error) {
	mine, err := a.settled()
	if err != nil {
		return 0, err
	}
	theirs, err := other.settled()
	return mine.differences(theirs), err
}
