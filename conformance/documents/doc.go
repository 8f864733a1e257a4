// Package documents holds the documents to the program: what the operators' pages in
// docs/operations name exists, what can be typed from them works, and each example in
// README.md and docs is run or parsed, or listed with a reason why it cannot be. It knows
// the documents and the program from the outside. It has tests only, is imported by
// nobody, and says nothing about what the documents leave out.
package documents
