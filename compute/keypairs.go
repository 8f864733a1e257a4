package compute

import (
	"context"
	"strings"
)

func noKeypair(user, name string) error {
	return notFound("KeypairNotFound", "Keypair %s not found for user %s", name, user)
}

// Keypairs returns the keypairs of a user in the order of their names.
func (s *Service) Keypairs(ctx context.Context, user string) (all []KeypairRow, err error) {
	err = s.store.View(ctx, func(r Reader) error {
		all, err = Rows[KeypairRow](r, Where(ByUser, user))
		return err
	})
	return all, err
}

// Keypair returns a keypair of a user. Fault: KeypairNotFound.
func (s *Service) Keypair(ctx context.Context, user, name string) (row KeypairRow, err error) {
	err = s.store.View(ctx, func(r Reader) error {
		row, err = OneOr[KeypairRow](r, noKeypair(user, name), Where(ByUser, user), Where(ByName, name))
		return err
	})
	return row, err
}

// A KeypairSpec describes a keypair to create. Its project is the one whose limits apply.
type KeypairSpec struct {
	User, Project string
	Name, Type    string
	PublicKey     string
}

// ImportKeypair keeps a public key of a user. Faults: InvalidKeypair, KeyPairExists,
// KeypairLimitExceeded.
func (s *Service) ImportKeypair(ctx context.Context, k KeypairSpec) (KeypairRow, error) {
	print, err := fingerprint(k.Type, k.PublicKey)
	row := KeypairRow{User: k.User, Name: strings.TrimSpace(k.Name), Type: k.Type, Fingerprint: print, PublicKey: k.PublicKey}
	if err != nil {
		return row, err
	}
	return s.addKeypair(ctx, k.Project, row)
}

// GenerateKeypair makes a key for a user, and returns the private one, which is kept nowhere: in PEM
// for SSH, for X509 as a PKCS #12 file without a password in base64. Faults: KeyPairExists,
// KeypairLimitExceeded.
func (s *Service) GenerateKeypair(ctx context.Context, k KeypairSpec) (row KeypairRow, private string, err error) {
	err = s.store.View(ctx, func(r Reader) error {
		return s.rules.mayAddKeypair(r, k.Project, k.User, strings.TrimSpace(k.Name)) // before the work of making one
	})
	if err != nil {
		return row, "", err
	}
	if k.Type == X509 {
		private, k.PublicKey, err = generateX509(k.User, s.rules.Now().UTC())
	} else {
		private, k.PublicKey, err = generateSSH()
	}
	if err != nil {
		return row, "", err
	}
	row, err = s.ImportKeypair(ctx, k)
	return row, private, err
}

func (s *Service) addKeypair(ctx context.Context, project string, row KeypairRow) (KeypairRow, error) {
	err := s.update(ctx, func(c *change) (err error) {
		if err := c.mayAddKeypair(c, project, row.User, row.Name); err != nil {
			return err
		}
		row.CreatedAt = c.At
		if row.Number, err = c.NextNumber("keypairs"); err != nil {
			return err
		}
		return c.Insert(&row)
	})
	return row, err
}

// mayAddKeypair refuses a keypair of a name that the user has, or beyond the limits of a
// project.
func (rules Rules) mayAddKeypair(r Reader, project, user, name string) error {
	have, err := Rows[KeypairRow](r, Where(ByUser, user))
	if err != nil {
		return err
	}
	limits, err := rules.Limits(r, project, user)
	if err != nil {
		return err
	}
	if most := limits[KeyPairs]; most >= 0 && int64(len(have)) >= most {
		return overQuota("KeypairLimitExceeded", "Quota exceeded, too many key pairs.")
	}
	for _, k := range have {
		if k.Name == name {
			return conflict("KeyPairExists", "Key pair '%s' already exists.", name)
		}
	}
	return nil
}

// DeleteKeypair removes a keypair of a user. Fault: KeypairNotFound.
func (s *Service) DeleteKeypair(ctx context.Context, user, name string) error {
	return s.update(ctx, func(c *change) error {
		n, err := c.Remove(&KeypairRow{}, Where(ByUser, user), Where(ByName, name))
		if err == nil && n == 0 {
			err = noKeypair(user, name)
		}
		return err
	})
}
