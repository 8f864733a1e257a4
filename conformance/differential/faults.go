package differential

import (
	"net/http"
	"regexp"
	"strings"
)

// Faults lists errors of upstream in all its releases. Berth does not have to repeat them.
func Faults() []Excuse {
	return []Excuse{
		{
			Name: "amounts pile up",
			Reason: "When one resource class is requested by several groups, the search adds up the amounts of merged groups " +
				"in " +
				"objects that other candidates share, unless group_policy is none. The candidates then request too much, and " +
				"some are dropped because of that.",
			Match: piledUp,
		},
		{
			Name: "a sharing provider serves one tree",
			Reason: "The search keeps what serves a group in a set that does not look at the tree it was found for. " +
				"If sharing " +
				"providers alone serve a group, they do so for the first tree only, and candidates of the others are lost.",
			Match: func(x *Exchange) bool {
				if x.Request.path() != "/allocation_candidates" || len(groups(x.Request)) < 2 {
					return false
				}
				a, b := x.pair.query(unlimited(x.Request))
				return x.lostTrees(a, b)
			},
		},
		{
			Name: "consumers without allocations",
			Reason: "A request that is refused because of an unknown provider or class, " +
				"and one that sets no allocations for a new " +
				"consumer, leave the consumer behind with generation 0, though it holds nothing; " +
				"only the next write for it shows that.",
			Diverges: true,
			Match: func(x *Exchange) bool {
				return orphanConflict.MatchString(x.A.detail()) || orphanUse.MatchString(x.B.detail())
			},
		},
		{
			Name:   "one of several unknown traits",
			Reason: "Of the unknown traits in an in: list, upstream names whichever its set yields first.",
			Match: func(x *Exchange) bool {
				a, b := unknownTrait.FindStringSubmatch(x.A.detail()), unknownTrait.FindStringSubmatch(x.B.detail())
				return x.only("detail", "text") && a != nil && b != nil &&
					strings.Contains(x.Request.query(), a[1]) && strings.Contains(x.Request.query(), b[1])
			},
		},
		{
			Name: "half characters",
			Reason: "Python's JSON has strings with half a surrogate pair, which no UTF-8 can hold: " +
				"upstream accepts them and fails " +
				"later, with 500 where a database is involved.",
			Match: func(x *Exchange) bool {
				return strings.Contains(x.Request.Body, `\ud800`) && x.A.Status >= 400 && x.B.Status == http.StatusBadRequest &&
					strings.Contains(x.B.detail(), "Malformed JSON: ")
			},
		},
		broken("inventories that are no objects",
			"The schema of a set of inventories says nothing about names that no class can have, "+
				"so what they hold is not checked.",
			`is not iterable|dictionary update sequence element|must be a mapping|object is not a mapping|unsupported operand `+
				`type`),
		broken("amounts that no database holds",
			"Nothing bounds the amounts of a query; SQLite's driver refuses numbers beyond 64 bits.",
			`Python int too large to convert to SQLite INTEGER`),
		{
			Name: "a provider of which name and UUID are both taken",
			Reason: "Upstream names the key that its database complains of, which on PostgreSQL is the name and elsewhere the " +
				"UUID. " +
				"Berth names the UUID.",
			Match: func(x *Exchange) bool {
				return strings.Contains(x.A.detail(), "Conflicting resource provider name: ") &&
					strings.Contains(x.B.detail(), "Conflicting resource provider uuid: ")
			},
		},
		broken("ratios that are no numbers",
			"Nothing refuses NaN and -Infinity, which Python's JSON has; "+
				"the capacity of such an inventory cannot be computed, and most "+
				"databases do not store them.",
			`cannot convert float (NaN|infinity) to integer|inventories\.allocation_ratio|nan can not be used with `+
				`MySQL|Unknown column 'infe0'|Out of range value for column 'allocation_ratio'`),
		{
			Name: "ratios that are stored though they are no numbers",
			Reason: "A reshape does not compute the capacity of inventories, so that upstream stores -Infinity, and NaN, " +
				"where the database " +
				"does; whoever reads such an inventory fails.",
			Diverges: true,
			Match: func(x *Exchange) bool {
				return x.A.Status < http.StatusInternalServerError && x.B.Status == http.StatusBadRequest &&
					strings.Contains(x.B.detail(), " cannot be stored.")
			},
		},
		broken("consumers spelled in two ways",
			"On MariaDB uuids are compared without regard to case, so that a consumer of a request is found in another "+
				"spelling than "+
				"the one it is looked up with afterwards.",
			`\n\n '[0-9a-fA-F-]{36}'  `),
		broken("usages by consumer type on PostgreSQL",
			"The query does not group by all that it shows, which other databases let pass.",
			`must appear in the GROUP BY clause`),
		broken("forbidden traits on PostgreSQL",
			"Before 1.39, names of forbidden traits are compared with ids; other databases convert them.",
			`invalid input syntax for type integer`),
		broken("NUL on PostgreSQL",
			"The driver refuses text with a NUL, which nothing else does.",
			`A string literal cannot contain NUL`),
		broken("queries that are not UTF-8",
			"The handler for usages reads the query before it is checked.",
			`codec can't decode byte`),
		broken("a child with a sharing provider",
			"The search looks up summaries of trees that it did not load: before 1.29 those of children with a sharing "+
				"provider, and in "+
				"all versions that of a sharing provider which is itself a child, for the unsuffixed group.",
			`\n\n \d+  $`),
	}
}

// broken excuses an answer other than 500 where upstream fails with a known
// text.
func broken(name, reason, text string) Excuse {
	re := regexp.MustCompile(text)
	return Excuse{
		Name: name, Reason: reason,
		Match: func(x *Exchange) bool {
			return x.A.Status == http.StatusInternalServerError && re.MatchString(x.A.detail()) &&
				(x.B.Status < 500 || re.MatchString(x.B.detail()))
		},
	}
}

var unknownTrait = regexp.MustCompile(`No such trait\(s\): ([^,.]+)\.`)

// A consumer's generation starts at 1 as far as clients can see.
var (
	orphanConflict = regexp.MustCompile(`consumer generation conflict - expected 0 but got `)
	orphanUse      = regexp.MustCompile(`consumer generation conflict - expected null but got 0`)
)
