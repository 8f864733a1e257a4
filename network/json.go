package network

import "encoding/json"

// JSONObject is a JSON object, the empty one for none.
func JSONObject(object []byte) []byte {
	if len(object) == 0 || string(object) == "null" {
		return []byte("{}")
	}
	return object
}

// SameJSON reports whether two objects are the same.
func SameJSON(a, b []byte) bool {
	var x, y any
	if json.Unmarshal(JSONObject(a), &x) != nil || json.Unmarshal(JSONObject(b), &y) != nil {
		return false
	}
	one, _ := json.Marshal(x) // they were decoded from JSON
	two, _ := json.Marshal(y)
	return string(one) == string(two)
}
