package pullrequest

import (
	"fmt"
	"testing"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/source/gitprovider/pulls"
)

// Beyond the limit of open pull requests a new one is not listed, and the Repository reports that.
func TestTooManyPullRequestsAreReported(t *testing.T) {
	h := newHistory(2)
	h.quiet = true
	open := func() {
		h.git.pulls = append(h.git.pulls, &pullModel{
			Number: len(h.git.pulls) + 1, State: "open", Draft: true, User: userModel{"alice"}, Updated: h.now,
			Head: refModel{Ref: "change", SHA: h.git.commit(), Repo: map[string]int{"id": 1}},
			Base: refModel{Ref: "main", RepoID: 1},
		})
	}
	condition := func() metav1.Condition {
		h.now = h.now.Add(time.Minute)
		p := h.processes[0]
		_, err := p.discovery.Reconcile(t.Context(),
			ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "web", Name: "infra"}})
		for p.receive() {
		}
		if err != nil {
			t.Fatal(err)
		}
		repo := h.api.objects[key{"Repository", "web", "infra"}].(*v1alpha1.Repository)
		c := apimeta.FindStatusCondition(repo.Status.Conditions, v1alpha1.ConditionPullRequests)
		if c == nil {
			return metav1.Condition{}
		}
		return *c
	}
	open()
	if c := condition(); c.Reason != v1alpha1.ReasonListed {
		t.Fatalf("one: %+v", c)
	}
	for len(h.git.pulls) <= pulls.MaxOpen {
		open()
	}
	c := condition()
	listed := h.api.objects[key{"PullRequest", "web", fmt.Sprintf("infra-%d", len(h.git.pulls))}] != nil
	if !listed && c.Status == metav1.ConditionTrue {
		t.Errorf("%s %s", c.Reason, c.Message)
	}
}
