package kinds

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/userapi"
)

var day = time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)

func stackOf(namespace, name string, more ...func(*v1alpha1.Stack)) *v1alpha1.Stack {
	s := &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name,
		CreationTimestamp: metav1.Time{Time: day}}}
	for _, m := range more {
		m(s)
	}
	return s
}

func is(status metav1.ConditionStatus, reason, message string) func(*v1alpha1.Stack) {
	return func(s *v1alpha1.Stack) {
		s.Status.Conditions = append(s.Status.Conditions, metav1.Condition{
			Type: v1alpha1.ConditionReady, Status: status, Reason: reason, Message: message,
			LastTransitionTime: metav1.Time{Time: day},
		})
	}
}

func from(repository string) func(*v1alpha1.Stack) {
	return func(s *v1alpha1.Stack) {
		s.Spec.Source.Git = &v1alpha1.GitSource{Repository: v1alpha1.RepositoryRef{Name: repository}}
	}
}

func revision(of string) func(*v1alpha1.Stack) {
	return func(s *v1alpha1.Stack) { s.Status.Revision = of }
}

func has(resources v1alpha1.ResourceCount) func(*v1alpha1.Stack) {
	return func(s *v1alpha1.Stack) { s.Status.Resources = resources }
}

func labels(all map[string]string) func(*v1alpha1.Stack) {
	return func(s *v1alpha1.Stack) { s.Labels = all }
}

func drifted(s *v1alpha1.Stack) {
	s.Status.Conditions = append(s.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionDrifted,
		Status: metav1.ConditionTrue})
}

// rowsOf are the rows of objects.
func rowsOf[O, R any](k *Type[O, R], objects ...*O) []*R {
	var rows []*R
	for _, o := range objects {
		row := k.Row(o)
		rows = append(rows, &row)
	}
	return rows
}

var fleet = rowsOf(Stacks,
	stackOf("web", "shop", is("True", "Applied", "12 resources"), from("infra"), has(12), revision("main@sha1:c0ffee")),
	stackOf("web", "blog", is("False", "RunFailed", "the quota of eu-west is used up"), from("infra"), has(3),
		revision("sha256:c0ffee")),
	stackOf("data", "lake", is("Unknown", "AwaitingApproval", "plan of lake-4 waits"), drifted, has(120)),
	stackOf("data", "blog"),
)

// TestStackNamesTheOutputsThatItUses checks that a dependency which is only the order has no output.
func TestStackNamesTheOutputsThatItUses(t *testing.T) {
	from := func(stack, output string) *v1alpha1.ValueFrom {
		return &v1alpha1.ValueFrom{Stack: &v1alpha1.OutputRef{Name: stack, Output: output}}
	}
	row := Stacks.Row(stackOf("shop", "web", func(s *v1alpha1.Stack) {
		s.Spec.DependsOn = []v1alpha1.Dependency{{Name: "dns"}}
		s.Spec.Variables = []v1alpha1.Variable{{Name: "size"}, {Name: "vpc", ValueFrom: from("net", "vpc_id")},
			{Name: "zone", ValueFrom: from("net", "zone")}}
		s.Status.Units = []v1alpha1.Unit{{Path: "live/db", Outputs: true, Stacks: []string{"db"}},
			{Path: "live/log", Stacks: []string{"log"}}}
	}))
	if diff := cmp.Diff([]string{"dns", "net", "db", "log"}, row.Uses); diff != "" {
		t.Error(diff)
	}
	want := []userapi.UsedOutput{{Stack: "net", Output: "vpc_id", Variable: "vpc"},
		{Stack: "net", Output: "zone", Variable: "zone"}, {Stack: "db"}}
	if diff := cmp.Diff(want, row.UsedOutputs); diff != "" {
		t.Error(diff)
	}
}

func TestPages(t *testing.T) {
	for name, test := range map[string]struct{ query, want string }{
		"by name, and then by namespace":       {"", "data/blog web/blog data/lake web/shop"},
		"descending, with ascending ties":      {"sort=-name", "web/shop data/lake data/blog web/blog"},
		"by a number":                          {"sort=-resources", "data/lake web/shop web/blog data/blog"},
		"without a time is last":               {"sort=-changed", "data/lake web/blog web/shop data/blog"},
		"one value":                            {"ready=False", "web/blog"},
		"a Stack without a condition":          {"ready=Unknown", "data/blog data/lake"},
		"any of two values":                    {"reason=Applied&reason=RunFailed", "web/blog web/shop"},
		"two filters":                          {"namespace=data&drifted=true", "data/lake"},
		"a commit":                             {"commit=c0ffee", "web/shop"},
		"no such repository":                   {"repository=other", ""},
		"a search in all words":                {"q=EU-West+quota", "web/blog"},
		"a search for namespace and name":      {"q=data/", "data/blog data/lake"},
		"a search that one word does not meet": {"q=quota+shop", ""},
		"the first two":                        {"limit=2", "data/blog web/blog"},
	} {
		t.Run(name, func(t *testing.T) {
			page := expectRows(t, Stacks.Query, fleet, test.query, test.want, func(row userapi.Stack) string {
				return row.Namespace + "/" + row.Name
			})
			if page.Total < len(page.Items) || (page.Next != "") != (page.Total > len(page.Items)) {
				t.Errorf("%d of %d, next %q", len(page.Items), page.Total, page.Next)
			}
		})
	}
}

