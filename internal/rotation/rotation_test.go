package rotation_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/berthcloud/berth/internal/rotation"
)

func TestPart(t *testing.T) {
	all := []string{"a", "b", "c", "d", "e", "f", "g"}
	for number, want := range map[string][]string{
		"": all, "0": {"a", "d", "g"}, "1": {"b", "e"}, "2": {"c", "f"}, "3": {"a", "d", "g"}, "4294967295": {"a", "d", "g"},
	} {
		t.Run(number, func(t *testing.T) {
			t.Setenv(rotation.Variable, number)
			if got := rotation.Part(all, 3); !slices.Equal(got, want) {
				t.Errorf("part %q of the list is %q, want %q", number, got, want)
			}
		})
	}
}

func TestWrongNumber(t *testing.T) {
	t.Setenv(rotation.Variable, "today")
	defer func() {
		if got := fmt.Sprint(recover()); got != `BERTH_TEST_ROTATION: strconv.ParseUint: parsing "today": invalid syntax` {
			t.Errorf("it ends with %s", got)
		}
	}()
	rotation.Every(2)
}
