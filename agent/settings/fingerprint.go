package settings

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"

	"github.com/berthcloud/berth/osloconfig"
)

// A Fingerprint identifies the content of settings: equal content, equal fingerprint. It is for
// comparing only.
type Fingerprint string

// FingerprintOf reads the files and directories again and returns the fingerprint of their names
// and content. A caller that watches files compares it with that of its Settings. A file that
// cannot be read is omitted, so that its return is noticed. The environment is not part of it.
func FingerprintOf(src osloconfig.Sources) Fingerprint {
	set, _ := osloconfig.Read(src) // what cannot be read is Load's to report
	hash := sha256.New()
	for _, path := range set.Paths() {
		text, err := os.ReadFile(path)
		fmt.Fprintf(hash, "%q %t %d\n%s", path, err == nil, len(text), text)
	}
	return sum(hash.Sum(nil))
}

func sum(hash []byte) Fingerprint { return Fingerprint(hex.EncodeToString(hash)) }
