package stackset

import (
	"bytes"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/cli/session"
	"cairn.dev/cairn/internal/controller/stackset/decision"
)

func goneStack(name, uid string) v1alpha1.Stack {
	return v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{
		Name: name, UID: types.UID(uid), Annotations: map[string]string{v1alpha1.ItemGoneAnnotation: "gone"},
		Labels: map[string]string{v1alpha1.StackSetLabel: "platform"},
	}}
}

// TestOnlyTheListOfTheStatusCanBeConfirmed checks that the user reads the list that the digest identifies.
func TestOnlyTheListOfTheStatusCanBeConfirmed(t *testing.T) {
	kept, deleted := goneStack("kept", "1"), goneStack("deleted", "2")
	kept.Annotations = nil
	deleted.DeletionTimestamp = &metav1.Time{}
	a, b := goneStack("a", "3"), goneStack("b", "4")
	of := func(prune v1alpha1.StackSetPrune, listed ...*v1alpha1.Stack) *v1alpha1.StackSet {
		set := &v1alpha1.StackSet{ObjectMeta: metav1.ObjectMeta{Name: "platform"},
			Spec: v1alpha1.StackSetSpec{Prune: prune}}
		if listed != nil {
			set.Status.Deletions = &v1alpha1.StackSetDeletions{Digest: decision.Digest(set, listed),
				Count: int32(len(listed))}
		}
		return set
	}
	for name, tt := range map[string]struct {
		set    *v1alpha1.StackSet
		stacks []v1alpha1.Stack
		wrong  string
	}{
		"all that are gone": {set: of(v1alpha1.PruneDelete, &a, &b),
			stacks: []v1alpha1.Stack{a, b, deleted, kept}},
		"one is gone besides":      {of(v1alpha1.PruneDelete, &a), []v1alpha1.Stack{a, b}, "is changing"},
		"one is not gone any more": {of(v1alpha1.PruneDelete, &a, &b), []v1alpha1.Stack{a, kept}, "is changing"},
		"one was created again": {of(v1alpha1.PruneDelete, &a), []v1alpha1.Stack{goneStack("a", "5")},
			"is changing"},
		"nothing waits":                {of(v1alpha1.PruneDelete), []v1alpha1.Stack{a}, "waits for a confirmation"},
		"the set deletes nothing":      {of(v1alpha1.PruneKeep, &a), []v1alpha1.Stack{a}, "it deletes no Stack"},
		"the set has the default Keep": {of("", &a), []v1alpha1.Stack{a}, "it deletes no Stack"},
	} {
		listed, err := awaiting(tt.set, tt.stacks, v1alpha1.StackGrantList{})
		if tt.wrong != "" {
			if err == nil || !strings.Contains(err.Error(), tt.wrong) || listed != nil {
				t.Errorf("%s: %d Stacks, %v", name, len(listed), err)
			}
		} else if err != nil || len(listed) != 2 || listed[0].Name != "a" || listed[1].Name != "b" {
			t.Errorf("%s: %d Stacks, %v", name, len(listed), err)
		}
	}
}

// TestListIsConfirmedByItsDigestOrName checks each way to confirm a list.
// The list has the Stacks of other namespaces that the operator may delete, and no others.
func TestConfirmedListOfOtherNamespaces(t *testing.T) {
	in := func(namespace, of, uid string) v1alpha1.Stack {
		s := goneStack("a", uid)
		s.Namespace = namespace
		s.Labels[v1alpha1.StackSetNamespaceLabel] = of
		return s
	}
	own, shop, twin, crm := in("default", "", "1"), in("shop", "default", "2"), in("shop", "", "3"), in("crm",
		"default", "4")
	set := &v1alpha1.StackSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "platform"}}
	set.Spec.Prune, set.Spec.Namespaces = v1alpha1.PruneDelete, []string{"shop", "crm"}
	granted := v1alpha1.StackGrantList{Items: []v1alpha1.StackGrant{{ObjectMeta: metav1.ObjectMeta{Namespace: "shop"}}}}
	granted.Items[0].Spec.From = []v1alpha1.StackGrantFrom{{Kind: v1alpha1.GrantStackSet, Namespace: "default"}}
	set.Status.Deletions = &v1alpha1.StackSetDeletions{Digest: decision.Digest(set, []*v1alpha1.Stack{&own, &shop})}
	listed, err := awaiting(set, []v1alpha1.Stack{own, shop, twin, crm}, granted)
	if err != nil || len(listed) != 2 || listed[1].UID != "2" {
		t.Errorf("%d Stacks, %v", len(listed), err)
	}
}

func TestListIsConfirmedByItsDigestOrName(t *testing.T) {
	st := goneStack("a", "1")
	set := &v1alpha1.StackSet{ObjectMeta: metav1.ObjectMeta{Name: "platform"}}
	set.Status.Deletions = &v1alpha1.StackSetDeletions{Digest: "1f3c"}
	for name, tt := range map[string]struct {
		digest, answer string
		terminal       bool
		wrong          string
	}{
		"its digest":                 {digest: "1f3c"},
		"its digest in another case": {digest: "1F3C"},
		"another digest":             {digest: "1f3", wrong: "the list is another one"},
		"another digest on a terminal": {digest: "0000", answer: "platform\n", terminal: true,
			wrong: "the list is another one"},
		"no terminal": {answer: "platform\n",
			wrong: "use `cairn confirm-deletions platform --digest 1f3c`"},
		"the name on a terminal":        {answer: "platform\n", terminal: true},
		"another answer on a terminal":  {answer: "yes\n", terminal: true, wrong: "nothing was done"},
		"no answer on a terminal":       {answer: "", terminal: true, wrong: "nothing was done"},
		"an empty answer on a terminal": {answer: "\n", terminal: true, wrong: "nothing was done"},
	} {
		var out bytes.Buffer
		s := session.New(genericiooptions.IOStreams{In: strings.NewReader(tt.answer), Out: &out, ErrOut: &out}, "cairn")
		s.TTY = tt.terminal
		err := confirmList(t.Context(), s, set, []*v1alpha1.Stack{&st}, tt.digest)
		if tt.wrong == "" && err != nil || tt.wrong != "" && (err == nil || !strings.Contains(err.Error(), tt.wrong)) {
			t.Errorf("%s: %v, want %q", name, err, tt.wrong)
		}
	}
}

// TestProtectedStacksAreNamed checks that the user learns what the API server is going to deny.
func TestProtectedStacksAreNamed(t *testing.T) {
	a, b := goneStack("a", "1"), goneStack("b", "2")
	a.Spec.DeletionPolicy, b.Spec.DeletionPolicy = v1alpha1.DeletionOrphan, v1alpha1.DeletionProtect
	a.Namespace, b.Namespace = "infra", "infra"
	if got := protected([]*v1alpha1.Stack{&a}); got != "" {
		t.Errorf("without a protected Stack: %q", got)
	}
	want := "1 of them are protected, and stay until you set another deletionPolicy, Destroy or Orphan, in each:\n" +
		"  kubectl -n infra patch stack b --type=merge -p '{\"spec\":{\"deletionPolicy\":\"Destroy\"}}'\n"
	if got := protected([]*v1alpha1.Stack{&a, &b}); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
