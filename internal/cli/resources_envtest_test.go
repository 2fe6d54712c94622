//go:build envtest

package cli

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cairn.dev/cairn/internal/userapi"
)

func TestGetResources(t *testing.T) {
	d := newCLIEnv(t)
	var asked []string
	page := func(next string, missing userapi.MissingResources, rows ...userapi.Resource) userapi.Resources {
		return userapi.Resources{
			Page: userapi.Page[userapi.Resource]{Items: rows, Total: 2, Next: next}, Missing: missing,
		}
	}
	a := userapi.Resource{Namespace: "web", Stack: "net", Address: "t.a[2]", Type: "t", Provider: "x/y", Tainted: true}
	b := userapi.Resource{Namespace: "db", Stack: "sql", Address: "t.b\x1b[2J", Type: "t", Provider: "x/y",
		Deposed: "0a1b"}
	var answers []userapi.Resources
	d.resources = func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.RawQuery)
		_ = json.NewEncoder(w).Encode(answers[0])
		answers = answers[1:]
	}
	answers = []userapi.Resources{
		page("", userapi.MissingResources{Pending: 1}, a), // the server has not read all indexes
		page("more", userapi.MissingResources{}, a),
		page("", userapi.MissingResources{Encrypted: 1, Cut: 2}, b),
	}
	out, errOut, code := d.cairn(t.Context(), "", "get", "resources", "-A", "--type", "t", "-o", "wide")
	want := "NAMESPACE   STACK   ADDRESS   TYPE   PROVIDER   NOTE\n" +
		"web         net     t.a[2]    t      x/y        tainted\n" +
		"db          sql     t.b\ufffd[2J   t      x/y        deposed 0a1b\n"
	if code != 0 || out != want {
		t.Errorf("code %d, %s\n%s", code, errOut, cmp.Diff(want, out))
	}
	want = "1 State is encrypted by its engine, so its resources are not known.\n" +
		"2 States: each is listed in part: it has more resources than an index.\n"
	if errOut != want {
		t.Error(cmp.Diff(want, errOut))
	}
	if diff := cmp.Diff([]string{"limit=500&type=t", "limit=500&type=t", "after=more&limit=500&type=t"},
		asked); diff != "" {
		t.Error(diff)
	}
	answers = []userapi.Resources{page("", userapi.MissingResources{}, a)}
	if out, _, code := d.cairn(t.Context(), "", "get", "resource", "-A", "-o", "name"); code != 0 || out != "t.a[2]\n" {
		t.Errorf("%d: %s", code, out)
	}
	answers = []userapi.Resources{page("", userapi.MissingResources{}), page("", userapi.MissingResources{}),
		page("", userapi.MissingResources{}, a)}
	d.stack("empty")
	d.want(1, "there is no Stack emty in namespace "+d.Namespace+": did you mean empty?", "", "get",
		"resources", "emty")
	d.want(1, "; for another kind, use `cairn get stacks`", "", "get", "stakcs")
	d.want(0, "There are no resources in these states.", "", "get", "resources", "empty")
	d.want(0, "t.a[2]", "", "get", "resources", "net") // its Stack was deleted
	for _, args := range [][]string{
		{"get", "resources", "net", "-A"}, {"get", "resources", "-w"}, {"get", "resources", "-l", "a=b"},
		{"get", "--type", "t"},
	} {
		if _, _, code := d.cairn(t.Context(), "", args...); code == 0 {
			t.Errorf("%v is accepted", args)
		}
	}
}
