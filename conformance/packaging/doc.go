// Package packaging holds the tests of what operators install: the Debian
// package, its systemd units, manual pages and completions, and the container
// file. They build the package as scripts/deb does and use it as a machine
// would, in directories of their own; nothing is installed on the machine they
// run on. It is not for the behaviour of the program, beyond that the installed
// one serves.
package packaging
