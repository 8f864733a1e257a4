package neutron

// Rewrite returns a dialogue as Record would write it with the answers that it
// has.
func Rewrite(text string) (string, error) {
	d, err := parseDialogue(text)
	if err != nil {
		return "", err
	}
	return d.text(), nil
}
