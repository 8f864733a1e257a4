package differential_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/berthcloud/berth/conformance/differential"
)

// problem writes an error document.
func problem(status int, detail string) string {
	d, err := json.Marshal(detail)
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf(`{"errors": [{"status": %d, "detail": %s}]}`, status, d)
}

// TestExcusesAreNarrow checks that each excuse covers its case, and no similar one.
func TestExcusesAreNarrow(t *testing.T) {
	const (
		sorted = "JSON does not validate: 1 is not of type 'string'  Failed validating 'type' in schema: " +
			"    {'maxLength': 9, 'type': 'string'}  On instance:     1  "
		unsorted = "JSON does not validate: 1 is not of type 'string'  Failed validating 'type' in schema:     {'type': " +
			"'string', 'maxLength': 9}  On instance:     1  "
		other = "JSON does not validate: 1 is not of type 'string'  Failed validating 'type' in schema:     {'type': " +
			"'string', 'maxLength': 8}  On instance:     1  "
		at0 = "JSON does not validate: 1 is bad  Failed validating 'type' in schema:     {}  On instance['a'][0]: " +
			"    1  "
		at10 = "JSON does not validate: 2 is bad  Failed validating 'type' in schema:     {}  On instance['a'][10]: " +
			"    2  "
		above = "JSON does not validate: 2 is bad  Failed validating 'type' in schema:     {}  On instance['a']:     2  "
		full  = "Unable to create allocation for 'VCPU' on resource provider '%s'. " +
			"The requested amount would exceed the capacity."
		odd = "Unable to create allocation for '%s' on resource provider '%s'. " +
			"The requested amount would violate inventory constraints."
	)
	claims := differential.Request{
		Method: "POST", Target: "/allocations", Body: `{"a": {"first": {"VCPU": 1}}, "b": {"first": {"OTHER": 1}}}`,
	}
	claim := differential.Request{Method: "PUT", Target: "/allocations/c", Body: `{"first": 1, "second": 2}`}
	scoped := differential.Request{
		Method: "GET", Target: "/traits", Header: []differential.Field{{Name: "OpenStack-System-Scope", Value: "all"}},
	}
	for _, tt := range []struct {
		name    string
		request differential.Request
		statusA int
		bodyA   string
		statusB int
		bodyB   string
		want    string
	}{
		{"Sorted", claim, 400, problem(400, sorted), 400, problem(400, unsorted), "schemas printed with sorted keys"},
		{"NotSortedButDifferent", claim, 400, problem(400, sorted), 400, problem(400, other), ""},
		{
			"Empty", claim, 400, problem(400, "{} does not have enough properties"), 400, problem(400, "{} should be non-empty"),
			"empty things are too short",
		},
		{
			"NotEmpty", claim, 400, problem(400, "{} does not have enough properties"), 400,
			problem(400, "[] should be non-empty"), "",
		},
		{"NotShort", claim, 400, problem(400, "'a' is too short"), 400, problem(400, "'a' should be non-empty"), ""},
		{"LaterPlace", claim, 400, problem(400, at0), 400, problem(400, at10), "the first of several mistakes"},
		{"EarlierPlace", claim, 400, problem(400, at10), 400, problem(400, at0), ""},
		{"HigherPlace", claim, 400, problem(400, at0), 400, problem(400, above), ""},
		{
			"MoreTraits", get("/traits"), 200, `{"traits": ["A", "CUSTOM_A"]}`, 200, `{"traits": ["A", "B", "CUSTOM_A"]}`,
			"fewer standard traits",
		},
		{"MoreCustomTraits", get("/traits"), 200, `{"traits": ["A"]}`, 200, `{"traits": ["A", "CUSTOM_A"]}`, ""},
		{"FewerTraits", get("/traits"), 200, `{"traits": ["A", "B"]}`, 200, `{"traits": ["A"]}`, ""},
		{"TraitsElsewhere", get("/x"), 200, `{"traits": ["A"]}`, 200, `{"traits": ["A", "B"]}`, ""},
		{
			"NoWorse", claim, 409, problem(409, fmt.Sprintf(full, "first")), 204, "",
			"over capacity is refused though it does not get worse",
		},
		{"Overcommitted", get("/x"), 409, problem(409, fmt.Sprintf(full, "first")), 204, "", ""},
		{
			"NextShort", claim, 409, problem(409, fmt.Sprintf(full, "first")), 409, problem(409, fmt.Sprintf(full, "second")),
			"another amount is refused first",
		},
		{
			"NextOdd", claim, 409, problem(409, fmt.Sprintf(full, "first")), 409,
			problem(409, fmt.Sprintf(odd, "OTHER", "second")), "another amount is refused first",
		},
		{
			"NextClass", claims, 409, problem(409, fmt.Sprintf(full, "first")), 409,
			problem(409, fmt.Sprintf(odd, "OTHER", "first")), "another amount is refused first",
		},
		{
			"SameClass", claims, 409, problem(409, fmt.Sprintf(full, "first")), 409,
			problem(409, fmt.Sprintf(odd, "VCPU", "first")), "",
		},
		{
			"OddFirst", claims, 409, problem(409, fmt.Sprintf(odd, "VCPU", "first")), 409,
			problem(409, fmt.Sprintf(odd, "OTHER", "first")), "",
		},
		{
			"PreviousShort", claim, 409, problem(409, fmt.Sprintf(full, "second")), 409,
			problem(409, fmt.Sprintf(full, "first")), "",
		},
		{
			"Scope", scoped, 403, problem(403, "Policy does not allow x:y to be performed."), 403, problem(403, "x:y"),
			"a token of system scope gets the reason",
		},
		{"NoScope", claim, 403, problem(403, "Policy does not allow x:y to be performed."), 403, problem(403, "x:y"), ""},
		{
			"BareUUID", get("/resource_providers?uuid=x"), 200, `{}`, 400,
			problem(400, "Invalid query string parameters: 'cda45d99a79c4f2db96383ffac6f98ec' is not a 'uuid'  Failed"),
			"other forms of uuids in queries",
		},
		{
			"NoUUID", get("/resource_providers?uuid=x"), 200, `{}`, 400,
			problem(400, "Invalid query string parameters: 'x' is not a 'uuid'"), "",
		},
		{
			"Orphan", claim, 409, problem(409, "consumer generation conflict - expected 0 but got None"), 204, "",
			"consumers without allocations",
		},
		{"NoOrphan", claim, 409, problem(409, "consumer generation conflict - expected 1 but got None"), 204, "", ""},
		{
			"Broken", claim, 500, problem(500, "'float' object is not iterable"), 400, problem(400, "x"),
			"inventories that are no objects",
		},
		{
			"NoNumber", claim, 500, problem(500, "cannot convert float infinity to integer"), 400, problem(400, "x"),
			"ratios that are no numbers",
		},
		{
			"NoNumberStored", claim, 204, "", 400, problem(400, "The allocation ratio -Inf cannot be stored."),
			"ratios that are stored though they are no numbers",
		},
		{"NumberStored", claim, 204, "", 400, problem(400, "The reserved value is greater than total."), ""},
		{"BrokenToo", claim, 500, problem(500, "'float' object is not iterable"), 500, problem(500, "panic"), ""},
		{"BrokenOtherwise", claim, 500, problem(500, "surprise"), 400, problem(400, "x"), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			x := differential.Exchange{
				Request: tt.request,
				A:       answer(tt.request, tt.statusA, tt.bodyA),
				B:       answer(tt.request, tt.statusB, tt.bodyB),
			}
			for _, e := range []*differential.Answer{&x.A, &x.B} {
				delete(e.Head, "content-type") // an empty body has none
			}
			x.Differences = differential.Compare(x.A, x.B)
			if got := excuse(&x); got != tt.want {
				t.Errorf("excused as %q, want %q\n%v", got, tt.want, x.Differences)
			}
		})
	}
}

func excuse(x *differential.Exchange) string {
	for _, e := range append(differential.Ages(), differential.Faults()...) {
		if e.Match(x) {
			return e.Name
		}
	}
	return ""
}

func TestExcusesSayWhy(t *testing.T) {
	seen := map[string]bool{}
	for _, e := range append(differential.Ages(), differential.Faults()...) {
		if e.Name == "" || e.Reason == "" || seen[e.Name] {
			t.Errorf("excuse %q lacks a name of its own or a reason", e.Name)
		}
		seen[e.Name] = true
	}
}
