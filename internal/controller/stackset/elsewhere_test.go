package stackset

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/stackset/decision"
)

// others are the namespaces that the set of a history can write in, beside its own.
var others = []string{"shop", "crm"}

// keyIn is the key of a Stack in a history: its name or, in another namespace, NAMESPACE/NAME. It is not decision.Key,
// which is tested.
func keyIn(in, name string) string {
	if in == "" || in == namespace {
		return name
	}
	return in + "/" + name
}

func keyOf(s *v1alpha1.Stack) string { return keyIn(s.Namespace, s.Name) }

func locate(key string) (in, name string) {
	if in, name, ok := strings.Cut(key, "/"); ok {
		return in, name
	}
	return namespace, key
}

func namespaceOf(key string) string {
	in, _ := locate(key)
	return in
}

// isOwn reports that the labels of a Stack name the set.
func isOwn(s *v1alpha1.Stack) bool {
	return s.Labels[v1alpha1.StackSetLabel] == setName &&
		cmp.Or(s.Labels[v1alpha1.StackSetNamespaceLabel], s.Namespace) == namespace
}

// grant is the StackGrant of a namespace. The zero value is none.
type grant struct {
	kind     v1alpha1.StackGrantKind
	from     string
	stacks   string
	deleting bool
}

// granted allows the set to write each Stack of a namespace.
var granted = grant{kind: v1alpha1.GrantStackSet, from: namespace}

// usualGrants are those of histories: of all Stacks, of one, of dependencies, of another namespace, one that is being
// deleted, and none.
var usualGrants = []grant{
	granted, granted, granted, granted, granted, {kind: v1alpha1.GrantStackSet, from: namespace, stacks: "prod-a"},
	{kind: v1alpha1.GrantStack, from: namespace}, {kind: v1alpha1.GrantStackSet, from: "other"},
	{kind: v1alpha1.GrantStackSet, from: namespace, deleting: true}, {}, {},
}

func (g grant) allows(name string) bool {
	return g.kind == v1alpha1.GrantStackSet && g.from == namespace && !g.deleting && (g.stacks == "" ||
		g.stacks == name)
}

func (g grant) object(in string) (o v1alpha1.StackGrant) {
	o.Namespace, o.Name = in, "platform"
	o.Spec.From = []v1alpha1.StackGrantFrom{{Kind: g.kind, Namespace: g.from}}
	if g.stacks != "" {
		o.Spec.Stacks = []string{g.stacks}
	}
	if g.deleting {
		o.DeletionTimestamp = &metav1.Time{}
	}
	return o
}

// setGrant is a write of a user of another namespace.
func (a *apiModel) setGrant(in string, g grant) {
	a.grants[in] = g
	a.log = append(a.log, change{name: in, grant: &g})
	for _, p := range a.processes {
		if p.granted != nil {
			p.granted[in] = append(p.granted[in], g)
		}
	}
}

// listGrants lists those of a namespace.
func (k *kube) listGrants(list *v1alpha1.StackGrantList, in string) error {
	read := func(from map[string]grant, step *map[string]grant) {
		g := from[in]
		if g != (grant{}) {
			list.Items = append(list.Items, g.object(in))
		}
		if *step == nil {
			*step = map[string]grant{}
		}
		(*step)[in] = g
	}
	if !k.live {
		read(k.grants, &k.step.cached)
		return nil
	}
	return k.request("list grants of "+in, false, func() error {
		read(k.api.grants, &k.step.grants)
		if k.granted != nil {
			k.granted[in] = []grant{k.api.grants[in]}
		}
		return nil
	})
}

// write is a request that writes a Stack.
func (k *kube) write(verb, key string, do func() error) error {
	return k.request(verb+" "+key, true, func() error {
		if k.api.forbidden[namespaceOf(key)] {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "stacks"}, key, nil)
		}
		return do()
	})
}

// mayWrite reports whether a set may write a Stack with such grants.
func mayWrite(set *v1alpha1.StackSet, grants map[string]grant, key string) bool {
	in, name := locate(key)
	return in == namespace || slices.Contains(set.Spec.Namespaces, in) && grants[in].allows(name)
}

// isCounted reports whether a set may write a Stack of its own and, in another namespace, has written it.
func isCounted(set *v1alpha1.StackSet, s *v1alpha1.Stack, grants map[string]grant) bool {
	return s.Namespace == namespace || s.Annotations[v1alpha1.RenderedAnnotation] != "" && mayWrite(set,
		grants, keyOf(s))
}

// withheld is what a set does not write in other namespaces: the first reason, and whether it generates some of it.
type withheld struct {
	reason    string
	generated bool
}

