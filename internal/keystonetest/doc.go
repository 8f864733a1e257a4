// Package keystonetest runs the distribution's Keystone for tests, with a cloud's
// worth of users to play. It is not for production: every Keystone has a
// throw-away database, listens on 127.0.0.1 only and ends with the test that
// started it, however that ends.
//
// A Keystone may be stopped and started again on the same address and data, so
// that tests can see what its users do meanwhile. Tokens live as long as Options
// say.
//
// The first test that needs one makes its users, which takes half a minute, and
// keeps them for later ones, below berth-keystonetest-UID in [os.TempDir].
//
// It needs Linux and Debian's packages. A test without them fails and says what to
// install; BERTH_TEST_NO_UPSTREAM=1 skips it instead.
package keystonetest
