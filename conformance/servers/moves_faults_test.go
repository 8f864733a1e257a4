package servers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/berthcloud/berth/internal/sweep"
)

// A try is one case of a sweep: something fails at a place of a move. It returns whether the place
// was reached.
type try func(c *cloud, v variant, place int) (met bool)

// failEverywhere has something fail at each of the places of moves, and at last at none. Some
// clouds work at the same time. A sample has one of some shares of the moves, and of those every
// step-th place.
func failEverywhere(t *testing.T, all []variant, shares, step int, clouds func(*testing.T) *cloud, one try) {
	t.Helper()
	const atSameTime = 5
	offset, every := sweep.Every(t, shares*step)
	if every > 1 {
		shares = min(shares, every)
		step = every / shares
		var share []variant
		for i := offset % shares; i < len(all); i += shares {
			share = append(share, all[i])
		}
		all, offset, every = share, offset/shares, step
	}
	var names []string
	for i := range min(atSameTime, len(all)) {
		names = append(names, strconv.Itoa(i))
	}
	atOnce(t, names, func(t *testing.T, name string) {
		i, err := strconv.Atoi(name)
		if err != nil {
			t.Fatal(err)
		}
		c, cases := clouds(t), 0
		for ; i < len(all); i += len(names) {
			for place, met := 1+(offset+i)%every, true; met; place += every {
				c.broken = false
				c.clear()
				met = one(c, all[i], place)
				if c.Failed() {
					t.Fatalf("that was %s, place %d: %t", all[i], place, met)
				}
				cases++
			}
		}
		t.Logf("%d cases", cases)
	})
}

func twoHosts(t *testing.T) *cloud {
	t.Helper()
	return newCloud(t, 2)
}

// withAll are the moves of servers with all kinds of ports, for each of some peer services.
func withAll(peers ...string) (all []variant) {
	for _, to := range peers {
		for _, name := range slices.Sorted(maps.Keys(moves)) {
			all = append(all, variant{name, "All", to})
		}
	}
	return all
}

// TestMovesOfKilledService kills the compute service at each of its requests to placement and to
// the network service while servers are moved, before the request arrives or before the answer
// returns, in turn. A sample has every 16th case of a sixth of the moves.
func TestMovesOfKilledService(t *testing.T) {
	t.Parallel()
	failEverywhere(t, variants(), 6, 32, twoHosts, func(c *cloud, v variant, place int) (met bool) {
		return c.survives(v.scenario(), (place+1)/2, place%2 == 0)
	})
}

// TestMovesOfKilledNetwork kills the network service at each of the compute service's requests to
// it while servers are moved, before it gets the request or before its answer returns. A sample
// has every 8th case of a sixth of the moves.
func TestMovesOfKilledNetwork(t *testing.T) {
	t.Parallel()
	failEverywhere(t, withAll("network"), 6, 16, twoHosts, func(c *cloud, v variant, place int) (met bool) {
		do, look := v.scenario()(c)
		after := place%2 == 0
		h := c.ways.haltAt(v.to, (place+1)/2, after)
		done := make(chan struct{})
		go func() {
			defer close(done)
			do()
			c.halted()
		}()
		select {
		case <-done:
		case <-h.came:
			met = true
			c.networking.Kill()
			h.goOn <- !after
			c.networking.Restart()
			<-done
		}
		c.ways.haltNever()
		c.resumes()
		c.agreesTwice()
		if !met {
			look()
		}
		return met
	})
}

// resumes has operations go on that were put off, until none is under way.
func (c *cloud) resumes() {
	c.Helper()
	for end := time.Now().Add(soon); c.underWay() != "" && time.Now().Before(end); {
		c.lapse()
		c.wake()
		c.halted()
	}
	c.rests()
}

// TestMovesWithFailingPeers makes a peer service fail from each of the compute service's requests
// to it on while servers are moved, or has one of them take effect when its sender has given up. A
// sample has every 8th case of a sixth of the moves.
func TestMovesWithFailingPeers(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{unavailable, refused, late, lands, slow} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			impatient := func(t *testing.T) *cloud {
				n := berths(t)
				if kind == late || kind == lands {
					n.patience = 1
				}
				return newCloudWith(t, 2, n)
			}
			all := withAll("placement", "network")
			failEverywhere(t, all, 6, 16, impatient, func(c *cloud, v variant, place int) (met bool) {
				return c.bears(v.scenario(), place, trouble{v.to, kind})
			})
		})
	}
}

// TestMovesWithoutCommits has the database refuse one of the changes of operations, and all that
// follow, while servers are moved, and kills the compute service then. A sample has every 8th
// case of a third of the moves.
func TestMovesWithoutCommits(t *testing.T) {
	t.Parallel()
	failEverywhere(t, withAll("database"), 3, 16, twoHosts, func(c *cloud, v variant, place int) (met bool) {
		do, look := v.scenario()(c)
		refused, accept := c.refuses(place)
		done := make(chan struct{})
		go func() {
			defer close(done)
			do()
		}()
		for over := false; !met && !over; time.Sleep(time.Millisecond) {
			select {
			case <-done:
				if over = c.underWay() == ""; over {
					c.hasLogged()
				}
			default:
			}
			met = refused()
		}
		if met {
			c.compute.Kill()
		}
		accept()
		if met {
			c.lapse()
			c.compute.Restart()
		}
		<-done
		c.rests()
		c.agreesTwice()
		if !met {
			look()
		}
		return met
	})
}

