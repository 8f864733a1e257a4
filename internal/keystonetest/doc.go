// Package keystonetest runs the distribution's Keystone for tests, with users of every role and
// scope. It is not for production: every Keystone has a temporary database, listens on 127.0.0.1
// only and ends with the test that started it, even when that is killed.
//
// A Keystone may be stopped and started again on the same address and data, so that tests can check
// its users' behaviour meanwhile. Options set the validity of tokens.
//
// The first test that needs one creates its users, which takes half a minute, and caches them for
// later ones, below berth-keystonetest-UID in [os.TempDir].
//
// It needs Linux and Debian's packages. A test without them fails and says what to install;
// BERTH_TEST_NO_UPSTREAM=1 skips it instead.
package keystonetest
