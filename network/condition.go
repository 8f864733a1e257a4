package network

// A Condition checks an object that is about to be removed, or whose dependents are about to be
// changed, inside the transaction. Its error stops the change.
type Condition func(row *Common) error

// CheckConditions checks the conditions of a change.
func CheckConditions(conditions []Condition, row *Common) error {
	for _, check := range conditions {
		if err := check(row); err != nil {
			return err
		}
	}
	return nil
}
