package sqlstore

import "context"

// Others asks the connection that writes: SQLite tells each connection whether
// another one has committed, and the others of this store only read.
func (s *Store) Others(ctx context.Context) (mark int64, ok bool, err error) {
	if s.d.server {
		return 0, false, nil
	}
	ses, err := s.writer.borrow(ctx)
	if err != nil {
		return 0, false, err
	}
	defer s.writer.giveBack(ses)
	if err := ses.connect(ctx); err != nil {
		return 0, false, s.d.translate("connecting", err)
	}
	mark, err = firstRow(&tx{ses: ses, ctx: ctx}, integer, "PRAGMA data_version")
	return mark, err == nil, err
}
