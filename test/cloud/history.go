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

// A Verb is what a call does.
type Verb string

// The verbs.
const (
	Create Verb = "create"
	Read   Verb = "read"
	Update Verb = "update"
	Delete Verb = "delete"
	List   Verb = "list"
)

// A Call is what somebody asked of the cloud, and what became of it.
type Call struct {
	// Number is 1 for the first one.
	Number int       `json:"number"`
	Time   time.Time `json:"time"`
	// Caller says who, and Token in which operation, by their own word.
	Caller string `json:"caller,omitempty"`
	Token  string `json:"clientToken,omitempty"`
	Verb   Verb   `json:"verb"`
	Type   string `json:"type"`
	// ID of the thing; a creation that did not take effect has none.
	ID   string `json:"id,omitempty"`
	Name string `json:"name,omitempty"`
	// Applied says that it took effect, whatever the client heard of it.
	Applied bool `json:"applied"`
	// Status is what was answered; 0 if nothing was, or not yet.
	Status int `json:"status,omitempty"`
	// Ended says that nothing more comes of it.
	Ended bool `json:"ended"`
}

// String is a line for people.
func (c Call) String() string {
	become := "pending"
	switch {
	case c.Status > 0:
		become = fmt.Sprint(c.Status)
	case c.Ended:
		become = "no answer"
	}
	applied := ""
	if c.Applied {
		applied = ", applied"
	}
	return fmt.Sprintf("%d %s %s %s %s %s by %s: %s%s", c.Number, c.Time.UTC().Format("15:04:05.000"), c.Verb, c.Type, c.Name, c.ID, c.Caller, become, applied)
}

// History is every call so far, in the order in which they came.
func (c *Cloud) History() []Call {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]Call, len(c.calls))
	for i, call := range c.calls {
		all[i] = *call
	}
	return all
}

// Count is how many calls of a verb to things of a name took effect.
func (c *Cloud) Count(verb Verb, name string) int {
	n := 0
	for _, call := range c.History() {
		if call.Applied && call.Verb == verb && call.Name == name {
			n++
		}
	}
	return n
}

// Made is how often a thing of a name was made.
func (c *Cloud) Made(name string) int { return c.Count(Create, name) }

// Twice are the names that were made more than once, in order.
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

// Quiet says that no call is under way.
func (c *Cloud) Quiet() bool {
	return !slices.ContainsFunc(c.History(), func(call Call) bool { return !call.Ended })
}

// note writes a call down. c.mu is held.
func (c *Cloud) note(call Call) *Call {
	call.Number, call.Time = len(c.calls)+1, time.Now()
	c.calls = append(c.calls, &call)
	return &call
}

// ended says what a call came to. c.mu is held.
func (c *Cloud) ended(call *Call, status int) {
	call.Status, call.Ended = status, true
	c.change()
}

// kept is a line of the file: a call that took effect, and the thing as it was then.
type kept struct {
	Call  *Call  `json:"call"`
	Thing *Thing `json:"thing"`
}

// Open makes a cloud that keeps what there is and what made it so in a file, and goes on with it. Calls without effect, and faults, are not kept.
func Open(path string) (*Cloud, error) {
	c := New()
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, largestBody*2)
	for lines.Scan() {
		var k kept
		if err := json.Unmarshal(lines.Bytes(), &k); err != nil || k.Call == nil || k.Thing == nil {
			return nil, errors.Join(fmt.Errorf("line %d of %s is no cloud's", len(c.calls)+1, path), err, file.Close())
		}
		k.Call.Number, k.Call.Ended = len(c.calls)+1, true
		c.calls = append(c.calls, k.Call)
		c.apply(k.Call, k.Thing)
	}
	if err := lines.Err(); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	c.file = file
	return c, nil
}

// Close closes its file, if it has one.
func (c *Cloud) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.file == nil {
		return nil
	}
	return c.file.Close()
}

// keep writes what is about to take effect into the file, if there is one.
func (c *Cloud) keep(call *Call, t *Thing) error {
	if c.file == nil {
		return nil
	}
	line, err := json.Marshal(kept{call, t})
	if err != nil {
		return err
	}
	_, err = c.file.Write(append(line, '\n'))
	return err
}
