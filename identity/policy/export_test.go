package policy

// LoadBytes takes data in as the one policy file next to the defaults and
// returns the warnings, for the fuzz target.
func LoadBytes(data []byte, defaults []Rule) ([]string, error) {
	registered, err := register(defaults)
	if err != nil {
		return nil, err
	}
	parsed, err := parseFile(data)
	if err != nil {
		return nil, err
	}
	file := map[string]fileRule{}
	for name, c := range parsed {
		file[name] = fileRule{check: c}
	}
	return merge(registered, file, false, DefaultRule).warnings(), nil
}
