// Package rotation lets a run of the tests take one part of a long sweep, another one with the next
// revision, so that some revisions together take all of them. Only tests import it.
package rotation

import (
	"os"
	"strconv"
)

// Variable names the environment variable that selects the part. scripts/test sets it to the number
// of commits; without it, as every night, all cases are run.
const Variable = "BERTH_TEST_ROTATION"

// Every divides a sweep into n parts: the run takes the case at first, and each case step further.
// It panics when the variable is no number.
func Every(n int) (first, step int) {
	text := os.Getenv(Variable)
	if text == "" {
		return 0, 1
	}
	number, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		panic(Variable + ": " + err.Error())
	}
	return int(number % uint64(n)), n
}

// Part is the run's part of a list that is divided into n parts.
func Part[T any](all []T, n int) (part []T) {
	first, step := Every(n)
	for at := first; at < len(all); at += step {
		part = append(part, all[at])
	}
	return part
}
