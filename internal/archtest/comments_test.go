package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// TestCommentsBeginWithTheName requires that the comment of a function or a type begins with its
// name: a comment that keeps the name of before a renaming misleads.
func TestCommentsBeginWithTheName(t *testing.T) {
	checked := 0
	for _, files := range packages(t) {
		for _, f := range files {
			if f.test {
				continue
			}
			fset := token.NewFileSet()
			parsed, err := parser.ParseFile(fset, f.path, nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			for _, decl := range parsed.Decls {
				name, doc := documented(decl)
				if doc == "" {
					continue
				}
				checked++
				if !beginsWith(doc, name) {
					t.Errorf("%s: the comment of %s begins with %.40q", fset.Position(decl.Pos()), name, doc)
				}
			}
		}
	}
	if checked < 4000 {
		t.Errorf("only %d comments were looked at", checked)
	}
}

// documented returns the name and the comment of a function or of a type that is declared alone.
func documented(decl ast.Decl) (name, doc string) {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		return d.Name.Name, d.Doc.Text()
	case *ast.GenDecl:
		if d.Tok == token.TYPE && !d.Lparen.IsValid() {
			return d.Specs[0].(*ast.TypeSpec).Name.Name, d.Doc.Text()
		}
	}
	return "", ""
}

// beginsWith reports whether a comment begins with a name, after an article.
func beginsWith(doc, name string) bool {
	words := strings.Fields(doc)
	if len(words) > 1 && slices.Contains([]string{"A", "An", "The"}, words[0]) {
		words = words[1:]
	}
	return strings.TrimRight(words[0], ",.:;") == name || strings.TrimSuffix(words[0], "'s") == name
}
