package agents

import (
	"testing"

	"github.com/berthcloud/berth/conformance/server"
)

func TestMain(m *testing.M) { server.Main(m) }
