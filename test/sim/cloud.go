package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/internal/controller/inputs"
	"cairn.dev/cairn/internal/runnerapi"
)

// anyConfigMap is the path of the ConfigMap with code for Sources.
type anyConfigMap struct{ client.Reader }

func (anyConfigMap) Get(_ context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	o.SetName(key.Name)
	o.SetUID("code")
	o.SetResourceVersion("1")
	o.(*corev1.ConfigMap).Data = map[string]string{"main.tf": ""}
	return nil
}

// resource is a resource in the cloud.
type resource struct {
	id, stack, address string
	value              int
	alive              bool
	// plan is the plan that created it.
	plan string
	// excused: its creation could not be reported, since the engine was killed or frozen before, or it was abandoned on
	// purpose.
	excused string
}

// item is a resource in a state.
type item struct {
	Address, ID string
	Value       int
}

// content is a state file.
type content struct {
	serial  int64
	lineage string
	items   []item
}

func (c *content) at(address string) *item {
	for i := range c.items {
		if c.items[i].Address == address {
			return &c.items[i]
		}
	}
	return nil
}

func (c *content) has(id string) bool {
	return c != nil && slices.ContainsFunc(c.items, func(i item) bool { return i.ID == id })
}

func (c *content) clone() *content {
	return &content{c.serial, c.lineage, slices.Clone(c.items)}
}

func (c *content) set(i item) {
	if at := c.at(i.Address); at != nil {
		*at = i
		return
	}
	c.items = append(c.items, i)
}

func (c *content) drop(address string) {
	c.items = slices.DeleteFunc(c.items, func(i item) bool { return i.Address == address })
}

// bytes encodes a state file like an engine, and records its content.
func (sim *simulation) bytesOf(c *content) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, `{"version":4,"serial":%d,"lineage":%q,"resources":[`, c.serial, c.lineage)
	for n, i := range c.items {
		if n > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"mode":"managed","type":"t","name":%q,"instances":[{"attributes":{"id":%q,"v":%d}}]}`,
			strings.TrimPrefix(i.Address, "t."), i.ID, i.Value)
	}
	b.WriteString("]}")
	data := []byte(b.String())
	c = c.clone()
	sim.contents[inputs.Digest(data)] = c
	return data
}

// read decodes the result of bytes, possibly with another serial of the server.
func (sim *simulation) read(data []byte) *content {
	if len(data) == 0 {
		return &content{}
	}
	digest := inputs.Digest(data)
	if c := sim.contents[digest]; c != nil {
		return c.clone()
	}
	var f struct {
		Serial    int64
		Lineage   string
		Resources []struct {
			Name      string
			Instances []struct {
				Attributes struct {
					ID string
					V  int
				}
			}
		}
	}
	if err := json.Unmarshal(data, &f); err != nil {
		panic(err)
	}
	c := &content{serial: f.Serial, lineage: f.Lineage}
	for _, r := range f.Resources {
		c.items = append(c.items, item{"t." + r.Name, r.Instances[0].Attributes.ID, r.Instances[0].Attributes.V})
	}
	sim.contents[digest] = c
	return c.clone()
}

// wanted returns the resources for a value of the variable: one to three, of which the last one is replaced
// after a large change of the value.
func wanted(value int) []item {
	var all []item
	for i := range 1 + value%3 {
		all = append(all, item{Address: fmt.Sprintf("t.a%d", i), Value: value})
	}
	return all
}

// valueOf reads the variable of a document. In a history with pull requests, the code adds a number.
func (sim *simulation) valueOf(d inputs.Document) int {
	value := 0
	if len(d.Variables) > 0 {
		_ = json.Unmarshal(d.Variables[0].Value.Raw, &value)
	}
	return value + sim.codes[d.Source]
}

func (sim *simulation) resource(id string) *resource {
	for _, t := range sim.resources {
		if t.id == id {
			return t
		}
	}
	return nil
}

// createResource creates a resource in the cloud.
func (sim *simulation) createResource(r *runner, address string, value int, plan string) *resource {
	t := &resource{id: fmt.Sprintf("i%d", len(sim.resources)+1), stack: r.stack, address: address, value: value,
		alive: true, plan: plan}
	for _, other := range sim.resources {
		switch {
		case other.stack != t.stack || other.address != t.address:
		case other.plan == plan:
			sim.violate("I3", "plan %s makes %s twice: %s and %s", short(plan), address, other.id, t.id)
		case other.alive && other.excused == "" && sim.unreported(other):
			other.excused = "its runner was abandoned and did not report it before its deadline"
		case other.alive && other.excused == "" && !r.beyond:
			sim.violate("I3", "%s of Stack %s is made again (%s) while %s is there", address, t.stack, t.id, other.id)
		}
	}
	sim.resources = append(sim.resources, t)
	if r.beyond {
		t.excused = "made by a runner that was given up for dead"
	}
	if s, of := sim.api.stack(r.stack), r.machine.of; s == nil || s.UID != of {
		switch {
		case sim.orphans[of]:
			t.excused = "made while its Stack went, which leaves all"
		case !sim.excusesTwo(r):
			sim.violate("I5", "pod %s makes %s, and its Stack is gone", r.pod, t.id)
		}
	}
	return t
}

func entry(t *resource, action string) runnerapi.JournalEntry {
	return runnerapi.JournalEntry{Address: t.address, Type: "t", Action: action, IDKey: "id", ID: t.id}
}

func short(digest string) string { return digest[:min(len(digest), 15)] }