// refuses makes the database refuse a change of operations, counted from here, and all that follow.
// It returns a function that reports whether it has, and one that ends that.
func (c *cloud) refuses(change int) (has func() bool, accept func()) {
	c.Helper()
	c.refusals++
	words := fmt.Sprintf("the test refuses this, for the %d. time", c.refusals)
	c.exec("CREATE TABLE refusals (seen INTEGER, refused INTEGER)")
	c.exec(fmt.Sprintf("INSERT INTO refusals VALUES (0, %d)", change))
	refusal, owner := refusals[c.driver], ""
	if c.driver == "pgx" {
		c.exec(fmt.Sprintf(refusal, words))
		refusal, owner = "EXECUTE FUNCTION refuse()", " ON operations"
	}
	verbs := []string{"INSERT", "UPDATE", "DELETE"}
	for _, verb := range verbs {
		c.exec(fmt.Sprintf("CREATE TRIGGER refuse_%s BEFORE %[1]s ON operations FOR EACH ROW ", verb) +
			strings.ReplaceAll(refusal, "%s", words))
	}
	return func() bool { return strings.Contains(c.compute.Log(), words) }, func() {
		for _, verb := range verbs {
			c.exec("DROP TRIGGER refuse_" + verb + owner)
		}
		if c.driver == "pgx" {
			c.exec("DROP FUNCTION refuse()")
		}
		c.exec("DROP TABLE refusals")
	}
}

// refusals are what a trigger does that refuses a change, by driver. For PostgreSQL it is a
// function.
var refusals = map[string]string{
	"sqlite": `BEGIN
		SELECT RAISE(ABORT, '%s') FROM refusals WHERE seen + 1 >= refused;
		UPDATE refusals SET seen = seen + 1;
	END`,
	"mysql": `BEGIN
		IF (SELECT seen + 1 >= refused FROM refusals) THEN
			SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = '%s';
		END IF;
		UPDATE refusals SET seen = seen + 1;
	END`,
	"pgx": `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		IF (SELECT seen + 1 >= refused FROM refusals) THEN
			RAISE EXCEPTION '%s';
		END IF;
		UPDATE refusals SET seen = seen + 1;
		RETURN COALESCE(NEW, OLD);
	END $$`,
}

// hasLogged waits until the compute service has logged what it has done.
func (c *cloud) hasLogged() {
	c.Helper()
	c.refusals++
	mark := fmt.Sprint("/until/", c.refusals)
	c.send("GET", mark, nil)
	for end := time.Now().Add(soon); !strings.Contains(c.compute.Log(), mark); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			c.Fatal("the compute service does not log requests")
		}
	}
}

// exec changes the database of the compute service.
func (c *cloud) exec(statement string) {
	c.Helper()
	if _, err := c.rows.ExecContext(context.Background(), statement); err != nil {
		c.Fatalf("%s: %v", statement, err)
	}
}

// TestMovesFromDyingHosts has a host die with each thing that hosts do while servers are moved,
// before it does it or before it reports it. What was under way ends without the host, which has
// exactly its servers when it is back. A sample has every 4th case of half of the moves.
func TestMovesFromDyingHosts(t *testing.T) {
	t.Parallel()
	failEverywhere(t, withAll("host"), 2, 4, twoHosts, func(c *cloud, v variant, place int) (met bool) {
		do, look := v.scenario()(c)
		if strings.HasSuffix(v.move, "Fails") {
			return false
		}
		dying, dead := make(chan string), make(chan struct{})
		var n atomic.Int64
		c.failing(func(host, _, _ string) error {
			if n.Add(1) != int64(place+1)/2 {
				return nil
			}
			dying <- host
			<-dead
			if place%2 == 0 {
				return nil
			}
			return errors.New("it has died")
		})
		done := make(chan struct{})
		go func() {
			defer close(done)
			do()
			c.rests()
		}()
		select {
		case <-done:
		case host := <-dying:
			met = true
			c.broken = moves[v.move].risky
			c.dies(host, dead)
			c.forceDown(host, true)
			<-done
		}
		c.agreesTwice()
		if !met {
			look()
		}
		return met
	})
}

// TestMovesByTwoServices has two compute services on one database, of which one stands still at one
// of its requests until the other has taken over what it was at. What it does when it goes on has
// no effect. A sample has every 16th case of two of the moves.
func TestMovesByTwoServices(t *testing.T) {
	t.Parallel()
	two := func(t *testing.T) *cloud {
		n := berths(t)
		n.second, n.patience = true, 2
		return newCloudWith(t, 2, n)
	}
	failEverywhere(t, withAll("any"), 9, 32, two, func(c *cloud, v variant, place int) (met bool) {
		do, look := v.scenario()(c)
		after := place%2 == 0
		met = c.halts("", place, after, do, func(h *halt, from string) {
			still, other := c.compute, c.second
			if from == "second" {
				still, other = other, still
			}
			still.Freeze()
			c.front.lead(other.URL())
			h.goOn <- after
			c.rests()
			c.agreesTwice()
			still.Thaw()
			c.front.lead(still.URL())
		})
		c.agreesTwice()
		if !met {
			look()
		}
		return met
	})
}
