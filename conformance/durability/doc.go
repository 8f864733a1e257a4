// Package durability ends Berth in the middle of its work, in the ways that
// machines and operators do, and checks what is there when it starts again:
// all that was acknowledged, nothing that was refused, no halves. It also
// checks what Berth does about a database that it must not use. It is not for
// the databases that have a server of their own.
package durability
