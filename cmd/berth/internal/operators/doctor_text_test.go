package operators

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/ops/doctor"
)

// People are shown five or six things of a check, and the next command of each that is not right.
func TestDoctorText(t *testing.T) {
	var results doctor.Result
	results.Check, results.Group, results.Result, results.Means, results.Command = "endpoints", "Services", doctor.Failed,
		"It fails.", "one"
	for i, command := range []string{"one", "two", "two", "", "", "late", "later"} {
		results.Evidence = append(results.Evidence, doctor.Evidence{
			Result: doctor.Failed, Text: fmt.Sprint("thing ", i), Command: command,
		})
	}
	results.Evidence[4].Result, results.Evidence[4].Command = doctor.OK, "of what is right"
	head := "Services\n  failed   endpoints              thing 0\n"
	for i := 1; i < 5; i++ {
		head += fmt.Sprintf("%34sthing %d\n", "", i)
	}
	foot := "\n0 ok, 0 warn, 1 failed, 0 unknown\n"
	commands := "           impact It fails.\n           next   one\n                  two\n"
	for shown, want := range map[int]string{
		7: head + "                                  … and 2 more, in -f json\n" + commands + foot,
		6: head + "                                  thing 5\n" + commands + "                  late\n" + foot,
	} {
		one := results
		one.Evidence = results.Evidence[:shown]
		if diff := cmp.Diff(want, doctorText(doctor.Report{Results: []doctor.Result{one}})); diff != "" {
			t.Errorf("with %d things (-want +got):\n%s", shown, diff)
		}
	}
}
