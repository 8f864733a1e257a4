// Package packaging tests what operators install: the Debian package, its systemd units, manual
// pages and completions, and the container file. The tests build the package as scripts/deb does
// and use it as a machine would, in separate directories; nothing is installed on the machine they
// run on. Of the program's behaviour they only test that the installed one serves.
package packaging
