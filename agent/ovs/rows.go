package ovs

import (
	"context"
	"strconv"

	"github.com/berthcloud/berth/agent/ovsdb"
)

// rows are those of the database, as they were at one time.
type rows struct {
	bridges    map[ovsdb.UUID]ovsdb.Row
	ports      map[ovsdb.UUID]ovsdb.Row
	interfaces map[ovsdb.UUID]ovsdb.Row
	qos        map[ovsdb.UUID]ovsdb.Row
	queues     map[ovsdb.UUID]ovsdb.Row
}

func (s *Switch) read(ctx context.Context) (*rows, error) {
	results, err := s.DB.Transact(
		ctx,
		ovsdb.Select("Bridge", []string{"_uuid", "name", "ports", "datapath_type"}),
		ovsdb.Select("Port", []string{"_uuid", "name", "interfaces", "qos"}),
		ovsdb.Select("Interface", []string{"_uuid", "name", "type", "external_ids", "ofport", "link_speed", "error"}),
		ovsdb.Select("QoS", []string{"_uuid", "type", "other_config", "queues", "external_ids"}),
		ovsdb.Select("Queue", []string{"_uuid", "other_config", "external_ids"}),
	)
	if err != nil {
		return nil, err
	}
	return &rows{byUUID(results[0]), byUUID(results[1]), byUUID(results[2]), byUUID(results[3]), byUUID(results[4])}, nil
}

func byUUID(r ovsdb.Result) map[ovsdb.UUID]ovsdb.Row {
	m := make(map[ovsdb.UUID]ovsdb.Row, len(r.Rows))
	for _, row := range r.Rows {
		m[ovsdb.Value[ovsdb.UUID](row, "_uuid")] = row
	}
	return m
}

// ours reports whether a QoS or queue has our mark.
func ours(row ovsdb.Row) bool {
	_, marked := ovsdb.Pairs[string, string](row, "external_ids")["berth"]
	return marked
}

// rate reads one of other_config, which has bits: 0 when it is absent or no number.
func rate(row ovsdb.Row, name string) Kbps {
	n, err := strconv.ParseInt(ovsdb.Pairs[string, string](row, "other_config")[name], 10, 64)
	if err != nil {
		return 0
	}
	return Kbps(n / 1000)
}

func (k Kbps) bits() string { return strconv.FormatInt(int64(k)*1000, 10) }

// strays returns how many rows of ours nothing uses.
func (r *rows) strays() int {
	qos, queues := r.unused()
	return len(qos) + len(queues)
}

// unused returns our QoS that no port uses, and our queues that no other QoS uses.
func (r *rows) unused() (qos, queues []ovsdb.UUID) {
	used := make(map[ovsdb.UUID]bool)
	for _, port := range r.ports {
		used[ovsdb.Value[ovsdb.UUID](port, "qos")] = true
	}
	for id, row := range r.qos {
		if ours(row) && !used[id] {
			qos = append(qos, id)
			continue
		}
		for _, queue := range ovsdb.Pairs[int64, ovsdb.UUID](row, "queues") {
			used[queue] = true
		}
	}
	for id, row := range r.queues {
		if ours(row) && !used[id] {
			queues = append(queues, id)
		}
	}
	return qos, queues
}
