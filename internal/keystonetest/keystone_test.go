package keystonetest_test

import (
	"net/http"
	"testing"

	"github.com/berthcloud/berth/internal/keystonetest"
	"github.com/berthcloud/berth/internal/sweep"
)

// TestKeystone starts one, and logs in as every persona.
func TestKeystone(t *testing.T) {
	sweep.Nightly(t)
	k := keystonetest.Start(t, keystonetest.Options{})
	check := k.Token(keystonetest.Find(keystonetest.Placement))
	for _, p := range keystonetest.Personas() {
		if status := validate(t, k, check, k.Token(p)); status != http.StatusOK {
			t.Errorf("the token of %s: status %d, want 200", p.Name, status)
		}
	}
	k.Restart()
	token := k.Unscoped(keystonetest.Find("project-member"))
	if status := validate(t, k, check, token); status != http.StatusOK {
		t.Errorf("after a restart: status %d, want 200", status)
	}
	k.Revoke(token)
	if status := validate(t, k, check, token); status != http.StatusNotFound {
		t.Errorf("a revoked token: status %d, want 404", status)
	}
}

func validate(t *testing.T, k *keystonetest.Keystone, own, subject string) int {
	t.Helper()
	r, err := http.NewRequest(http.MethodGet, k.URL()+"/v3/auth/tokens", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Auth-Token", own)
	r.Header.Set("X-Subject-Token", subject)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	return res.StatusCode
}
