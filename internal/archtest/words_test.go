package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"testing"
)

// functionWords are words that a reader parses as English before Go: prepositions, pronouns and verbs in
// the past tense. No variable has such a name; it has the noun of what it is.
var functionWords = []string{
	"of", "is", "there", "told", "asked", "held", "gone", "beside", "behind", "anew", "wanted",
}

// plainPackages are the packages in which TestVariablesAreNouns holds. The list only grows.
var plainPackages = []string{
	"ops/audit", "ops/audit/audittest", "ops/capacity", "ops/changefeed", "ops/cloud",
	"ops/cloud/cloudtest", "ops/cloud/index", "ops/cloudapi", "ops/doctor", "ops/explain", "ops/heal",
	"ops/novaquery", "ops/records", "ops/restore",
	"guarantee", "allocations", "watch", "images", "identity", "identity/keystone", "identity/policy",
	"identity/local", "identity/authcheck", "agent", "agent/enforce", "agent/host", "agent/node",
	"network", "network/agents", "network/ports", "network/qos", "network/quotas", "network/reallocation",
	"network/security", "network/service", "network/topology",
	"agent/ovs", "agent/ovsdb", "agent/ovn", "agent/settings", "agent/tc", "daemon/hostagent", "devcloud",
}

// TestVariablesAreNouns refuses function words as names of variables and parameters.
func TestVariablesAreNouns(t *testing.T) {
	all := packages(t)
	for _, pkg := range plainPackages {
		files, ok := all[pkg]
		if !ok {
			t.Errorf("there is no package %s", pkg)
		}
		for _, f := range files {
			fset := token.NewFileSet()
			file, err := parser.ParseFile(fset, f.path, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			check := func(names ...ast.Expr) {
				for _, name := range names {
					if id, ok := name.(*ast.Ident); ok && slices.Contains(functionWords, id.Name) {
						t.Errorf("%s: the variable %s; name it after what it is", fset.Position(id.Pos()), id.Name)
					}
				}
			}
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.AssignStmt:
					if n.Tok == token.DEFINE {
						check(n.Lhs...)
					}
				case *ast.RangeStmt:
					if n.Tok == token.DEFINE {
						check(n.Key, n.Value)
					}
				case *ast.ValueSpec:
					for _, id := range n.Names {
						check(id)
					}
				case *ast.FuncType:
					for _, field := range slices.Concat(n.Params.List, results(n)) {
						for _, id := range field.Names {
							check(id)
						}
					}
				}
				return true
			})
		}
	}
}

func results(f *ast.FuncType) []*ast.Field {
	if f.Results == nil {
		return nil
	}
	return f.Results.List
}
