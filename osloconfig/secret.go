package osloconfig

import "log/slog"

// mask stands in place of a secret wherever values are shown.
const mask = "***"

// A Secret is text that prints, logs and encodes as asterisks. Its zero value
// is the empty text, which shows as such. Reveal is the only way to the content.
type Secret string

// Reveal returns the text itself.
func (s Secret) Reveal() string { return string(s) }

// String returns asterisks, or nothing when there is nothing to hide.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return mask
}

// GoString keeps %#v from showing the text.
func (s Secret) GoString() string { return `"` + s.String() + `"` }

// LogValue keeps structured logs from showing the text.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText keeps encoders from showing the text.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