// expectRows checks the names of the rows that a query finds, and returns their page.
func expectRows[R any](
	t *testing.T, list List[R], rows []*R, query, want string, name func(R) string,
) userapi.Page[R] {
	t.Helper()
	values, err := url.ParseQuery(query)
	if err != nil {
		t.Fatal(err)
	}
	page, err := list.Page(rows, values)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, row := range page.Items {
		got = append(got, name(row))
	}
	if got := strings.Join(got, " "); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	return page
}

func TestBadQueries(t *testing.T) {
	other, err := Stacks.Query.Page(fleet, url.Values{"sort": {"-name"}, "limit": {"1"}})
	if err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]string{
		"shade=red": "shade: there is no such parameter; there are after, collapsed, " +
			"commit, deleted,",
		"sort=shade":                          `sort: rows cannot be sorted by "shade", but by changed, created, name,`,
		"limit=0":                             "limit: \"0\" is no number from 1 to 500",
		"limit=501":                           "limit: \"501\" is no number from 1 to 500",
		"after=x":                             "after: it is not the next of a page",
		"after=" + other.Next:                 "after: it is of a list that was sorted in another way",
		"q=" + strings.Repeat("a", 254):       "q: it is longer than 253 bytes",
		strings.Repeat("reason=Applied&", 51): "reason: 51 values are too many: 50 are the most",
		"label=team":                          "label: use key=value, as in team=data",
		"label==data":                         "label: use key=value, as in team=data",
		"label=a=" + strings.Repeat("a", 380): "label: it is longer than 381 bytes",
		"facet=name": "facet: the values of name are not counted, but those of commit, " +
			"deleted, drifted,",
		"group=name":                      "group: rows cannot be grouped by name; use label:KEY",
		"group=label:":                    "group: rows cannot be grouped by label:;",
		"group=ready&after=" + other.Next: "after: it is of a list that was sorted in another way",
	} {
		values, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = Stacks.Query.Page(fleet, values); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%.40s: %v, want %s", query, err, want)
		}
	}
}

// TestPagesAreDisjoint checks that each row is on one page in any order, also when other rows are added and deleted
// meanwhile.
func TestPagesAreDisjoint(t *testing.T) {
	var objects []*v1alpha1.Run
	for i := range 57 {
		r := &v1alpha1.Run{ObjectMeta: metav1.ObjectMeta{
			Namespace: fmt.Sprintf("ns-%d", i%3), Name: fmt.Sprintf("run-%d", i),
			CreationTimestamp: metav1.Time{Time: day.Add(time.Duration(i/5) * time.Hour)},
		}}
		r.Spec.Stack.Name, r.Status.Phase = fmt.Sprintf("stack-%d", i%7), v1alpha1.PhaseSucceeded
		objects = append(objects, r)
	}
	runs := rowsOf(Runs, objects...)
	for by := range Runs.Query.Sorts {
		for _, sort := range []string{by, "-" + by} {
			t.Run(sort, func(t *testing.T) {
				now, seen := slices.Clone(runs), map[string]int{}
				values := url.Values{"sort": {sort}, "limit": {"10"}}
				for pages := 0; ; pages++ {
					page, err := Runs.Query.Page(now, values)
					if err != nil {
						t.Fatal(err)
					}
					for _, row := range page.Items {
						seen[row.Namespace+"/"+row.Name]++
					}
					if page.Next == "" {
						break
					}
					values.Set("after", page.Next)
					// The last row of the page goes before the next is asked for.
					last := page.Items[len(page.Items)-1]
					now = slices.DeleteFunc(now, func(r *userapi.Run) bool { return r.Name == last.Name })
					if pages > 10 {
						t.Fatal("the pages do not end")
					}
				}
				for _, r := range runs {
					if n := seen[r.Namespace+"/"+r.Name]; n != 1 {
						t.Errorf("%s is on %d pages", r.Name, n)
					}
				}
			})
		}
	}
}

// A page out of 50,000 Runs, or 10,000 Stacks.
func BenchmarkPage(b *testing.B) {
	var runs []*userapi.Run
	for i := range 50_000 {
		r := &v1alpha1.Run{ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: fmt.Sprintf("run-%d", i),
			CreationTimestamp: metav1.Time{Time: day.Add(time.Duration(i*7919%50_000) * time.Second)},
		}}
		r.Spec.Cause.Message = "1f3c2ab Widen the subnet of the cluster"
		runs = append(runs, rowsOf(Runs, r)...)
	}
	benchmarkPages(b, Runs, runs, map[string]url.Values{
		"newest": {}, "search": {"q": {"run-4999"}}, "none": {"phase": {"Failed"}},
	})
	var stacks []*userapi.Stack
	for i := range 10_000 {
		stacks = append(stacks,
			rowsOf(Stacks, stackOf(fmt.Sprintf("ns-%d", i%300), fmt.Sprintf("stack-%d", i),
				is("True", "Applied", "12 resources"),
				from(fmt.Sprintf("repository-%d", i%40)), labels(map[string]string{
					"team": fmt.Sprintf("team-%d", i%50), "env": "prod", "app": fmt.Sprintf("app-%d", i),
				})))...)
	}
	benchmarkPages(b, Stacks, stacks, map[string]url.Values{
		"grouped by label": {"group": {"label:team"}, "label": {"env=prod"}},
		"facets":           {"facet": {"namespace", "reason", "label"}, "ready": {"True"}},
	})
}

func benchmarkPages[O, R any](b *testing.B, k *Type[O, R], rows []*R, queries map[string]url.Values) {
	for name, values := range queries {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := k.Query.Page(rows, values); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
