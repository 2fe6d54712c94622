package kinds

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/userapi"
)

func pullOf(repository string, number int64, more ...func(*v1alpha1.PullRequest)) *v1alpha1.PullRequest {
	p := &v1alpha1.PullRequest{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: repository + "-" + string(rune('0'+number)),
			CreationTimestamp: metav1.Time{Time: day},
		},
		Spec: v1alpha1.PullRequestSpec{
			Repository: v1alpha1.ObjectRef{Name: repository}, Number: number, Author: "gitea:git.example.com:alice",
			State: v1alpha1.PullRequestOpen, Base: "main",
			UpdatedAt: metav1.Time{Time: day.Add(time.Duration(number) * time.Hour)},
			Head:      v1alpha1.PullRequestHead{Branch: "wider", Commit: strings.Repeat("a", 40)},
		},
	}
	for _, m := range more {
		m(p)
	}
	return p
}

func plans(stacks ...v1alpha1.PullRequestStack) func(*v1alpha1.PullRequest) {
	return func(p *v1alpha1.PullRequest) {
		p.Status.Phase, p.Status.Stacks = v1alpha1.PullRequestPlanned, stacks
	}
}

func planOf(name string, phase v1alpha1.RunPhase, plan *v1alpha1.Plan) v1alpha1.PullRequestStack {
	return v1alpha1.PullRequestStack{Namespace: "shop", Name: name, Phase: phase, Plan: plan}
}

func TestRowOfAPullRequest(t *testing.T) {
	pull := pullOf("infra", 7, plans(
		planOf("net", v1alpha1.PhaseSucceeded, &v1alpha1.Plan{Changes: true, Add: 2, Change: 1, Import: 3}),
		planOf("web", v1alpha1.PhaseSucceeded, &v1alpha1.Plan{Changes: true, Add: 1, Destroy: 1, Replace: 1,
			Forget: 4}),
		planOf("dns", v1alpha1.PhaseSucceeded, &v1alpha1.Plan{}),
		planOf("db", v1alpha1.PhaseFailed, nil),
		planOf("old", v1alpha1.PhaseCanceled, nil),
		planOf("mail", v1alpha1.PhasePlanning, nil),
		planOf("cdn", "", nil),
	), func(p *v1alpha1.PullRequest) {
		p.UID = "u"
		p.Spec.Title, p.Spec.URL = "Widen the subnet", "https://git.example.com/acme/infra/pulls/7"
		p.Spec.Draft, p.Spec.Fork = true, true
		p.DeletionTimestamp = &metav1.Time{Time: day}
		p.Status.Skipped = []string{"shop/a", "shop/b"}
		p.Status.Conditions = []metav1.Condition{{
			Type: v1alpha1.ConditionReady, Status: metav1.ConditionUnknown, Reason: v1alpha1.ReasonPullRequestPlanning,
			Message: "2 of 7 plans are in progress",
		}}
	})
	updated := day.Add(7 * time.Hour)
	want := userapi.PullRequest{
		Object:     userapi.Object{Namespace: "shop", Name: "infra-7", UID: "u", Created: day},
		Repository: "infra", Number: 7, Title: "Widen the subnet", Author: "gitea:git.example.com:alice",
		URL: "https://git.example.com/acme/infra/pulls/7", State: "Open", Phase: "Planned",
		Ready: "Unknown", Reason: "PlansInProgress", Message: "2 of 7 plans are in progress",
		Draft: true, Fork: true, Base: "main", Branch: "wider", Commit: strings.Repeat("a", 40),
		Affected: 9, Planned: 3, Failed: 2, Pending: 2, Updated: &updated, Deleted: true,
		Plan:   &userapi.Counts{Changes: true, Add: 3, Change: 1, Destroy: 1, Replace: 1, Import: 3, Forget: 4},
		Stacks: []string{"shop/net", "shop/web", "shop/dns", "shop/db", "shop/old", "shop/mail", "shop/cdn"},
	}
	if diff := cmp.Diff(want, PullRequests.Row(pull)); diff != "" {
		t.Error(diff)
	}
	if row := PullRequests.Row(pullOf("infra", 8)); row.Plan != nil || row.Ready != "Unknown" || row.Phase != "" {
		t.Errorf("a new one: %+v", row)
	}
}

func TestPullRequestsAreFiltered(t *testing.T) {
	rows := rowsOf(PullRequests,
		pullOf("infra", 1, plans(planOf("net", v1alpha1.PhaseSucceeded, nil),
			planOf("web", v1alpha1.PhaseFailed, nil))),
		pullOf("infra", 2, plans(planOf("net", v1alpha1.PhasePlanning, nil)), func(p *v1alpha1.PullRequest) {
			p.Spec.Author, p.Spec.Fork = "gitea:git.example.com:mallory", true
			p.Status.Phase = v1alpha1.PullRequestAwaitingCommand
		}),
		pullOf("modules", 3, func(p *v1alpha1.PullRequest) {
			p.Spec.Title, p.Spec.Draft, p.Status.Phase = "Upgrade the Database", true, v1alpha1.PullRequestDraft
		}),
		pullOf("modules", 4, func(p *v1alpha1.PullRequest) { p.Spec.State = v1alpha1.PullRequestMerged }),
	)
	for name, test := range map[string]struct{ query, want string }{
		"the last updated first":       {"", "modules-4 modules-3 infra-2 infra-1"},
		"by number":                    {"sort=number", "infra-1 infra-2 modules-3 modules-4"},
		"by the number of Stacks":      {"sort=-stacks", "infra-1 infra-2 modules-3 modules-4"},
		"of a Repository":              {"repository=modules", "modules-4 modules-3"},
		"in one of two phases":         {"phase=Planned&phase=Draft", "modules-3 infra-1"},
		"of an author":                 {"author=gitea:git.example.com:mallory", "infra-2"},
		"open":                         {"state=Open", "modules-3 infra-2 infra-1"},
		"of a fork":                    {"fork=true", "infra-2"},
		"drafts":                       {"draft=true", "modules-3"},
		"being deleted":                {"deleted=true", ""},
		"that plan a Stack":            {"stack=shop/net", "infra-2 infra-1"},
		"that plan one of two Stacks":  {"stack=shop/web&stack=shop/dns", "infra-1"},
		"a Stack of another namespace": {"stack=blog/net", ""},
		"a word of the title":          {"q=database", "modules-3"},
		"a number":                     {"q=%233", "modules-3"},
		"an author":                    {"q=Mallory", "infra-2"},
	} {
		t.Run(name, func(t *testing.T) {
			expectRows(t, PullRequests.Query, rows, test.query, test.want, func(row userapi.PullRequest) string {
				return row.Name
			})
		})
	}
	if _, err := PullRequests.Query.Page(rows, url.Values{"stacks": {"shop/net"}}); err == nil ||
		!strings.Contains(err.Error(), "stack, state") {
		t.Errorf("another parameter: %v", err)
	}
}
