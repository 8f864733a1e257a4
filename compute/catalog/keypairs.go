package catalog

import (
	"context"
	"strings"

	"github.com/berthcloud/berth/compute"
)

func noKeypair(user, name string) error {
	return compute.NotFound("KeypairNotFound", "Keypair %s not found for user %s", name, user)
}

// Keypairs returns the keypairs of a user in the order of their names.
func (s *Service) Keypairs(ctx context.Context, user string) (all []compute.KeypairRow, err error) {
	err = s.db.View(ctx, func(r compute.Reader) error {
		all, err = compute.Rows[compute.KeypairRow](r, compute.Where(compute.ByUser, user))
		return err
	})
	return all, err
}

// Keypair returns a keypair of a user. Fault: KeypairNotFound.
func (s *Service) Keypair(ctx context.Context, user, name string) (row compute.KeypairRow, err error) {
	err = s.db.View(ctx, func(r compute.Reader) error {
		row, err = compute.OneOr[compute.KeypairRow](r, noKeypair(user, name), compute.Where(compute.ByUser, user),
			compute.Where(compute.ByName, name))
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
func (s *Service) ImportKeypair(ctx context.Context, k KeypairSpec) (compute.KeypairRow, error) {
	print, err := fingerprint(k.Type, k.PublicKey)
	row := compute.KeypairRow{
		User: k.User, Name: strings.TrimSpace(k.Name), Type: k.Type, Fingerprint: print, PublicKey: k.PublicKey,
	}
	if err != nil {
		return row, err
	}
	return s.addKeypair(ctx, k.Project, row)
}

// GenerateKeypair makes a key for a user, and returns the private one, which is stored nowhere: in
// PEM for SSH, for X509 as a PKCS #12 file without a password in base64. Faults: KeyPairExists,
// KeypairLimitExceeded.
func (s *Service) GenerateKeypair(
	ctx context.Context, k KeypairSpec,
) (row compute.KeypairRow, private string, err error) {
	err = s.db.View(ctx, func(r compute.Reader) error {
		return mayAddKeypair(s.db.Rules, r, k.Project, k.User, strings.TrimSpace(k.Name)) // before the work of making one
	})
	if err != nil {
		return row, "", err
	}
	if k.Type == compute.X509 {
		private, k.PublicKey, err = generateX509(k.User, s.db.Rules.Now().UTC())
	} else {
		private, k.PublicKey, err = generateSSH()
	}
	if err != nil {
		return row, "", err
	}
	row, err = s.ImportKeypair(ctx, k)
	return row, private, err
}

func (s *Service) addKeypair(ctx context.Context, project string, row compute.KeypairRow) (compute.KeypairRow, error) {
	err := s.db.Update(ctx, func(tx *compute.Tx) (err error) {
		if err := mayAddKeypair(tx.Rules, tx, project, row.User, row.Name); err != nil {
			return err
		}
		row.CreatedAt = tx.At
		if row.Number, err = tx.NextNumber("keypairs"); err != nil {
			return err
		}
		return tx.Insert(&row)
	})
	return row, err
}

// mayAddKeypair refuses a keypair of a name that the user has, or beyond the limits of a
// project.
func mayAddKeypair(rules compute.Rules, r compute.Reader, project, user, name string) error {
	have, err := compute.Rows[compute.KeypairRow](r, compute.Where(compute.ByUser, user))
	if err != nil {
		return err
	}
	limits, err := rules.Limits(r, project, user)
	if err != nil {
		return err
	}
	if most := limits[compute.KeyPairs]; most >= 0 && int64(len(have)) >= most {
		return compute.OverQuota("KeypairLimitExceeded", "Quota exceeded, too many key pairs.")
	}
	for _, k := range have {
		if k.Name == name {
			return compute.Conflict("KeyPairExists", "Key pair '%s' already exists.", name)
		}
	}
	return nil
}

// DeleteKeypair removes a keypair of a user. Fault: KeypairNotFound.
func (s *Service) DeleteKeypair(ctx context.Context, user, name string) error {
	return s.db.Update(ctx, func(tx *compute.Tx) error {
		n, err := tx.Remove(&compute.KeypairRow{}, compute.Where(compute.ByUser, user), compute.Where(compute.ByName, name))
		if err == nil && n == 0 {
			err = noKeypair(user, name)
		}
		return err
	})
}
