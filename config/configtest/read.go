package configtest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/berthcloud/berth/config"
)

// ReadPlacement returns the settings of a placement.conf with this text.
func ReadPlacement(t testing.TB, text string) *config.Placement {
	t.Helper()
	cfg, _, err := config.LoadPlacement([]string{write(t, "placement.conf", text)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// ReadNetwork returns the settings of a neutron.conf with this text.
func ReadNetwork(t testing.TB, text string) *config.Network {
	t.Helper()
	cfg, _, err := config.LoadNetwork([]string{write(t, "neutron.conf", text)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// ReadCompute returns the settings of a nova.conf with this text, which may not lead to warnings.
func ReadCompute(t testing.TB, text string) *config.Compute {
	t.Helper()
	cfg, warnings, err := config.LoadCompute([]string{write(t, "nova.conf", text)}, nil)
	if err != nil || len(warnings) > 0 {
		t.Fatalf("the settings are read with %v, warnings %q", err, warnings)
	}
	return cfg
}

func write(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
