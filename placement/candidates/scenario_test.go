package candidates_test

import (
	"testing"

	"github.com/berthcloud/berth/placement/placementtest"
)

func TestScenarios(t *testing.T) { placementtest.RunScenarios(t, "testdata/*.txt") }
