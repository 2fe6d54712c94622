package bucketgc

import (
	"testing"
	"time"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/bucket"
)

func TestDecide(t *testing.T) {
	before := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	u := used{inputs: map[string]bool{"sha256:used": true}, sources: map[string]bool{"sha256:code": true}}
	for name, c := range map[string]struct {
		key  string
		age  time.Duration // before the time; negative is after it
		want action
	}{
		"inputs that are used are kept, however old":   {"inputs/sha256:used", 1000 * time.Hour, keep},
		"inputs that are unused and old go":            {"inputs/sha256:none", time.Second, remove},
		"inputs that are unused and young are kept":    {"inputs/sha256:none", -time.Second, keep},
		"inputs that are exactly so old are kept":      {"inputs/sha256:none", 0, keep},
		"code that is used is kept, however old":       {"sources/sha256:code", 1000 * time.Hour, keep},
		"code that is unused and old goes":             {"sources/sha256:none", time.Second, remove},
		"code that is unused and young is kept":        {"sources/sha256:none", -time.Second, keep},
		"code is not used because inputs are named so": {"sources/sha256:used", time.Second, remove},
		"inputs are not used because code is named so": {"inputs/sha256:code", time.Second, remove},
		"an old closure is asked":                      {"closures/sha256:any", time.Second, ask},
		"a young closure is not":                       {"closures/sha256:any", -time.Second, keep},
		"what is in a folder of a Stack's own is kept": {"plans/ns/uid/sha256:none", time.Second, keep},
		"a state is kept":                              {"states/ns/net/1-none", time.Second, keep},
		"what is in a folder that begins so is kept":   {"inputs2/sha256:none", time.Second, keep},
	} {
		t.Run(name, func(t *testing.T) {
			if got := u.decide(bucket.Object{Key: c.key, At: before.Add(-c.age)}, before); got != c.want {
				t.Errorf("%s: %s", c.key, got)
			}
		})
	}
	if u.asked("sha256:code") != renew || u.asked("sha256:none") != remove || u.asked("") != remove {
		t.Error("a closure is of use when its code is")
	}
}

func TestReferencedObjects(t *testing.T) {
	stack := v1alpha1.Stack{Status: v1alpha1.StackStatus{InputsDigest: "stack now",
		AppliedInputsDigest: "stack applied"}}
	run := v1alpha1.Run{Spec: v1alpha1.RunSpec{InputsDigest: "run"}}
	state := v1alpha1.State{Status: v1alpha1.StateStatus{InputsDigest: "state"}}
	u := used{inputs: map[string]bool{}}
	if !u.blind() {
		t.Error("it sees what is not there")
	}
	u.name(&v1alpha1.RunList{Items: []v1alpha1.Run{run}})
	u.name(&v1alpha1.StackList{Items: []v1alpha1.Stack{stack, {}}})
	u.name(&v1alpha1.StateList{Items: []v1alpha1.State{state, {}}})
	u.variables("variables/ns/net/kept")
	u.variables("variables/ns/net/deeper/other")
	u.variables("variables/ns/net")
	for _, digest := range []string{"stack now", "stack applied", "run", "state", "kept"} {
		if !u.inputs[digest] {
			t.Errorf("%q is not taken to be used", digest)
		}
	}
	if len(u.inputs) != 5 || u.blind() {
		t.Errorf("used are %v", u.inputs)
	}
	// A State alone is enough: its Stack may be gone.
	for name, one := range map[string]func(*used){
		"a Stack": func(u *used) { u.name(&v1alpha1.StackList{Items: []v1alpha1.Stack{{}}}) },
		"a Run":   func(u *used) { u.name(&v1alpha1.RunList{Items: []v1alpha1.Run{{}}}) },
		"a State": func(u *used) { u.name(&v1alpha1.StateList{Items: []v1alpha1.State{{}}}) },
	} {
		u := used{inputs: map[string]bool{}}
		if one(&u); u.blind() {
			t.Errorf("%s is not seen", name)
		}
	}
}
