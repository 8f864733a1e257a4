package network

// A Condition is asked about an object that is about to be removed, or about what hangs
// on it to be changed: the object as it is in that moment. Its error stops the change.
type Condition func(now *Common) error

// met asks the conditions of a change.
func met(only []Condition, now *Common) error {
	for _, ask := range only {
		if err := ask(now); err != nil {
			return err
		}
	}
	return nil
}
