package network

// A Condition checks an object that is about to be removed, or whose dependents are about to be
// changed, inside the transaction. Its error stops the change.
type Condition func(now *Common) error

// CheckConditions checks the conditions of a change.
func CheckConditions(only []Condition, now *Common) error {
	for _, ask := range only {
		if err := ask(now); err != nil {
			return err
		}
	}
	return nil
}
