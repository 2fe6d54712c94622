package metacontroller

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	kjson "k8s.io/apimachinery/pkg/util/json"

	"cairn.dev/cairn/api/v1alpha1"
)

// Object is one of Kubernetes.
type Object = map[string]any

// Observed are the children or attachments that are there: by kind and apiVersion, as in Stack.cairn.dev/v1alpha1, and
// then by a name, whose form depends on the hook's version.
type Observed map[string]map[string]Object

// known returns true if a request lists the objects of a kind, even if it lists none.
func (o Observed) known(kind string) bool { return o[kind+"."+v1alpha1.GroupVersion.String()] != nil }

// of are the objects of a kind, by name.
func (o Observed) of(kind string) []Object {
	group := o[kind+"."+v1alpha1.GroupVersion.String()]
	var all []Object
	for _, key := range slices.Sorted(maps.Keys(group)) {
		if object := group[key]; object != nil {
			all = append(all, object)
		}
	}
	return all
}

// kept are all that are there of some kinds, as they are.
func (o Observed) kept(kinds ...string) []Object {
	all := []Object{}
	for _, kind := range kinds {
		for _, object := range o.of(kind) {
			all = append(all, asItIs(object))
		}
	}
	return all
}

// others are those of a kind that are there and not among the children that are wanted, as they are.
func (o Observed) others(kind string, wanted []Object) []Object {
	var others []Object
	for _, object := range o.of(kind) {
		if !slices.ContainsFunc(wanted, func(w Object) bool { return sameName(w, object) }) {
			others = append(others, asItIs(object))
		}
	}
	return others
}

// lastApplied is where metacontroller keeps what it was answered last.
const lastApplied = "metacontroller.k8s.io/last-applied-configuration"

// answeredLast is an object in the previous response; nil where that is not known.
func answeredLast(object Object) Object {
	var last Object
	text, _ := at(object, "metadata", "annotations", lastApplied).(string)
	if kjson.Unmarshal([]byte(text), &last) != nil || !sameName(last, object) || last["spec"] == nil {
		return nil
	}
	return last
}

// changes reports whether an answer with these children changes the spec of one that is observed.
func (o Observed) changes(wanted []Object) bool {
	for _, child := range wanted {
		for _, object := range o.of(text(child, "kind")) {
			last := answeredLast(object)
			if last != nil && sameName(child, object) && !equality.Semantic.DeepEqual(last["spec"], child["spec"]) {
				return true
			}
		}
	}
	return false
}

// asItIs is the answer with which an object stays as it is: what was answered last or, where that is not known, what it
// has.
func asItIs(object Object) Object {
	if last := answeredLast(object); last != nil {
		return last
	}
	kept := Object{"apiVersion": object["apiVersion"], "kind": object["kind"]}
	metadata := Object{}
	for _, name := range []string{"name", "namespace", "labels"} {
		if value := at(object, "metadata", name); value != nil {
			metadata[name] = value
		}
	}
	kept["metadata"] = metadata
	if spec := object["spec"]; spec != nil {
		kept["spec"] = spec
	}
	return kept
}

func sameName(a, b Object) bool {
	return a["apiVersion"] == b["apiVersion"] && a["kind"] == b["kind"] &&
		at(a, "metadata", "name") == at(b, "metadata", "name")
}

// at is a value in an object; nil when it does not exist.
func at(object Object, names ...string) any {
	var value any = object
	for _, name := range names {
		fields, _ := value.(map[string]any)
		value = fields[name]
	}
	return value
}

// text is a string in an object.
func text(object Object, names ...string) string {
	s, _ := at(object, names...).(string)
	return s
}

// number is a whole number in an object.
func number(object Object, names ...string) int64 {
	switch n := at(object, names...).(type) {
	case int64:
		return n
	case float64:
		return int64(n)
	}
	return 0
}

// deleted returns true if an object is being deleted.
func deleted(object Object) bool { return text(object, "metadata", "deletionTimestamp") != "" }

// adopt takes off a child's metadata what metacontroller writes there itself: with a label or annotation from the
// parent it would lose it.
func adopt(child Object) Object {
	for _, name := range []string{"labels", "annotations"} {
		values, _ := at(child, "metadata", name).(map[string]any)
		maps.DeleteFunc(values, func(key string, _ any) bool {
			return key == "controller-uid" || strings.HasPrefix(key, "metacontroller.k8s.io/")
		})
		if metadata, ok := child["metadata"].(map[string]any); ok && len(values) == 0 {
			delete(metadata, name)
		}
	}
	return child
}
