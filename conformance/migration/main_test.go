package migration

import (
	"testing"

	"github.com/berthcloud/berth/internal/server"
)

func TestMain(m *testing.M) { server.Main(m) }
