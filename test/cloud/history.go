package cloud

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"
)

// Verb is the operation of a call.
type Verb string

// The verbs.
const (
	Create Verb = "create"
	Read   Verb = "read"
	Update Verb = "update"
	Delete Verb = "delete"
	List   Verb = "list"
)

// Call is a request to the cloud and its outcome.
type Call struct {
	// Number counts from 1.
	Number int       `json:"number"`
	Time   time.Time `json:"time"`
	// Caller and Token are the client and its operation, from the request's headers.
	Caller string `json:"caller,omitempty"`
	Token  string `json:"clientToken,omitempty"`
	Verb   Verb   `json:"verb"`
	Type   string `json:"type"`
	// ID is that of the resource; a creation without effect has none.
	ID   string `json:"id,omitempty"`
	Name string `json:"name,omitempty"`
	// Applied is true if the call took effect, with or without a response.
	Applied bool `json:"applied"`
	// Status is that of the response; 0 without one, or before it.
	Status int `json:"status,omitempty"`
	// Ended is true once the call is done.
	Ended bool `json:"ended"`
}

// String formats the call as one line.
func (c Call) String() string {
	result := "pending"
	switch {
	case c.Status > 0:
		result = fmt.Sprint(c.Status)
	case c.Ended:
		result = "no response"
	}
	applied := ""
	if c.Applied {
		applied = ", applied"
	}
	return fmt.Sprintf("%d %s %s %s %s %s by %s: %s%s", c.Number, c.Time.UTC().Format("15:04:05.000"), c.Verb, c.Type,
		c.Name, c.ID, c.Caller, result, applied)
}

// History returns all calls in order.
func (c *Cloud) History() []Call {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]Call, len(c.calls))
	for i, call := range c.calls {
		all[i] = *call
	}
	return all
}

// Count returns how many calls of a verb for resources with a name took effect.
func (c *Cloud) Count(verb Verb, name string) int {
	n := 0
	for _, call := range c.History() {
		if call.Applied && call.Verb == verb && call.Name == name {
			n++
		}
	}
	return n
}

// Made returns how often a resource with a name was created.
func (c *Cloud) Made(name string) int { return c.Count(Create, name) }

// Twice returns the sorted names that were created more than once.
func (c *Cloud) Twice() []string {
	made := map[string]int{}
	var twice []string
	for _, call := range c.History() {
		if call.Verb == Create && call.Applied {
			if made[call.Name]++; made[call.Name] == 2 {
				twice = append(twice, call.Name)
			}
		}
	}
	slices.Sort(twice)
	return twice
}

// Quiet reports whether no call is in progress.
func (c *Cloud) Quiet() bool {
	return !slices.ContainsFunc(c.History(), func(call Call) bool { return !call.Ended })
}

// record adds a call to the history. The caller holds c.mu.
func (c *Cloud) record(call Call) *Call {
	call.Number, call.Time = len(c.calls)+1, time.Now()
	c.calls = append(c.calls, &call)
	return &call
}

// ended records the end of a call. The caller holds c.mu.
func (c *Cloud) ended(call *Call, status int) {
	call.Status, call.Ended = status, true
	c.change()
}

// entry is a line of the file: a call that took effect, and its resource.
type entry struct {
	Call     *Call     `json:"call"`
	Resource *Resource `json:"thing"`
}

// Open returns a cloud that stores its resources and the calls that changed them in a file, and loads them from it. It
// does not store calls without effect and faults.
func Open(path string) (*Cloud, error) {
	c := New()
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, largestBody*2)
	for lines.Scan() {
		var k entry
		if err := json.Unmarshal(lines.Bytes(), &k); err != nil || k.Call == nil || k.Resource == nil {
			return nil, errors.Join(fmt.Errorf("line %d of %s is invalid", len(c.calls)+1, path), err, file.Close())
		}
		k.Call.Number, k.Call.Ended = len(c.calls)+1, true
		c.calls = append(c.calls, k.Call)
		c.apply(k.Call, k.Resource)
	}
	if err := lines.Err(); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	c.file = file
	return c, nil
}

// Close closes the file, if there is one.
func (c *Cloud) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.file == nil {
		return nil
	}
	return c.file.Close()
}

// persist writes a call to the file, if there is one, before it takes effect.
func (c *Cloud) persist(call *Call, t *Resource) error {
	if c.file == nil {
		return nil
	}
	line, err := json.Marshal(entry{call, t})
	if err != nil {
		return err
	}
	_, err = c.file.Write(append(line, '\n'))
	return err
}
