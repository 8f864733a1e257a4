package ovsdb_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/agent/ovsdb"
	"github.com/berthcloud/berth/internal/ovstest"
)

func southbound(t *testing.T, leader bool, servers ...*ovstest.Server) *ovsdb.Client {
	t.Helper()
	config := ovsdb.Config{
		Database: "OVN_Southbound", Leader: leader,
		Tables: map[string][]string{"Chassis": {"name", "other_config", "encaps"}},
	}
	for _, s := range servers {
		rs, err := ovsdb.ParseRemotes(s.Remote())
		if err != nil {
			t.Fatal(err)
		}
		config.Remotes = append(config.Remotes, rs...)
	}
	return start(t, config)
}

// chassis returns operations that add one with an encapsulation.
func chassis(name string) []ovsdb.Operation {
	return []ovsdb.Operation{
		ovsdb.Insert("Encap", ovsdb.Row{"type": "geneve", "ip": "tunnel of " + name, "chassis_name": name}, "e"),
		ovsdb.Insert("Chassis", ovsdb.Row{"name": name, "hostname": "host", "encaps": ovsdb.Named("e")}, ""),
	}
}

// named waits until the watched rows are chassis of these names.
func named(t *testing.T, c *ovsdb.Client, want ...string) {
	t.Helper()
	ovstest.Await(t, fmt.Sprintf("the chassis are %v", want), func() bool {
		var got []string
		for _, name := range want {
			for _, row := range c.Rows("Chassis") {
				if ovsdb.Value[string](row, "name") == name {
					got = append(got, name)
				}
			}
		}
		return cmp.Equal(want, got) && len(c.Rows("Chassis")) == len(want)
	})
}

// Every operation, against a real server, which also restarts.
func TestServer(t *testing.T) {
	t.Parallel()
	s := ovstest.NewSouthbound(t)
	c := southbound(t, true, s) // a server that stands alone leads
	if synced, changes := next(t, c); !synced || len(changes) != 0 {
		t.Errorf("an empty table: synced = %t, changes = %v", synced, changes)
	}
	added, err := c.Transact(t.Context(), chassis("hv1")...)
	if err != nil {
		t.Fatal(err)
	}
	id := added[1].UUID
	_, changes := next(t, c)
	if ch := changes[id]; ch.Old != nil || ovsdb.Value[string](ch.New, "name") != "hv1" ||
		ovsdb.Value[ovsdb.UUID](ch.New, "encaps") != added[0].UUID {
		t.Errorf("the new chassis came as %v", changes)
	}
	changed, err := c.Transact(
		t.Context(),
		ovsdb.Wait("Chassis", 0, []string{"hostname"}, []ovsdb.Row{{"hostname": "host"}}, ovsdb.Is("name", "hv1")),
		ovsdb.Update("Chassis", ovsdb.Row{"other_config": ovsdb.MapOf(map[string]string{"a": "1", "b": "2"})},
			ovsdb.Is("_uuid", id)),
		ovsdb.Mutate("Chassis", []ovsdb.Mutation{
			{Column: "other_config", Mutator: "delete", Value: ovsdb.SetOf("a")},
			{Column: "nb_cfg", Mutator: "+=", Value: 7},
		}, ovsdb.Is("name", "hv1")),
		ovsdb.Select("Chassis", []string{"nb_cfg", "other_config", "_uuid"}),
	)
	if err != nil {
		t.Fatal(err)
	}
	want := ovsdb.Row{"nb_cfg": int64(7), "other_config": ovsdb.MapOf(map[string]string{"b": "2"}), "_uuid": id}
	if diff := cmp.Diff([]ovsdb.Row{want}, changed[3].Rows); diff != "" || changed[1].Count != 1 || changed[2].Count != 1 {
		t.Errorf("results %v, rows -want +got:\n%s", changed, diff)
	}
	if _, changes = next(t, c); len(ovsdb.Pairs[string, string](changes[id].New, "other_config")) != 1 {
		t.Errorf("the changed chassis came as %v", changes)
	}

	s.Kill()
	s.Start()
	if synced, changes := next(t, c); !synced || changes[id].New == nil {
		t.Errorf("after a restart: synced = %t, changes = %v", synced, changes)
	}
	if _, err := c.Transact(t.Context(), ovsdb.Delete("Chassis", ovsdb.Is("name", "hv1"))); err != nil {
		t.Fatal(err)
	}
	if _, changes := next(t, c); changes[id].New != nil || changes[id].Old == nil {
		t.Errorf("the removed chassis came as %v", changes)
	}
}

