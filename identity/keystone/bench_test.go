package keystone_test

import (
	"strings"
	"testing"
	"time"
)

// BenchmarkKnownToken checks a token that was checked before, as nearly every
// request's was.
func BenchmarkKnownToken(b *testing.B) {
	f := newFake()
	token := strings.Repeat("gAAAAABn", 25) // as long as Fernet's
	f.know(token, tokenOf("ann", time.Hour))
	v := newValidator(b, f)
	if _, err := query(v, token); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := query(v, token); err != nil {
			b.Fatal(err)
		}
	}
}
