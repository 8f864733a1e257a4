// Package documents checks the documents against the program: names in the operators' pages in
// docs/operations exist, commands in them work, and each example in README.md and docs is run or
// parsed, or listed with a reason why it cannot be. It is a black-box test of both. It has tests
// only, no package imports it, and it does not check whether the documents are complete.
package documents
