// Package console tests the pages of the console in a browser: that they show what they should at
// every size and in both colour schemes, that assistive technology can use them, and that the
// browser has nothing to complain about. It is a black-box test and has tests only; the answers
// that the pages draw are tested next to package console.
package console
