package cloud

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
)

// A Thing is what the cloud keeps.
type Thing struct {
	Type string `json:"type"`
	ID   string `json:"id"`
	Name string `json:"name"`
	// Token is a secret that the cloud makes.
	Token      string            `json:"token"`
	Attributes map[string]string `json:"attributes,omitempty"`
	Secret     string            `json:"secret,omitempty"`
	// Password is given and never given out.
	Password string `json:"password,omitempty"`
	// Keep is what its client wants to find again. The cloud does not look into it.
	Keep json.RawMessage `json:"keep,omitempty"`
}

// A Cloud is safe for use by many. It is an http.Handler.
type Cloud struct {
	mux  *http.ServeMux
	file *os.File

	mu     sync.Mutex
	things map[string]*Thing // by type/ID
	made   int
	calls  []*Call
	faults []*Injected
	// ever is how many faults there were.
	ever int
	// changed is closed, and another one made, whenever something happens.
	changed chan struct{}
}

// New makes an empty one that forgets everything with its process.
func New() *Cloud {
	c := &Cloud{mux: http.NewServeMux(), things: map[string]*Thing{}, changed: make(chan struct{})}
	c.routes()
	return c
}

// ServeHTTP answers clients, and whoever controls it from outside.
func (c *Cloud) ServeHTTP(w http.ResponseWriter, r *http.Request) { c.mux.ServeHTTP(w, r) }

// Things are those there are, by type and ID, with all their secrets.
func (c *Cloud) Things() []Thing {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]Thing, 0, len(c.things))
	for _, key := range slices.Sorted(maps.Keys(c.things)) {
		all = append(all, c.things[key].copy())
	}
	return all
}

func (t *Thing) copy() Thing {
	c := *t
	c.Attributes = maps.Clone(t.Attributes)
	return c
}

// Named gives the thing of a name; there has to be exactly one.
func (c *Cloud) Named(name string) (Thing, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t, err := c.named(name)
	if err != nil {
		return Thing{}, err
	}
	return t.copy(), nil
}

func (c *Cloud) named(name string) (*Thing, error) {
	var found []*Thing
	for _, t := range c.things {
		if t.Name == name {
			found = append(found, t)
		}
	}
	if len(found) != 1 {
		return nil, fmt.Errorf("the cloud has %d things with the name %s", len(found), name)
	}
	return found[0], nil
}

// byHand is the caller of what is done past all clients.
const byHand = "by hand"

// Drift sets an attribute of a thing by hand.
func (c *Cloud) Drift(name, attribute, value string) error {
	return c.alone(name, Update, func(t *Thing) {
		if t.Attributes == nil {
			t.Attributes = map[string]string{}
		}
		t.Attributes[attribute] = value
	})
}

// Vanish deletes a thing by hand.
func (c *Cloud) Vanish(name string) error { return c.alone(name, Delete, nil) }

func (c *Cloud) alone(name string, verb Verb, change func(*Thing)) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	t, err := c.named(name)
	if err != nil {
		return err
	}
	next := t.copy()
	if change != nil {
		change(&next)
	}
	call := c.note(Call{Verb: verb, Caller: byHand, Type: t.Type, ID: t.ID, Name: t.Name})
	if err := c.take(call, &next); err != nil {
		return err
	}
	c.ended(call, http.StatusOK)
	return nil
}

// take has a call take effect. c.mu is held.
func (c *Cloud) take(call *Call, t *Thing) error {
	call.Applied = true
	if err := c.keep(call, t); err != nil {
		call.Applied = false
		return err
	}
	c.apply(call, t)
	c.change()
	return nil
}

// apply is what a call that takes effect does.
func (c *Cloud) apply(call *Call, t *Thing) {
	key := call.Type + "/" + call.ID
	switch call.Verb {
	case Create:
		c.made++
		c.things[key] = t
	case Update:
		c.things[key] = t
	case Delete:
		delete(c.things, key)
	}
}

// newID names the next thing, and gives it its token.
func (c *Cloud) newID(t *Thing) {
	t.ID = fmt.Sprintf("%s-%06d", t.Type, c.made+1)
	t.Token = strings.ToLower(rand.Text())
}

// change tells those who wait that something happened.
func (c *Cloud) change() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// Until waits until something is so, and looks again whenever something happens in the cloud.
func (c *Cloud) Until(ctx context.Context, is func() bool) error {
	for {
		c.mu.Lock()
		changed := c.changed
		c.mu.Unlock()
		if is() {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("it never happened in the cloud: %w", context.Cause(ctx))
		}
	}
}
