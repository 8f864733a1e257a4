// Package proc starts the programs that the benchmark measures, reads what they
// use of the machine, and ends them. It is not for production: a process that it
// started is killed by the kernel when the one that started it ends.
//
// # CPU time
//
// [Process.CPU] reads the kernel's clock of the process, which counts nanoseconds
// that its threads, the ended ones included, have run in user and kernel mode. It
// is not the tick counter of /proc/PID/stat, which moves in steps of 10 ms.
// The work that the kernel does for a request on loopback is on the account of
// whoever sends at that moment, so a server pays for what it sends.
package proc
