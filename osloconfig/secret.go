package osloconfig

import "log/slog"

// mask replaces a secret wherever values are printed.
const mask = "***"

// A Secret is text that prints, logs and encodes as asterisks. The empty text prints as such.
// Reveal is the only access to the content.
type Secret string

// Reveal returns the text itself.
func (s Secret) Reveal() string { return string(s) }

// String returns asterisks, or an empty text for an empty secret.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return mask
}

// GoString keeps the text out of %#v.
func (s Secret) GoString() string { return `"` + s.String() + `"` }

// LogValue keeps the text out of structured logs.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText keeps the text out of encoded documents.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
