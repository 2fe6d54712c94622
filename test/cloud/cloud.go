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

// Resource is a resource of the cloud.
type Resource struct {
	Type string `json:"type"`
	ID   string `json:"id"`
	Name string `json:"name"`
	// Token is a secret that the cloud generates.
	Token      string            `json:"token"`
	Attributes map[string]string `json:"attributes,omitempty"`
	Secret     string            `json:"secret,omitempty"`
	// Password is never returned.
	Password string `json:"password,omitempty"`
	// Keep is stored for the client and not interpreted.
	Keep json.RawMessage `json:"keep,omitempty"`
}

// Cloud is an http.Handler, and safe for concurrent use.
type Cloud struct {
	mux  *http.ServeMux
	file *os.File

	mu        sync.Mutex
	resources map[string]*Resource // by type/ID
	made      int
	calls     []*Call
	faults    []*Injected
	// lastFault is the number of the last injected fault.
	lastFault int
	// changed is closed and replaced at each change.
	changed chan struct{}
}

// New returns an empty cloud in memory.
func New() *Cloud {
	c := &Cloud{mux: http.NewServeMux(), resources: map[string]*Resource{}, changed: make(chan struct{})}
	c.routes()
	return c
}

// ServeHTTP serves the API of the cloud and the control API.
func (c *Cloud) ServeHTTP(w http.ResponseWriter, r *http.Request) { c.mux.ServeHTTP(w, r) }

// Resources returns all resources by type and ID, with their secrets.
func (c *Cloud) Resources() []Resource {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]Resource, 0, len(c.resources))
	for _, key := range slices.Sorted(maps.Keys(c.resources)) {
		all = append(all, c.resources[key].copy())
	}
	return all
}

func (t *Resource) copy() Resource {
	c := *t
	c.Attributes = maps.Clone(t.Attributes)
	return c
}

// Named returns the resource with a name, and an error unless there is exactly one.
func (c *Cloud) Named(name string) (Resource, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t, err := c.named(name)
	if err != nil {
		return Resource{}, err
	}
	return t.copy(), nil
}

func (c *Cloud) named(name string) (*Resource, error) {
	var found []*Resource
	for _, t := range c.resources {
		if t.Name == name {
			found = append(found, t)
		}
	}
	if len(found) != 1 {
		return nil, fmt.Errorf("the cloud has %d resources with name %s", len(found), name)
	}
	return found[0], nil
}

// manual is the caller of changes outside of any engine.
const manual = "manual"

// Drift sets an attribute of a resource outside of any engine.
func (c *Cloud) Drift(name, attribute, value string) error {
	return c.manual(name, Update, func(t *Resource) {
		if t.Attributes == nil {
			t.Attributes = map[string]string{}
		}
		t.Attributes[attribute] = value
	})
}

// Delete deletes a resource outside of any engine.
func (c *Cloud) Delete(name string) error { return c.manual(name, Delete, nil) }

func (c *Cloud) manual(name string, verb Verb, change func(*Resource)) error {
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
	call := c.record(Call{Verb: verb, Caller: manual, Type: t.Type, ID: t.ID, Name: t.Name})
	if err := c.commit(call, &next); err != nil {
		return err
	}
	c.ended(call, http.StatusOK)
	return nil
}

// commit persists and applies a call. The caller holds c.mu.
func (c *Cloud) commit(call *Call, t *Resource) error {
	call.Applied = true
	if err := c.persist(call, t); err != nil {
		call.Applied = false
		return err
	}
	c.apply(call, t)
	c.change()
	return nil
}

// apply changes the resources by a call.
func (c *Cloud) apply(call *Call, t *Resource) {
	key := call.Type + "/" + call.ID
	switch call.Verb {
	case Create:
		c.made++
		c.resources[key] = t
	case Update:
		c.resources[key] = t
	case Delete:
		delete(c.resources, key)
	}
}

// newID sets the ID and the token of a new resource.
func (c *Cloud) newID(t *Resource) {
	t.ID = fmt.Sprintf("%s-%06d", t.Type, c.made+1)
	t.Token = strings.ToLower(rand.Text())
}

// change notifies all that wait for a change. The caller holds c.mu.
func (c *Cloud) change() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// Until waits until a condition holds, and evaluates it after each change of the cloud.
func (c *Cloud) Until(ctx context.Context, condition func() bool) error {
	for {
		c.mu.Lock()
		changed := c.changed
		c.mu.Unlock()
		if condition() {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("the condition did not become true: %w", context.Cause(ctx))
		}
	}
}
