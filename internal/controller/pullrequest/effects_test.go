package pullrequest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/stackset/decision"
	"cairn.dev/cairn/internal/controller/stackset/render"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
)

const platformSet = `
metadata: {name: platform, namespace: prod}
spec:
  repository: {name: infra}
  generators: [{directories: {include: ["envs/{env}/{name}"]}}]
  template:
    metadata: {name: "${params.env}-${params.name}"}
    spec:
      source: {git: {repository: {name: infra}, path: "${directory}"}}
      variables: [{name: size, value: "${params.env == 'x' ? int(params.name) : 1}"}]
`

// renderingOf renders a set at a commit with a file in each of these directories.
func renderingOf(t *testing.T, set *v1alpha1.StackSet, directories ...string) rendering {
	t.Helper()
	r, problem := render.New(set)
	if problem != nil {
		return rendering{problem: problem}
	}
	var files []string
	for _, d := range directories {
		files = append(files, d+"/main.tf")
	}
	all, problem, err := r.Stacks(context.Background(), files, nil)
	if err != nil {
		t.Fatal(err)
	}
	return rendering{all, problem}
}

// stackOfSet is a Stack in the cluster; of no set if that is empty.
func stackOfSet(name, set string, annotations ...string) v1alpha1.Stack {
	s := v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: name, Annotations: map[string]string{}}}
	if set != "" {
		s.Labels = map[string]string{v1alpha1.StackSetLabel: set}
	}
	for _, a := range annotations {
		s.Annotations[a] = "because"
	}
	return s
}

// summaryOf is an effect on a few lines.
func summaryOf(e v1alpha1.PullRequestStackSet) string {
	lines := []string{runinfo.Effects(e)}
	for _, s := range e.Stacks {
		lines = append(lines, runinfo.EffectLine(s))
	}
	if e.Reason != "" {
		lines[0] += e.Reason
	}
	return strings.Join(lines, "\n")
}

// prodInShop has the Stacks of prod in namespace shop.
func prodInShop(s *v1alpha1.StackSet) {
	s.Spec.Namespaces = []string{"shop"}
	s.Spec.Template.Metadata.Namespace = "${params.env == 'prod' ? 'shop' : ''}"
}

func inShop(s v1alpha1.Stack) v1alpha1.Stack {
	s.Namespace, s.Labels[v1alpha1.StackSetNamespaceLabel] = "shop", "prod"
	return s
}

