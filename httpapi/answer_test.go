package httpapi

import "testing"

// Only what looks like the id of an OpenStack service's request gets into the
// log.
func TestRequestIDs(t *testing.T) {
	const good = "req-7b0a2a36-6c2a-4b19-9bb0-0d6d7f3e1a11"
	for id, want := range map[string]bool{
		good:           true,
		newRequestID(): true,
		"":             false,
		"req-":         false,
		good[4:]:       false,
		good + "0":     false,
		good[:39]:      false,
		"REQ-7b0a2a36-6c2a-4b19-9bb0-0d6d7f3e1a11":  false,
		"req-7B0a2a36-6c2a-4b19-9bb0-0d6d7f3e1a11":  false,
		"req-7b0a2a366c2a-4b19-9bb0-0d6d7f3e1a11-":  false,
		"req-7b0a2a36-6c2a-4b19-9bb0-0d6d7f3e1a1g":  false,
		"req-7b0a2a36-6c2a-4b19-9bb0-0d6d7f3e1a1\n": false,
	} {
		if got := isRequestID(id); got != want {
			t.Errorf("isRequestID(%q) = %v", id, got)
		}
	}
}
