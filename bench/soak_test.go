package main

import "testing"

func TestQuarters(t *testing.T) {
	for _, c := range []struct {
		name         string
		values       []float64
		second, last float64
	}{
		{"WarmingUp", []float64{1, 2, 10, 10, 10, 10, 10, 10}, 10, 10},
		{"Growing", []float64{1, 2, 3, 4, 5, 6, 7, 8}, 3.5, 7.5},
		{"Few", []float64{1, 2, 3}, 1, 3},
		{"One", []float64{7}, 7, 7},
	} {
		if second, last := quarters(c.values); second != c.second || last != c.last {
			t.Errorf("%s: got %v, %v; want %v, %v", c.name, second, last, c.second, c.last)
		}
	}
}

func TestAnswers(t *testing.T) {
	before := answers{"/a": `{"resource_provider_generation": 1, "usages": {"VCPU": 1}}`, "/b": `{"traits": []}`}
	claimed := answers{"/a": `{"resource_provider_generation": 2, "usages": {"VCPU": 2}}`, "/b": `{"traits": []}`}
	released := answers{"/a": `{"resource_provider_generation": 3, "usages": {"VCPU": 1}}`, "/b": `{"traits": []}`}
	for _, c := range []struct {
		name                 string
		after                answers
		changed, differences int
	}{
		{"Same", before, 0, 0},
		{"Claimed", claimed, 1, 1},
		{"Released", released, 0, 1},
		{"Lost", answers{"/a": before["/a"]}, 1, 1},
	} {
		changed, err := before.changed(c.after)
		if err != nil || changed != c.changed {
			t.Errorf("%s: changed %d, %v; want %d", c.name, changed, err, c.changed)
		}
		if got := before.differences(c.after); got != c.differences {
			t.Errorf("%s: differences %d, want %d", c.name, got, c.differences)
		}
	}
}
