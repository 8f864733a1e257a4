package servers

import (
	"encoding/json"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// boots is the number of servers that request bandwidth at the same time, more than the bridges of
// both hosts have capacity for.
const boots = 20

// TestLastKilobit boots more servers at once than there is bandwidth for: as many are active as
// there is capacity for, and the others fail for lack of it. Later servers get the bandwidth that
// deletions free.
func TestLastKilobit(t *testing.T) {
	t.Parallel()
	for hosts, kbps := range map[int]int{1: rate, 2: 2 * rate} { // seven on one host, three on each of two
		c := newCloud(t, hosts)
		fit := hosts * (room / kbps)
		for round := range 3 {
			ids := c.bootAtOnce(boots, kbps)
			c.rests()
			c.agrees()
			states := map[string]int{}
			for _, v := range c.vms() {
				states[v.Status]++
				if want := "No valid host was found. "; v.Status == "ERROR" && v.Fault.Message != want &&
					v.Fault.Message != want+"There are not enough hosts available." {
					c.Errorf("server %s: %q", v.ID, v.Fault.Message)
				}
			}
			if diff := cmp.Diff(map[string]int{"ACTIVE": fit, "ERROR": boots - fit}, states); diff != "" || len(ids) != boots {
				t.Errorf("round %d, %d accepted (-want +got):\n%s", round, len(ids), diff)
			}
			c.clear()
		}
	}
}

// bootAtOnce begins to boot servers at the same time, each with a port, and returns those that
// were accepted.
func (c *cloud) bootAtOnce(n, kbps int) (ids []string) {
	c.Helper()
	ports := make([]string, n)
	for i := range ports {
		ports[i] = c.newPort(kbps)
	}
	var start, end sync.WaitGroup
	var mu sync.Mutex
	start.Add(1)
	for _, p := range ports {
		end.Go(func() {
			start.Wait()
			var made struct{ Server struct{ ID string } }
			a, err := c.address.Do("POST", "/servers", c.wish(1, p))
			if err != nil || a.Status != 202 || json.Unmarshal(a.Body, &made) != nil {
				c.Errorf("boot: %d %s, %v", a.Status, a.Body, err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			ids = append(ids, made.Server.ID)
		})
	}
	start.Done()
	end.Wait()
	return ids
}
