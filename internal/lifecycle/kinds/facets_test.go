package kinds

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/userapi"
)

var teams = rowsOf(Stacks,
	stackOf("a", "s1", is("True", "Applied", ""), from("infra"),
		labels(map[string]string{"team": "data", "env": "prod"})),
	stackOf("a", "s2", is("False", "RunFailed", ""), from("infra"),
		labels(map[string]string{"team": "data", "env": "dev"})),
	stackOf("b", "s3", is("True", "Applied", ""), from("apps"),
		labels(map[string]string{"team": "web", "env": "prod", "helm.sh/chart": "x"})),
	stackOf("c", "s4", is("False", "Drifted", "")),
)

// ask returns the page that a query asks for.
func ask[O, R any](t *testing.T, k *Type[O, R], rows []*R, query string) userapi.Page[R] {
	t.Helper()
	values, err := url.ParseQuery(query)
	if err != nil {
		t.Fatal(err)
	}
	page, err := k.Query.Page(rows, values)
	if err != nil {
		t.Fatal(err)
	}
	return page
}

func stackNames(page userapi.Page[userapi.Stack]) string {
	var all []string
	for _, row := range page.Items {
		all = append(all, row.Name)
	}
	return strings.Join(all, " ")
}

func TestLabels(t *testing.T) {
	for query, want := range map[string]string{
		"label=team=data":                              "s1 s2",
		"label=team=data&label=team=web":               "s1 s2 s3",
		"label=team=data&label=team=web&label=env=dev": "s2",
		"label=team=":                                  "",
		"label=helm.sh/chart=x":                        "",
		"q=team=DATA+prod":                             "s1",
	} {
		if got := stackNames(ask(t, Stacks, teams, query)); got != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
	many := map[string]string{"app.kubernetes.io/managed-by": "Helm", "app.kubernetes.io/name": "shop",
		"kustomize.toolkit.fluxcd.io/name": "x"}
	for i := range mostLabels + 5 {
		many[fmt.Sprintf("l%02d", i)] = "x"
	}
	got := labelsOf(many)
	if len(got) != mostLabels || got[0] != "app.kubernetes.io/name=shop" || got[1] != "l00=x" {
		t.Errorf("the labels are %v", got)
	}
}

func TestFacets(t *testing.T) {
	for query, want := range map[string]string{
		"facet=namespace":                          "namespace: a 2, b 1, c 1",
		"facet=repository":                         "repository: infra 2, apps 1",
		"facet=namespace&ready=True":               "namespace: a 1, b 1",
		"facet=namespace&namespace=a":              "namespace: a 2, b 1, c 1", // others can be chosen
		"facet=namespace&namespace=a&q=data":       "namespace: a 2",
		"facet=ready&facet=reason&namespace=a":     "ready: False 1, True 1; reason: Applied 1, RunFailed 1",
		"facet=label":                              "label: env=prod 2, team=data 2, env=dev 1, team=web 1",
		"facet=label&label=team=web":               "label: team=data 2, env=prod 1, team=web 1",
		"facet=label&label=team=web&ready=True":    "label: env=prod 1, team=data 1, team=web 1",
		"facet=label&label=team=web&label=env=dev": "label: env=prod 1, team=data 1",
		"facet=engine&q=nothing":                   "engine: ",
	} {
		var got []string
		for _, f := range ask(t, Stacks, teams, query+"&limit=1").Facets {
			var values []string
			for _, v := range f.Values {
				values = append(values, fmt.Sprintf("%s %d", v.Value, v.Count))
			}
			got = append(got, f.Field+": "+strings.Join(values, ", "))
		}
		if diff := cmp.Diff(want, strings.Join(got, "; ")); diff != "" {
			t.Errorf("%s: %s", query, diff)
		}
	}
	if page := ask(t, Stacks, teams, "facet=namespace&namespace=a&ready=True"); stackNames(page) != "s1" ||
		page.Total != 1 {
		t.Errorf("rows that are only counted are on the page: %s", stackNames(page))
	}
	var objects []*v1alpha1.Stack
	for i := range mostFacetValues + 7 {
		objects = append(objects, stackOf(fmt.Sprintf("ns-%03d", i), "s"), stackOf(fmt.Sprintf("ns-%03d", i), "t"))
	}
	objects = append(objects, stackOf("ns-106", "u"))
	f := ask(t, Stacks, rowsOf(Stacks, objects...), "facet=namespace").Facets[0]
	if len(f.Values) != mostFacetValues || f.More != 7 ||
		f.Values[0] != (userapi.FacetValue{Value: "ns-106", Count: 3}) {
		t.Errorf("%d values, %d more, first %v", len(f.Values), f.More, f.Values[0])
	}
	pulls := rowsOf(PullRequests,
		&v1alpha1.PullRequest{Status: v1alpha1.PullRequestStatus{Stacks: []v1alpha1.PullRequestStack{
			{Namespace: "a", Name: "x"}, {Namespace: "a", Name: "y"},
		}}})
	if f := ask(t, PullRequests, pulls, "facet=stack").Facets[0]; len(f.Values) != 2 {
		t.Errorf("the Stacks of a pull request are %v", f.Values)
	}
}

// groupsIn writes groups as value:count/notReady/rows.
func groupsIn(page userapi.Page[userapi.Stack]) string {
	var all []string
	for _, g := range page.Groups {
		all = append(all, fmt.Sprintf("%s:%d/%d/%d", g.Value, g.Count, g.NotReady, g.Rows))
	}
	return strings.Join(all, " ")
}

func TestGroups(t *testing.T) {
	for query, want := range map[string]string{
		"group=namespace":                                       "s1 s2 s3 s4 | a:2/1/2 b:1/0/1 c:1/1/1",
		"group=namespace&sort=-name":                            "s2 s1 s3 s4 | a:2/1/2 b:1/0/1 c:1/1/1",
		"group=repository":                                      "s3 s1 s2 s4 | apps:1/0/1 infra:2/1/2 :1/1/1",
		"group=label:team":                                      "s1 s2 s3 s4 | data:2/1/2 web:1/0/1 :1/1/1",
		"group=label:team&ready=False":                          "s2 s4 | data:1/1/1 :1/1/1",
		"group=label:team&collapsed=data":                       "s3 s4 | data:2/1/0 web:1/0/1 :1/1/1",
		"group=label:team&collapsed=data&collapsed=web&limit=1": "s4 | data:2/1/0 web:1/0/0 :1/1/1",
		"group=label:team&limit=1":                              "s1 | data:2/1/1",
		"group=label:team&limit=1&collapsed=data":               "s3 | data:2/1/0 web:1/0/1",
		"namespace=a":                                           "s1 s2 | ",
	} {
		page := ask(t, Stacks, teams, query)
		if got := stackNames(page) + " | " + groupsIn(page); got != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
}

// TestGroupsOfPages reads a grouped list page by page: each row is on one page, below its group, and no group is left
// out.
func TestGroupsOfPages(t *testing.T) {
	var objects []*v1alpha1.Stack
	for i := range 60 {
		team := map[string]string{"team": fmt.Sprintf("t%d", i%7)}
		if i%7 == 6 {
			team = nil
		}
		objects = append(objects, stackOf("ns", fmt.Sprintf("s%02d", i), labels(team)))
	}
	rows := rowsOf(Stacks, objects...)
	query := url.Values{"group": {"label:team"}, "limit": {"4"}, "sort": {"-name"}, "collapsed": {"t1", "t3", "t4"}}
	var groups, names []string
	for {
		page := ask(t, Stacks, rows, query.Encode())
		rest := page.Items
		for _, g := range page.Groups {
			if len(groups) == 0 || groups[len(groups)-1] != g.Value {
				groups = append(groups, g.Value)
			}
			for _, row := range rest[:g.Rows] {
				if !slices.Equal(row.Labels, labelsOf(map[string]string{"team": g.Value})) && g.Value != "" {
					t.Errorf("%s is in group %s", row.Name, g.Value)
				}
				names = append(names, row.Name)
			}
			rest = rest[g.Rows:]
		}
		if len(rest) > 0 {
			t.Errorf("%d rows are in no group", len(rest))
		}
		if page.Next == "" {
			break
		}
		query.Set("after", page.Next)
	}
	if diff := cmp.Diff([]string{"t0", "t1", "t2", "t3", "t4", "t5", ""}, groups); diff != "" {
		t.Error(diff)
	}
	slices.Sort(names)
	if n := len(slices.Compact(names)); n != 9+9+8+8 || len(names) != n { // of t0, t2, t5 and none
		t.Errorf("%d rows: %v", n, names)
	}
}
