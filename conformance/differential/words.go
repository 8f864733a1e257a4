package differential

import (
	"regexp"
	"slices"
	"strings"
)

// sameWords reports whether two explanations are equivalent: equal after the orders that Python's
// sets leave open are normalised, and database drivers' own messages are removed.
func sameWords(a, b string) bool {
	return a == b || settleWords(a) == settleWords(b)
}

// openOrders match messages that list the members of a set. Each group is such
// a list, whose items are separated by a comma.
var openOrders = []*regexp.Regexp{
	regexp.MustCompile(`No such trait (.*?)  $`),
	regexp.MustCompile(`No such trait\(s\): (.*?)\.`),
	regexp.MustCompile(`bad group\(s\) - \[(.*?)\]`),
	regexp.MustCompile("Real suffixes should be specified in `same_subtree`: \\[(.*?)\\] not found"),
	regexp.MustCompile(`found in root_required: (.*?)  $`),
	regexp.MustCompile(
		`Inventory for (?:'|&#x27;)(.*?)(?:'|&#x27;) on resource provider (?:'|&#x27;)(.*?)(?:'|&#x27;) invalid`),
}

// chosenUUID is one that a service chose for a provider it then refused.
var chosenUUID = regexp.MustCompile(`(Unable to create resource provider (?:"|&quot;).*(?:"|&quot;), )[0-9a-f-]{36}`)

// oneOfSome introduces one of several wrong values, whichever a set yields.
var oneOfSome = regexp.MustCompile(`(Expected 'member_of' parameter to contain valid UUID\(s\)\. Got: )[^\n<]*`)

// driverWords precede the text of a database error.
var driverWords = regexp.MustCompile(`(?s)Update conflict: .*`)

func settleWords(s string) string {
	s = driverWords.ReplaceAllString(s, "Update conflict: …")
	s = oneOfSome.ReplaceAllString(s, "$1…")
	s = chosenUUID.ReplaceAllString(s, "$1…")
	for _, re := range openOrders {
		m := re.FindStringSubmatchIndex(s)
		if m == nil {
			continue
		}
		for i := len(m) - 2; i >= 2; i -= 2 {
			items := strings.Split(s[m[i]:m[i+1]], ", ")
			slices.Sort(items)
			s = s[:m[i]] + strings.Join(items, ", ") + s[m[i+1]:]
		}
	}
	return s
}
