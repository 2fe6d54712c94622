//go:build gitea

package gitea

import (
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
)

// failsToApply is code that is planned, and whose apply fails.
const failsToApply = `resource "terraform_data" "fails" {
  provisioner "local-exec" {
    command = "exit 1"
  }
}
`

// TestCairnMergesAtGitea lets Cairn merge what is applied. A rule of the branch rejects it first, and an apply that
// does not succeed is not merged.
func TestCairnMergesAtGitea(t *testing.T) {
	f := applying(t, func(spec *v1alpha1.RepositorySpec) {
		spec.PullRequests.AutomaticMerge = &v1alpha1.AutomaticMerge{Method: v1alpha1.MergeMethodSquash}
	})
	ctx := t.Context()
	must(t, f.gitea.Call(ctx, f.root, "POST", repo+"/branch_protections", map[string]any{
		"rule_name": "main", "enable_push": true, "enable_status_check": true,
		"status_check_contexts": []string{"test/*", "cairn*"},
	}, nil))
	merge := func(number int) *v1alpha1.PullRequestAutomaticMerge {
		pull := &v1alpha1.PullRequest{}
		must(t, f.Get(ctx, client.ObjectKey{Namespace: "default", Name: fmt.Sprintf("infra-%d", number)}, pull))
		return pull.Status.AutomaticMerge
	}
	isMerged := func(number int) bool {
		var p struct{ Merged bool }
		must(t, f.gitea.Call(ctx, f.root, "GET", fmt.Sprintf("%s/pulls/%d", repo, number), nil, &p))
		return p.Merged
	}
	apply := func(branch, code string) (number int, head string) {
		head = f.push(branch, map[string]string{"net/main.tf": code})
		number = f.open("alice", branch, "Change the network")
		f.await(number, head, "success", "1 Stack planned", "/cairn apply ",
			"It waits: `1 of the affected Stacks not applied")
		_, after, _ := strings.Cut(f.comments(number)[0], "/cairn apply ")
		f.comment("bob", number, "/cairn apply "+after[:40])
		return number, head
	}

	number, head := apply("first", terraform("net", "2"))
	f.await(number, head, "success", "Applied: 1 changed", "The automatic merge (`squash`) failed",
		"Cairn requests it again at ")
	if isMerged(number) {
		t.Fatal("it is merged without a required status")
	}
	must(t, f.gitea.Call(ctx, f.root, "POST", repo+"/statuses/"+head,
		map[string]any{"context": "test/unit", "state": "success"}, nil))
	f.eventually("it is merged, and the Stack has the base", func() string {
		s := &v1alpha1.Stack{}
		must(t, f.Get(ctx, client.ObjectKey{Namespace: "default", Name: "net"}, s))
		return unless(isMerged(number) && s.Status.Hold == nil && s.Status.LastRun == "net-2" &&
			s.Status.EndedHold == nil, s.Status)
	})
	if m := merge(number); m == nil || m.Head != head || m.Attempts < 2 { // the list may have it first
		t.Errorf("the automatic merge is %+v", m)
	}

	number, head = apply("second", terraform("net", "3")+failsToApply)
	f.await(number, head, "success", "It waits: `Stack default/net is not applied yet") // it is retried
	must(t, f.gitea.Call(ctx, f.root, "POST", repo+"/statuses/"+head,
		map[string]any{"context": "test/unit", "state": "success"}, nil))
	head = f.push("second", map[string]string{"net/more.tf": "# a push"})
	f.await(number, head, "success", "It waits: `Stack default/net has head ")
	if m := merge(number); isMerged(number) || m == nil || m.Attempts != 0 {
		t.Errorf("a failed apply is merged: %+v", m)
	}
}