func TestServerRefuses(t *testing.T) {
	t.Parallel()
	c := southbound(t, false, ovstest.NewSouthbound(t))
	for _, test := range []struct {
		ops  []ovsdb.Operation
		want ovsdb.OperationError // Details apart
	}{
		{
			append(chassis("hv1"), chassis("hv1")[1]),
			ovsdb.OperationError{Index: 3, Name: "commit", Code: ovsdb.ConstraintViolation},
		},
		{
			[]ovsdb.Operation{ovsdb.Comment("x"), ovsdb.Wait("Chassis", 0, []string{"name"}, []ovsdb.Row{{"name": "hv9"}})},
			ovsdb.OperationError{Index: 1, Name: "wait", Code: ovsdb.TimedOut},
		},
		{
			[]ovsdb.Operation{ovsdb.Insert("Chassis", ovsdb.Row{"name": "hv2", "encaps": ovsdb.UUID(uuid1)}, "")},
			ovsdb.OperationError{Index: 1, Name: "commit", Code: ovsdb.ReferentialIntegrity},
		},
		{
			[]ovsdb.Operation{ovsdb.Insert("Encap", ovsdb.Row{"type": "carrier pigeon"}, "")},
			ovsdb.OperationError{Name: "insert", Code: ovsdb.ConstraintViolation},
		},
	} {
		_, err := c.Transact(t.Context(), test.ops...)
		got := new(ovsdb.OperationError)
		if !errors.As(err, &got) || (got.Index != test.want.Index || got.Name != test.want.Name ||
			got.Code != test.want.Code) {
			t.Errorf("Transact: %v, want %v", err, &test.want)
		}
	}
	named(t, c)
}

// A client that wants the leader finds it, and finds the next one.
func TestCluster(t *testing.T) {
	t.Parallel()
	servers := ovstest.NewCluster(t, 3)
	c := southbound(t, true, servers...)
	if _, err := c.Transact(t.Context(), chassis("hv1")...); err != nil {
		t.Fatal(err)
	}
	named(t, c, "hv1")
	for _, s := range servers {
		if leads(s) {
			s.Kill()
			break
		}
	}
	ovstest.Await(t, "another server leads", func() bool {
		_, err := c.Transact(t.Context(), chassis("hv2")...)
		return err == nil
	})
	named(t, c, "hv1", "hv2")
}

func leads(s *ovstest.Server) bool {
	out := s.Control("cluster/status", "OVN_Southbound")
	return strings.Contains(out, "Role: leader")
}

// An ssl: remote needs settings, and works with them.
func TestTLS(t *testing.T) {
	t.Parallel()
	certificate, roots := selfSigned(t)
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{certificate}})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	f := newFake(answers())
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go f.serve(conn)
		}
	}()
	remotes, err := ovsdb.ParseRemotes("ssl:" + l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	c := start(t, ovsdb.Config{Remotes: remotes, Database: "DB", TLS: &tls.Config{RootCAs: roots}})
	if _, err := c.Transact(t.Context(), ovsdb.Comment("x")); err != nil {
		t.Error(err)
	}
	c = start(t, ovsdb.Config{Remotes: remotes, Database: "DB", Timeout: 200 * time.Millisecond})
	if _, err := c.Transact(t.Context(), ovsdb.Comment("x")); err == nil ||
		!strings.Contains(err.Error(), "certificate authority") {
		t.Errorf("without settings: %v", err)
	}
}

func selfSigned(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(parsed)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, roots
}
