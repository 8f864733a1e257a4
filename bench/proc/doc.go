// Package proc starts the programs that the benchmark measures, reads their resource usage, and
// ends them. It is not for production: the kernel kills a process when the one that started it
// ends.
//
// # CPU time
//
// [Process.CPU] reads the kernel's clock of the process, which counts nanoseconds that its threads,
// the ended ones included, have run in user and kernel mode. It is not the tick counter of
// /proc/PID/stat, which moves in steps of 10 ms. The kernel's work for a packet on loopback is
// charged to its sender, so a server pays for what it sends.
package proc
