// Package documents holds the operators' pages in docs/operations to the program:
// what they name exists, and what can be typed from them works. It knows the pages
// and the program from the outside. It has tests only, is imported by nobody, and
// says nothing about what the pages leave out.
package documents