// withhold divides the Stacks of a set, and those that it generates, from those that it may not write.
func withhold(
	set *v1alpha1.StackSet, all map[string]decision.Rendered, stacks map[string]*v1alpha1.Stack,
	grants map[string]grant,
) (own map[string]*v1alpha1.Stack, want map[string]decision.Rendered, not withheld) {
	own, want = map[string]*v1alpha1.Stack{}, maps.Clone(all)
	keys := slices.Collect(maps.Keys(all))
	for key, s := range stacks {
		if isOwn(s) {
			own[key], keys = s, append(keys, key)
		}
	}
	slices.Sort(keys)
	for _, key := range slices.Compact(keys) {
		s := stacks[key]
		_, generated := all[key]
		reason := ""
		switch {
		case namespaceOf(key) == namespace:
			continue
		case !generated && s.Annotations[v1alpha1.RenderedAnnotation] == "":
		case !mayWrite(set, grants, key):
			if generated || slices.Contains(set.Spec.Namespaces, s.Namespace) {
				reason = v1alpha1.ReasonNamespaceNotGranted
			}
		case s != nil && !isOwn(s):
			reason = v1alpha1.ReasonStackNotOwned
		default:
			continue
		}
		delete(own, key)
		delete(want, key)
		not.reason, not.generated = cmp.Or(not.reason, reason), not.generated || generated
	}
	return own, want, not
}

// checkNamespace checks that a Stack is written where the set may write: its namespace had a grant of it at some moment
// since the grants were read for this write.
func (p *process) checkNamespace(s *v1alpha1.Stack) {
	switch {
	case s.Namespace == namespace:
	case !slices.Contains(p.step.set.Spec.Namespaces, s.Namespace):
		p.violates("Stack %s is written, and spec.namespaces does not have its namespace", keyOf(s))
	case p.granted != nil && !slices.ContainsFunc(p.granted[s.Namespace], func(g grant) bool {
		return g.allows(s.Name)
	}):
		p.violates("Stack %s is written without a grant: %+v", keyOf(s), p.granted[s.Namespace])
	}
}

// record counts a write.
func (h *history) record(what string, s *v1alpha1.Stack) {
	if h.count[what]++; s.Namespace != namespace {
		h.count[what+" elsewhere"]++
	}
}

// place is the namespace of a template, as an expression and as what it results in.
type place struct {
	expression string
	of         func(env, name string) string
}

var places = []place{
	{"", func(string, string) string { return "" }},
	{"${params.env == 'prod' ? 'shop' : ''}", func(env, _ string) string {
		return map[string]string{"prod": "shop"}[env]
	}},
	{"${params.env == 'prod' ? 'shop' : 'crm'}", func(env, _ string) string {
		return map[string]string{"prod": "shop", "dev": "crm"}[env]
	}},
	{"${params.name == 'a' ? 'shop' : 'web'}", func(_, name string) string {
		return map[string]string{"a": "shop"}[name]
	}},
}

// keyOf is the key of the Stack of a directory.
func (p place) keyOf(directory string) string {
	env, name, _ := strings.Cut(directory, "/")
	if p.of == nil {
		return env + "-" + name
	}
	return keyIn(p.of(env, name), env+"-"+name)
}

// changeNamespaces changes where the Stacks of a set are, or where they may be.
func (h *history) changeNamespaces(s *v1alpha1.StackSetSpec) {
	if h.rand.IntN(2) == 0 {
		h.place = places[h.rand.IntN(len(places))]
		s.Template.Metadata.Namespace = h.place.expression
	}
	s.Namespaces = [][]string{nil, {"shop"}, others, others, others}[h.rand.IntN(5)]
	h.tracef("spec.namespaces %v, %q", s.Namespaces, h.place.expression)
}

// elsewhere is what users and administrators of other namespaces do.
func (h *history) elsewhere() {
	in := others[h.rand.IntN(len(others))]
	switch n := h.rand.IntN(10); {
	case n < 6:
		g := usualGrants[h.rand.IntN(len(usualGrants))]
		h.tracef("namespace %s grants %+v", in, g)
		h.api.setGrant(in, g)
	case n < 7:
		h.api.forbidden[in] = !h.api.forbidden[in]
		h.tracef("the operator may write in %s: %v", in, !h.api.forbidden[in])
	case n < 8:
		h.api.denied[in] = !h.api.denied[in]
		h.tracef("the author may write in %s: %v", in, !h.api.denied[in])
	default:
		h.labelElsewhere(in)
	}
}

// labelElsewhere has a user of another namespace claim a Stack for the set or for one of the same name there, or create
// it.
func (h *history) labelElsewhere(in string) {
	d := directories()
	key := in + "/" + strings.ReplaceAll(d[h.rand.IntN(len(d))], "/", "-")
	there := h.api.stacks[key]
	labels := map[string]string{v1alpha1.StackSetLabel: setName}
	if h.rand.IntN(2) == 0 {
		labels[v1alpha1.StackSetNamespaceLabel] = namespace
	}
	h.tracef("a user labels Stack %s: %v", key, labels)
	h.api.edit(key, func(s *v1alpha1.Stack) {
		if s.Labels = labels; there == nil {
			s.Spec.Source.Inline = map[string]string{"main.tf": ""}
		}
	})
	if there == nil || !isOwn(there) {
		h.joined[h.api.stacks[key].UID] = true
	}
	if there != nil {
		delete(h.changing, there.UID)
	}
}