func TestEffect(t *testing.T) {
	net, db, mail := "envs/dev/net", "envs/dev/db", "envs/prod/mail"
	for name, tt := range map[string]struct {
		change      func(*v1alpha1.StackSet)
		base, merge []string
		stacks      []v1alpha1.Stack
		want        string
		message     string
	}{
		"nothing": {base: []string{net, db}, merge: []string{net, db}},
		"one is new": {base: []string{net}, merge: []string{net, db},
			want: "1 Stack would appear\n+ dev-db  envs/dev/db"},
		"one goes, and is listed before what appears": {base: []string{net, mail}, merge: []string{net, db},
			want: "1 Stack would go, 1 would appear\n- prod-mail  envs/prod/mail\n+ dev-db  envs/dev/db"},
		"the set lags: its Stacks are not there yet, or differ": {base: []string{net, db},
			merge:  []string{net, db, mail},
			stacks: []v1alpha1.Stack{stackOfSet("dev-net", "platform")},
			want:   "1 Stack would appear\n+ prod-mail  envs/prod/mail"},
		"renamed": {base: []string{net, mail}, merge: []string{"envs/dev/network", mail},
			want: "1 Stack would go, 1 would appear\n- dev-net  envs/dev/net\n+ dev-network  envs/dev/network"},
		"renamed, and the move is declared": {base: []string{net, mail}, merge: []string{"envs/dev/network", mail},
			change: func(s *v1alpha1.StackSet) {
				s.Spec.Moved = []v1alpha1.StackSetMove{{From: "dev-net", To: "dev-network"}}
			},
			stacks: []v1alpha1.Stack{stackOfSet("dev-net", "platform")},
			want:   "1 Stack would change\n! dev-net  spec.source.git.path"},
		"moved at the base already": {base: []string{"envs/dev/network"}, merge: []string{"envs/dev/network", db},
			change: func(s *v1alpha1.StackSet) {
				s.Spec.Moved = []v1alpha1.StackSetMove{{From: "dev-net", To: "dev-network"}}
			},
			stacks: []v1alpha1.Stack{stackOfSet("dev-net", "platform")},
			want:   "1 Stack would appear\n+ dev-db  envs/dev/db"},
		"one returns": {base: []string{net}, merge: []string{net, db},
			stacks: []v1alpha1.Stack{stackOfSet("dev-db", "platform", v1alpha1.ItemGoneAnnotation)},
			want:   "1 Stack would return\n+ dev-db  envs/dev/db (continues)"},
		"one is gone, and stays so": {base: []string{net}, merge: []string{net},
			stacks: []v1alpha1.Stack{stackOfSet("dev-db", "platform", v1alpha1.ItemGoneAnnotation)}},
		"one is about to be gone": {base: []string{net}, merge: []string{net},
			stacks: []v1alpha1.Stack{stackOfSet("dev-db", "platform")}},
		"a template that fails for a new directory": {base: []string{net}, merge: []string{net, "envs/x/many"},
			want:    "RenderingFailed",
			message: "${params.env == 'x' ? int(params.name) : 1}"},
		"the same error at the base": {base: []string{net, "envs/x/many"}, merge: []string{net, db, "envs/x/many"},
			message: "envs/x/many"},
		"another error at the base": {base: []string{net, "envs/x/many"},
			merge: []string{net, "envs/x/a", "envs/x/many"}, want: "RenderingFailed",
			message: "envs/x/a"},
		"an error of the base that the merge corrects": {base: []string{net, "envs/x/many"},
			merge: []string{net, db, "envs/x/1"},
			stacks: []v1alpha1.Stack{stackOfSet("dev-net", "platform"),
				stackOfSet("dev-old", "platform", v1alpha1.ItemGoneAnnotation)},
			want: "1 Stack would change, 2 would appear\n! dev-net  spec.source.git.path, " +
				"spec.source.git.repository.name, spec.variables\n+ dev-db  envs/dev/db\n+ x-1  envs/x/1"},
		"the name of a Stack of a user": {base: []string{net}, merge: []string{net, db},
			stacks: []v1alpha1.Stack{stackOfSet("dev-db", "")},
			want:   "StackNotOwned", message: "Stack dev-db is not of this StackSet"},
		"the name of a Stack of another set": {base: []string{net}, merge: []string{net, db},
			stacks: []v1alpha1.Stack{stackOfSet("dev-db", "other")},
			want:   "StackNotOwned", message: "Stack dev-db is not of this StackSet"},
		"two directories with one name": {base: []string{"envs/a-b/c"}, merge: []string{"envs/a-b/c", "envs/a/b-c"},
			want:    "NamesCollide",
			message: "envs/a-b/c and envs/a/b-c have the same name a-b-c"},
		"nothing is left":     {base: []string{net}, want: "NothingGenerated", message: "the generators list nothing"},
		"the first directory": {merge: []string{net}, want: "1 Stack would appear\n+ dev-net  envs/dev/net"},
		"more go than maxDeletions": {base: []string{net, db, mail}, merge: []string{net},
			want:    "2 Stacks would go\n- dev-db  envs/dev/db\n- prod-mail  envs/prod/mail",
			message: "spec.maxDeletions allows 1 at once"},
		"mode Preview": {base: []string{net}, merge: []string{net, db}, change: func(s *v1alpha1.StackSet) {
			s.Spec.Mode = v1alpha1.StackSetPreview
		},
			want: "1 Stack would appear\n+ dev-db  envs/dev/db", message: "spec.mode is Preview"},
		"a confirmed list deletes none of the list": {base: []string{net, db}, merge: []string{net},
			change: func(s *v1alpha1.StackSet) {
				s.Spec.Prune = v1alpha1.PruneDelete
				s.Annotations = map[string]string{v1alpha1.ConfirmDeletionsAnnotation: decision.Digest(s,
					[]*v1alpha1.Stack{{ObjectMeta: metav1.ObjectMeta{
						Name: "dev-db", UID: "dev-db"}}})}
			}, want: "1 Stack would go\n- dev-db  envs/dev/db"},
		"a rollout delays nothing": {base: []string{net, db, mail},
			merge: []string{"envs/dev/n", "envs/dev/d", "envs/prod/m"}, change: func(s *v1alpha1.StackSet) {
				s.Spec.Rollout = &v1alpha1.StackSetRollout{MaxConcurrent: new(int32(1))}
				s.Spec.Moved = []v1alpha1.StackSetMove{{From: "dev-net", To: "dev-n"}, {From: "dev-db", To: "dev-d"},
					{From: "prod-mail", To: "prod-m"}}
			}, stacks: []v1alpha1.Stack{stackOfSet("dev-net", "platform"), stackOfSet("dev-db", "platform"), stackOfSet(
				"prod-mail", "platform")},
			want: "3 Stacks would change\n! dev-db  spec.source.git.path\n! dev-net  spec.source.git.path\n! " +
				"prod-mail  spec.source.git.path"},
		"in another namespace, with or without a StackGrant": {base: []string{net, mail},
			merge: []string{net, "envs/prod/web"}, change: prodInShop,
			want: "1 Stack would go, 1 would appear\n- shop/prod-mail  envs/prod/mail\n+ shop/prod-web  envs/prod/web"},
		"one returns in another namespace": {base: []string{net}, merge: []string{net, mail}, change: prodInShop,
			stacks: []v1alpha1.Stack{inShop(stackOfSet("prod-mail", "platform", v1alpha1.ItemGoneAnnotation))},
			want:   "1 Stack would return\n+ shop/prod-mail  envs/prod/mail (continues)"},
	} {
		t.Run(name, func(t *testing.T) {
			set := &v1alpha1.StackSet{}
			if err := yaml.Unmarshal([]byte(platformSet), set); err != nil {
				t.Fatal(err)
			}
			if tt.change != nil {
				tt.change(set)
			}
			before := set.DeepCopy()
			effect, _, err := effectOf(set, renderingOf(t, set, tt.base...), renderingOf(t, set, tt.merge...),
				tt.stacks)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, summaryOf(effect)); diff != "" {
				t.Error(diff)
			}
			if !strings.Contains(effect.Message, tt.message) || (tt.message == "") != (effect.Message == "") {
				t.Errorf("the message is %q", effect.Message)
			}
			if diff := cmp.Diff(before, set); diff != "" {
				t.Errorf("the StackSet of the cache was changed: %s", diff)
			}
			if empty := tt.want == "" && tt.message == ""; isEmpty(effect) != empty {
				t.Errorf("it is empty: %t", isEmpty(effect))
			}
		})
	}
}

