package main

import (
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
)

// A machine describes the machine of the measurements.
type machine struct {
	CPU      string `json:"cpu"`
	Cores    int    `json:"cores"`
	MemoryGB int    `json:"memory_gb"`
	Kernel   string `json:"kernel"`
	Go       string `json:"go"`
	Revision string `json:"revision"` // of the checkout, with + when files differ
}

// thisMachine describes the machine and the checkout. Unavailable values are "unknown".
func thisMachine() machine {
	return machine{
		CPU:      field("/proc/cpuinfo", "model name"),
		Cores:    runtime.NumCPU(),
		MemoryGB: memoryGB(field("/proc/meminfo", "MemTotal")),
		Kernel:   strings.TrimSpace(text("/proc/sys/kernel/osrelease")),
		Go:       runtime.Version(),
		Revision: revision(),
	}
}

// field returns the value of the first line "name : value" of a file.
func field(file, name string) string {
	for line := range strings.Lines(text(file)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}

// memoryGB reads a size such as "24684948 kB".
func memoryGB(size string) int {
	kilobytes, _ := strconv.Atoi(strings.TrimSuffix(size, " kB"))
	return (kilobytes + 1<<19) >> 20
}

// loadAverage returns that of the last minute, 0 when it is unknown.
func loadAverage() float64 {
	first, _, _ := strings.Cut(text("/proc/loadavg"), " ")
	load, _ := strconv.ParseFloat(first, 64)
	return load
}

func text(file string) string {
	t, err := os.ReadFile(file)
	if err != nil {
		return "unknown"
	}
	return string(t)
}

// revision returns git's revision, "" without git.
func revision() string {
	rev, err := exec.Command("git", "rev-parse", "--short=12", "HEAD").Output()
	if err != nil {
		return "unknown"
	}
	dirty, err := exec.Command("git", "status", "--porcelain", "--untracked-files=no").Output()
	if err != nil || len(dirty) > 0 {
		return strings.TrimSpace(string(rev)) + "+"
	}
	return strings.TrimSpace(string(rev))
}
