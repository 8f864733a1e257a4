package neutron

// Rewrite returns a dialogue as Record would write it with the answers that it
// has.
func Rewrite(text string) (string, error) {
	d, err := parseDialogue(text)
	if err != nil {
		return "", err
	}
	answers := make([]string, len(d.blocks))
	for i, b := range d.blocks {
		answers[i] = b.answer
	}
	return d.with(answers), nil
}
