package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// functionWords are words that a reader parses as English before Go: prepositions, pronouns and
// verbs in the past tense. No variable has such a name; it has the noun of what it is.
var functionWords = []string{
	"of", "is", "there", "told", "asked", "held", "gone", "beside", "behind", "anew", "wanted", "asks",
}

// homemadeWords are words that this project used with several meanings each, in place of the usual
// ones: request, query, command; repair; report, notify; again; next to, with, in addition to; peer
// service.
var homemadeWords = regexp.MustCompile(
	`(?i)\b(ask|asks|asked|asking|mend|mends|mended|mending|told|anew|beside|neighbours?)\b`)

// literalWords are texts that have such a word for a reason, by the file.
var literalWords = map[string]string{
	"httpapi/pyschema/values.go":      "Python sorts and compares neighbours", // of a list, as mathematics says it
	"internal/archtest/words_test.go": "",                                     // the words themselves
}

// TestVariablesAreNouns refuses function words as names of variables and parameters.
func TestVariablesAreNouns(t *testing.T) {
	for _, files := range packages(t) {
		for _, f := range files {
			fset := token.NewFileSet()
			parsed, err := parser.ParseFile(fset, f.path, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, id := range functionWordsIn(parsed) {
				t.Errorf("%s: the variable %s; name it after what it is", fset.Position(id.Pos()), id.Name)
			}
		}
	}
}

// functionWordsIn returns the variables and parameters of a file that are named by function words.
func functionWordsIn(file *ast.File) (found []*ast.Ident) {
	check := func(names ...ast.Expr) {
		for _, name := range names {
			if id, ok := name.(*ast.Ident); ok && slices.Contains(functionWords, id.Name) {
				found = append(found, id)
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
	return found
}

func results(f *ast.FuncType) []*ast.Field {
	if f.Results == nil {
		return nil
	}
	return f.Results.List
}

// TestWordsArePlain refuses home-made words in comments and in texts. A text without a space is no
// text: it is a key of JSON, a code or a name that others depend on.
func TestWordsArePlain(t *testing.T) {
	for pkg, files := range packages(t) {
		for _, f := range files {
			literal, ok := literalWords[path.Join(pkg, path.Base(f.path))]
			if ok && literal == "" {
				continue
			}
			fset := token.NewFileSet()
			parsed, err := parser.ParseFile(fset, f.path, nil, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for pos, text := range texts(parsed) {
				if ok {
					text = strings.ReplaceAll(text, literal, "")
				}
				if word := homemadeWords.FindString(text); word != "" {
					t.Errorf("%s: %q; say it with a usual word", fset.Position(pos), word)
				}
			}
		}
	}
}

// texts returns the comments of a file, and its strings that have a space.
func texts(file *ast.File) map[token.Pos]string {
	all := map[token.Pos]string{}
	for _, group := range file.Comments {
		for _, c := range group.List {
			all[c.Pos()] = c.Text
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if text, err := strconv.Unquote(lit.Value); err == nil && strings.Contains(text, " ") {
				all[lit.Pos()] = text
			}
		}
		return true
	})
	return all
}

// TestWordChecksFail gives the checks what they must refuse.
func TestWordChecksFail(t *testing.T) {
	const source = "package p\n\n// f asks for it.\nfunc f(of int) (is string) {\n" +
		"\tgone, x := 1, \"it was told\"\n\treturn \"asked\"\n}\n"
	parsed, err := parser.ParseFile(token.NewFileSet(), "p.go", source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	if found := functionWordsIn(parsed); len(found) != 3 {
		t.Errorf("%d variables are refused, want of, is and gone", len(found))
	}
	refused := 0
	for _, text := range texts(parsed) {
		if homemadeWords.MatchString(text) {
			refused++
		}
	}
	if refused != 2 {
		t.Errorf("%d texts are refused, want the comment and the one with a space", refused)
	}
}
