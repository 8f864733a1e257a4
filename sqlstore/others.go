package sqlstore

import "context"

// Others counts the commits of other programs to the file, which say so on the connection that
// writes. On a server it does not know.
func (s *Store) Others(ctx context.Context) (mark int64, ok bool, err error) {
	if s.Dialect().Shared {
		return 0, false, nil
	}
	mark, err = s.DataVersion(ctx)
	return mark, err == nil, err
}
