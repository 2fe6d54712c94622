package listing

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cairn.dev/cairn/internal/userapi"
)

func TestChangesSinceAPosition(t *testing.T) {
	c := NewChanges()
	_, place, ok := c.Since("")
	if !ok {
		t.Fatal("the current position is invalid")
	}
	news, leave := c.Subscribe()
	net := userapi.Change{Kind: "Stack", Namespace: "a", Name: "net"}
	gone, run := net, userapi.Change{Kind: "Run", Namespace: "a", Name: "net"}
	gone.Deleted = true
	for _, change := range []userapi.Change{net, run, net, gone} {
		c.Add(change)
	}
	<-news
	leave()
	changes, now, ok := c.Since(place)
	if diff := cmp.Diff([]userapi.Change{gone, run}, changes); !ok || diff != "" { // each once, as it is now
		t.Error(diff)
	}
	if changes, _, ok := c.Since(now); !ok || len(changes) != 0 {
		t.Errorf("after that: %v, %t", changes, ok)
	}
	_, other, _ := NewChanges().Since("")
	for _, bad := range []string{other, "x", c.epoch + "-x", c.epoch + "--1", c.epoch + "-5"} {
		if _, _, ok := c.Since(bad); ok {
			t.Errorf("%s is a place", bad)
		}
	}
}

func TestOldestChangesAreDropped(t *testing.T) {
	c := NewChanges()
	_, first, _ := c.Since("")
	for i := range mostChanges {
		c.Add(userapi.Change{Name: fmt.Sprint(i)})
	}
	if changes, _, ok := c.Since(first); !ok || len(changes) != mostChanges || changes[0].Name != "0" {
		t.Errorf("%d changes, %t", len(changes), ok)
	}
	c.Add(userapi.Change{Name: "one more"})
	if _, _, ok := c.Since(first); ok {
		t.Error("no error although changes were dropped")
	}
	changes, _, ok := c.Since(c.epoch + "-" + fmt.Sprint(mostChanges-1))
	if diff := cmp.Diff([]userapi.Change{{Name: fmt.Sprint(mostChanges - 1)}, {Name: "one more"}}, changes); !ok ||
		diff != "" {
		t.Error(diff)
	}
}
