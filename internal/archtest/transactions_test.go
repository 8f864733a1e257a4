package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// transacting are the packages in which TestTransactionsDoNotNest holds, by directory.
var transacting = []string{
	"network/agents", "network/ports", "network/qos", "network/quotas", "network/reallocation",
	"network/security", "network/service", "network/topology",
}

// TestTransactionsDoNotNest refuses calls, inside a transaction, of methods of the service that
// began it: they may begin another one, which waits for the first one for ever. What happens in a
// transaction is a function of the transaction. Types ensure that for functions, and this test for
// the function literals that services pass to Update and View, which could use the receiver.
func TestTransactionsDoNotNest(t *testing.T) {
	literals := 0
	for _, dir := range transacting {
		files, err := filepath.Glob(filepath.Join(root, dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("there is no package %s: %v", dir, err)
		}
		for _, path := range files {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			fset := token.NewFileSet()
			file, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			literals += checkTransactions(file, func(pos token.Pos, text string) {
				t.Errorf("%s: %s", fset.Position(pos), text)
			})
		}
	}
	if literals < 30 {
		t.Errorf("there are %d transactions: this test looks for the wrong thing", literals)
	}
}

// checkTransactions reports calls of the receiver's methods, and of its database, inside
// transactions of a file. It returns the number of transactions.
func checkTransactions(file *ast.File, report func(token.Pos, string)) (literals int) {
	for _, decl := range file.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok || fn.Recv == nil || fn.Body == nil || len(fn.Recv.List[0].Names) == 0 {
			continue
		}
		receiver := fn.Recv.List[0].Names[0].Name
		ast.Inspect(fn.Body, func(n ast.Node) bool {
			lit, ok := n.(*ast.FuncLit)
			if !ok || !isTransaction(lit) {
				return true
			}
			literals++
			ast.Inspect(lit.Body, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				path := selectors(call.Fun)
				if len(path) == 2 && path[0] == receiver || len(path) == 3 && path[0] == receiver && path[1] == "db" {
					report(call.Pos(), strings.Join(path, ".")+" is called inside a transaction")
				}
				return true
			})
			return true
		})
	}
	return literals
}

// isTransaction reports whether a function literal gets a transaction, or a reader of one.
func isTransaction(lit *ast.FuncLit) bool {
	params := lit.Type.Params.List
	if len(params) != 1 {
		return false
	}
	kind := params[0].Type
	if star, ok := kind.(*ast.StarExpr); ok {
		kind = star.X
	}
	return slices.Contains([]string{"network.Tx", "network.Reader"}, strings.Join(selectors(kind), "."))
}

// selectors returns the names of an expression such as s.db.Update, nil of any other one.
func selectors(e ast.Expr) []string {
	switch e := e.(type) {
	case *ast.Ident:
		return []string{e.Name}
	case *ast.SelectorExpr:
		if path := selectors(e.X); path != nil {
			return append(path, e.Sel.Name)
		}
	}
	return nil
}

// TestNestedTransactionIsFound plants one.
func TestNestedTransactionIsFound(t *testing.T) {
	const source = `package p
func (s *Service) A() error {
	return s.db.Update(ctx, func(tx *network.Tx) error {
		s.db.Rules.Alive(row)
		s.db.View(ctx, nil)
		return s.B()
	})
}`
	file, err := parser.ParseFile(token.NewFileSet(), "p.go", source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	if n := checkTransactions(file, func(_ token.Pos, text string) { found = append(found, text) }); n != 1 ||
		len(found) != 2 {
		t.Errorf("of a transaction with two wrong calls %d and %q are found", n, found)
	}
}
