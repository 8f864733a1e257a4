package differential

import (
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Ages lists the different answers of Debian's 8.0.0 and the current release, each with the reason.
func Ages() []Excuse {
	return []Excuse{
		{
			Name: "schemas printed with sorted keys",
			Reason: "Debian 12 has jsonschema 4.10, which sorts the keys of the schema and the value it prints below a " +
				"message; " +
				"since 4.18 they keep their order.",
			Match: func(x *Exchange) bool { return sameAfter(x, sortDump) },
		},
		{
			Name: "empty things are too short",
			Reason: "jsonschema 4.10 says that an empty object does not have enough properties and that an empty list or " +
				"string is " +
				"too short; since 4.21 all of them should be non-empty.",
			Match: func(x *Exchange) bool {
				return sameAfter(x, func(s string) string { return sortDump(nonEmpty(s)) })
			},
		},
		{
			Name:   "fewer standard traits",
			Reason: "Debian 12 has os-traits 2.9; later releases of that list only added to it.",
			Match:  fewerTraits,
		},
		{
			Name: "over capacity is refused though it does not get worse",
			Reason: "Since release 10, allocations on a provider that is over capacity already are accepted if its usage does " +
				"not " +
				"grow; 8.0.0 refuses them.",
			Diverges: true,
			Match:    overCapacity,
		},
		{
			Name: "another amount is refused first",
			Reason: "The same: where several amounts are refused, the current release passes over those of providers that do " +
				"not get " +
				"worse and names the next one.",
			Match: func(x *Exchange) bool {
				return x.only("detail") && x.A.Status == http.StatusConflict && short(x.A) != "" && refusedLater(x)
			},
		},
		{
			Name: "the first of several mistakes",
			Reason: "Of mistakes at the same depth, jsonschema 4.10 reports the first it comes to; " +
				"since 4.21 it reports the one whose " +
				"place sorts last.",
			Match: laterPlace,
		},
		{
			Name: "a token of system scope gets the reason",
			Reason: "8.0.0 is made to refuse system scope by rules; the current release refuses it by scope type, " +
				"and its message " +
				"is the bare name of the operation.",
			Match: func(x *Exchange) bool {
				return x.only("detail", "text") && x.A.Status == http.StatusForbidden && x.Request.has("OpenStack-System-Scope") &&
					refused.ReplaceAllString(x.A.detail(), "$1") == x.B.detail()
			},
		},
		{
			Name: "other forms of uuids in queries",
			Reason: "8.0.0 replaces jsonschema's check of uuids by a lenient one for bodies and queries; " +
				"the current release does so " +
				"for bodies only, so that the uuid and in_tree of a listing have to be dashed and bare.",
			Match: func(x *Exchange) bool {
				return x.Request.path() == "/resource_providers" && x.A.Status <= http.StatusBadRequest &&
					x.B.Status == http.StatusBadRequest && looseUUID.MatchString(undashed(x.B.detail()))
			},
		},
		{
			Name: "trailing commas",
			Reason: "Since Python 3.13, JSON with a comma before a closing bracket is refused in words of its own, " +
				"at the place of the " +
				"comma; Debian 12 has 3.11.",
			Match: func(x *Exchange) bool {
				return x.only("detail", "text") &&
					strings.Contains(x.B.detail(), "Malformed JSON: Illegal trailing comma before end of ") &&
					strings.Contains(x.A.detail(), "Malformed JSON: Expecting ")
			},
		},
	}
}

// sameAfter reports whether the explanations are the only difference, and equal once both are
// rewritten.
func sameAfter(x *Exchange, rewrite func(string) string) bool {
	return x.only("detail", "text") && rewrite(x.A.detail()) == rewrite(x.B.detail())
}

const dumpStart = "Failed validating "

// sortDump sorts the words of the schema and the value that follow a
// validation message.
func sortDump(s string) string {
	head, dump, found := strings.Cut(s, dumpStart)
	if !found {
		return s
	}
	words := strings.FieldsFunc(dump, func(r rune) bool { return strings.ContainsRune(" \n{}[],:", r) })
	slices.Sort(words)
	return head + dumpStart + strings.Join(words, " ")
}

var oldEmpty = regexp.MustCompile(`(?:(\{\}) does not have enough properties|(\[\]|''|&#x27;&#x27;) is too ` +
	`short)(\s|$)`)

func nonEmpty(s string) string {
	return oldEmpty.ReplaceAllString(s, "${1}${2} should be non-empty${3}")
}

func fewerTraits(x *Exchange) bool {
	if x.Request.path() != "/traits" || !x.only("body /traits") {
		return false
	}
	older := asStrings(at(x.A.JSON, "traits"))
	for _, t := range asStrings(at(x.B.JSON, "traits")) {
		if i := slices.Index(older, t); i >= 0 {
			older = slices.Delete(older, i, i+1)
		} else if strings.HasPrefix(t, "CUSTOM_") {
			return false
		}
	}
	return len(older) == 0
}

// overCapacity reports whether A stops at a capacity at which B continues, to success or, in a
// reshape, to another error.
func overCapacity(x *Exchange) bool {
	p := x.Request.path()
	if x.A.Status != http.StatusConflict || short(x.A) == "" {
		return false
	}
	switch {
	case p == "/reshaper":
		return x.B.Status == http.StatusNoContent || x.B.Status == http.StatusConflict && inUse.MatchString(x.B.detail())
	case strings.HasPrefix(p, "/allocations"):
		return x.B.Status == http.StatusNoContent
	}
	return false
}

var inUse = regexp.MustCompile(`update conflict: Inventory for '.*' on resource provider '.*' in use\.`)

var shortOn = regexp.MustCompile(`on resource provider '([^']*)'\. The requested amount would exceed the capacity\.`)

// short returns the provider that an answer names as over capacity.
func short(a Answer) string {
	if m := shortOn.FindStringSubmatch(a.detail()); m != nil {
		return m[1]
	}
	return ""
}

var tooMuch = regexp.MustCompile(`for '([^']*)' on resource provider '([^']*)'\. ` +
	`The requested amount would (?:exceed the capacity|violate inventory constraints)\.`)

// refusedLater reports whether the amount that B refuses is behind the one that A refuses.
func refusedLater(x *Exchange) bool {
	a, b := tooMuch.FindStringSubmatch(x.A.detail()), tooMuch.FindStringSubmatch(x.B.detail())
	if a == nil || b == nil {
		return false
	}
	body := x.Request.Body
	if a[2] == b[2] {
		return strings.LastIndex(body, `"`+a[1]+`"`) < strings.LastIndex(body, `"`+b[1]+`"`)
	}
	return strings.LastIndex(body, a[2]) < strings.LastIndex(body, b[2])
}

var looseUUID = regexp.MustCompile(
	`Invalid query string parameters: '(urn:|uuid:|\{)*[0-9a-fA-F]{32}\}?' is not a 'uuid'`)

var refused = regexp.MustCompile(`Policy does not allow (\S+) to be performed\.`)

var place = regexp.MustCompile(`(JSON does not validate|Invalid query string parameters): ` +
	`.*  On instance((?:\[[^\]]*\])*):`)

// cause finds a message about one of several schemas.
var cause = regexp.MustCompile(` in schema\[\d+\]`)

func laterPlace(x *Exchange) bool {
	if !x.only("detail", "text") {
		return false
	}
	a, b := place.FindStringSubmatch(x.A.detail()), place.FindStringSubmatch(x.B.detail())
	if a == nil || b == nil || a[1] != b[1] {
		return false
	}
	stepsA, stepsB := strings.Split(a[2], "["), strings.Split(b[2], "[")
	if cause.MatchString(x.B.detail()) {
		return true // why none of several schemas matches, which does not name the place
	}
	return len(stepsA) == len(stepsB) && comparePlaces(stepsA, stepsB) < 0
}

// comparePlaces orders places by their steps: numbers by value, names by
// letters.
func comparePlaces(a, b []string) int {
	return slices.CompareFunc(a, b, func(s, t string) int {
		if i, errS := strconv.Atoi(strings.TrimSuffix(s, "]")); errS == nil {
			if j, errT := strconv.Atoi(strings.TrimSuffix(t, "]")); errT == nil {
				return i - j
			}
		}
		return strings.Compare(s, t)
	})
}