// A list is bounded, and its numbers are not. What goes is listed before what appears, however much that is.
func TestEffectIsBounded(t *testing.T) {
	set := &v1alpha1.StackSet{}
	if err := yaml.Unmarshal([]byte(platformSet), set); err != nil {
		t.Fatal(err)
	}
	set.Spec.MaxDeletions = new(intstr.FromString("100%"))
	merge := []string{"envs/dev/stays"}
	for i := range 300 {
		merge = append(merge, fmt.Sprintf("envs/dev/a%d", i))
	}
	effect, _, err := effectOf(set, renderingOf(t, set, "envs/dev/stays", "envs/dev/z"), renderingOf(t, set, merge...),
		nil)
	if err != nil || len(effect.Stacks) != maxSetStacks || effect.Stacks[0].Name != "dev-z" || effect.Appear != 300 {
		t.Errorf("%d in the list, which begins with %v; %d appear: %v", len(effect.Stacks), effect.Stacks[:1],
			effect.Appear, err)
	}
	var all []v1alpha1.PullRequestStackSet
	for range 2 * maxSets {
		all = append(all, effect)
	}
	all = append(all, v1alpha1.PullRequestStackSet{Name: "broken", Reason: v1alpha1.ReasonRenderingFailed,
		Message: "no such key"})
	next := &v1alpha1.PullRequestStatus{}
	listStackSets(next, all)
	if len(next.StackSets) != maxSets || next.StackSets[0].Name != "broken" || next.MoreStackSets != maxSets+1 {
		t.Errorf("%d StackSets, and %d more; the first is %s", len(next.StackSets), next.MoreStackSets,
			next.StackSets[0].Name)
	}
	if text := valid("envs/\xff"+strings.Repeat("a", 400), maxPath); len(text) > maxPath ||
		!strings.HasPrefix(text, "envs/\uFFFDaaa") {
		t.Errorf("a name that is not UTF-8 is %q", text)
	}
}

// An error of a StackSet after the merge fails the pull request, also if it affects no Stack, but not before the plans
// end.
func TestStackSetFailsThePullRequest(t *testing.T) {
	w := pull(func(w *Snapshot) {
		w.Merge.Affected = nil
		w.Merge.StackSets = []v1alpha1.PullRequestStackSet{
			{Namespace: "prod", Name: "one", Appear: 1},
			{Namespace: "prod", Name: "platform", Reason: v1alpha1.ReasonRenderingFailed,
				Message: "no such key: region"},
		}
	})
	w.Repository = repositoryOf()
	s := next(&w)
	ready := s.Conditions[0]
	want := "StackSet prod/platform after the merge: RenderingFailed: no such key: region"
	if ready.Status != metav1.ConditionFalse || ready.Reason != v1alpha1.ReasonStackSetFailed || ready.Message != want {
		t.Errorf("Ready: %+v", ready)
	}
	if status := w.statusesOf(&s)[0]; status.State != "failure" ||
		status.Description != "1 StackSet has an error after the merge. 1 Stack would appear." {
		t.Errorf("the status of the commit: %+v", status)
	}
	w.Merge.StackSets = w.Merge.StackSets[:1]
	if s = next(&w); s.Conditions[0].Message != "no Stack is affected; 1 Stack would appear" || len(s.StackSets) != 1 {
		t.Errorf("without it: %+v", s)
	}
	w.Merge = nil
	if s = next(&w); len(s.StackSets) != 1 {
		t.Error("the list of the merge before is gone before there is another one")
	}
	w.PullRequest.Spec.Draft = true
	if s = next(&w); len(s.StackSets) != 0 {
		t.Error("a draft has a list")
	}
}
