package listing

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/lifecycle/kinds"
	"cairn.dev/cairn/internal/userapi"
)

// versionOf is a Run of a Stack at a resource version.
func versionOf(namespace, name string, version int, phase v1alpha1.RunPhase) *v1alpha1.Run {
	r := &v1alpha1.Run{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name,
		ResourceVersion: strconv.Itoa(version)}}
	r.Status.Phase = phase
	return r
}

// phases are those of the rows of a catalog, by namespace and name.
func phases(c *Catalog) map[string]string {
	all := map[string]string{}
	for _, row := range kinds.Typed[userapi.Run](c.Shelf(kinds.Runs).All(func(string) bool { return true })) {
		all[row.Namespace+"/"+row.Name] = row.Phase
	}
	return all
}

func mirrorOf(c *Catalog, from client.WithWatch, namespace string) *mirror {
	return c.newMirror(from, namespace, kinds.Runs)
}

func TestMirrorTakesNoEarlierEvent(t *testing.T) {
	c := NewCatalog()
	m := mirrorOf(c, nil, "")
	for _, step := range []struct {
		name string
		do   func(any) error
		run  *v1alpha1.Run
		want map[string]string
		// changes that subscribers receive
		changes int
	}{
		{"added", m.Add, versionOf("a", "net-1", 5, "Planning"), map[string]string{"a/net-1": "Planning"}, 1},
		{"an earlier version", m.Update, versionOf("a", "net-1", 4, "Queued"), map[string]string{"a/net-1": "Planning"},
			0},
		{"the same version again", m.Add, versionOf("a", "net-1", 5, "Queued"),
			map[string]string{"a/net-1": "Planning"}, 0},
		{"a later version", m.Update, versionOf("a", "net-1", 10, "Applying"), map[string]string{"a/net-1": "Applying"},
			1},
		{"an earlier deletion", m.Delete, versionOf("a", "net-1", 9, "Planning"),
			map[string]string{"a/net-1": "Applying"}, 0},
		{"a deletion", m.Delete, versionOf("a", "net-1", 11, "Applying"), map[string]string{}, 1},
		{"deleted again", m.Delete, versionOf("a", "net-1", 12, "Applying"), map[string]string{}, 0},
		{"created again", m.Add, versionOf("a", "net-1", 13, "Queued"), map[string]string{"a/net-1": "Queued"}, 1},
	} {
		_, before, _ := c.Changes.Since("")
		if err := step.do(step.run); err != nil {
			t.Errorf("%s: %v", step.name, err)
		}
		if diff := cmp.Diff(step.want, phases(c)); diff != "" {
			t.Errorf("%s: %s", step.name, diff)
		}
		if changes, _, _ := c.Changes.Since(before); len(changes) != step.changes {
			t.Errorf("%s: the changes are %v", step.name, changes)
		}
	}
	if got := c.Shelf(kinds.Runs).Namespaces(); !cmp.Equal(got, []string{"a"}) {
		t.Errorf("the namespaces are %v", got)
	}
	for _, bad := range []any{&v1alpha1.Stack{}, &v1alpha1.Run{}} { // another kind, no version
		if m.Add(bad) == nil {
			t.Errorf("%T is accepted", bad)
		}
	}
}

// paged is an API server with Runs in pages of one, whose lists may fail.
type paged struct {
	client.WithWatch
	mu      sync.Mutex
	runs    []*v1alpha1.Run
	version int
	lists   int
	watches []*watch.FakeWatcher
}

func (p *paged) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	o := (&client.ListOptions{}).ApplyOptions(opts)
	if o.Limit == 0 {
		return errors.New("all were requested at once")
	}
	at := 0
	if o.Continue == "" {
		p.lists++
	} else {
		at, _ = strconv.Atoi(o.Continue)
	}
	l := list.(*v1alpha1.RunList)
	if len(l.Items) > 0 {
		return errors.New("the list has objects of another page")
	}
	l.ResourceVersion = strconv.Itoa(p.version)
	if at < len(p.runs) {
		l.Items = []v1alpha1.Run{*p.runs[at]}
	}
	if at+1 < len(p.runs) {
		l.Continue = strconv.Itoa(at + 1)
	}
	return nil
}

func (p *paged) Watch(_ context.Context, _ client.ObjectList, opts ...client.ListOption) (watch.Interface, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if o := (&client.ListOptions{}).ApplyOptions(opts); o.Raw.ResourceVersion != strconv.Itoa(p.version) {
		return nil, fmt.Errorf("the watch begins at %s", o.Raw.ResourceVersion)
	}
	w := watch.NewFakeWithChanSize(10, false)
	p.watches = append(p.watches, w)
	return w, nil
}

// TestMirrorListsAgain checks the first list, events, and the list after a watch that expired: what it changed is a
// change.
func TestMirrorListsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := &paged{version: 10, runs: []*v1alpha1.Run{
			versionOf("a", "net-1", 1, "Succeeded"), versionOf("a", "net-2", 2, "Planning"),
			versionOf("b", "dns-1", 3, "Planning"),
		}}
		ctx, stop := context.WithCancel(t.Context())
		c := NewCatalog()
		c.mirrors = []*mirror{mirrorOf(c, api, "")}
		if c.CheckFilled() == nil {
			t.Error("an empty catalog counts as filled")
		}
		ended := make(chan error, 1)
		go func() { ended <- c.Start(ctx) }()
		synctest.Wait()
		if err := c.CheckFilled(); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(map[string]string{"a/net-1": "Succeeded", "a/net-2": "Planning", "b/dns-1": "Planning"},
			phases(c)); diff != "" {
			t.Error(diff)
		}
		if c.Changes.last != 0 {
			t.Error("the first list counts as changes")
		}

		api.watches[0].Modify(versionOf("a", "net-2", 11, "Applying"))
		synctest.Wait()
		if diff := cmp.Diff("Applying", phases(c)["a/net-2"]); diff != "" {
			t.Error(diff)
		}

		_, before, _ := c.Changes.Since("")
		api.mu.Lock()
		api.version, api.runs = 30, []*v1alpha1.Run{
			versionOf("a", "net-1", 1, "Succeeded"), versionOf("a", "net-2", 21, "Succeeded"),
			versionOf("c", "db-1", 22, "Queued"),
		}
		api.mu.Unlock()
		gone := apierrors.NewResourceExpired("too old resource version").Status()
		api.watches[0].Error(&gone)
		time.Sleep(time.Minute) // longer than the reflector's backoff
		synctest.Wait()
		if diff := cmp.Diff(map[string]string{"a/net-1": "Succeeded", "a/net-2": "Succeeded", "c/db-1": "Queued"},
			phases(c)); diff != "" {
			t.Error(diff)
		}
		changes, _, _ := c.Changes.Since(before)
		got := map[string]bool{}
		for _, change := range changes {
			got[change.Namespace+"/"+change.Name] = change.Deleted
		}
		if diff := cmp.Diff(map[string]bool{"a/net-2": false, "b/dns-1": true, "c/db-1": false}, got); diff != "" {
			t.Error(diff)
		}
		if api.lists != 2 {
			t.Errorf("listed %d times", api.lists)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// TestMirrorOfANamespace checks that a list of one namespace removes no rows of others.
func TestMirrorOfANamespace(t *testing.T) {
	c := NewCatalog()
	c.Shelf(kinds.Runs).Put("b", "dns-1", 50, &userapi.Run{Object: userapi.Object{Namespace: "b", Name: "dns-1"}})
	c.Shelf(kinds.Runs).Put("a", "net-1", 50, &userapi.Run{Object: userapi.Object{Namespace: "a", Name: "net-1"}})
	m := mirrorOf(c, &paged{version: 10, runs: []*v1alpha1.Run{versionOf("a", "net-2", 2, "Planning")}}, "a")
	if _, err := m.ListWithContext(t.Context(), metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := m.Replace(nil, "10"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"a/net-2": "Planning", "b/dns-1": ""}, phases(c)); diff != "" {
		t.Error(diff)
	}
}

// TestRowKeepsNoObject checks that a row does not keep its object in memory, nor parts of it.
func TestRowKeepsNoObject(t *testing.T) {
	c := NewCatalog()
	m := mirrorOf(c, nil, "")
	r := versionOf("a", "net-1", 1, "Succeeded")
	r.Status.FinishedAt, r.Status.Plan = &metav1.Time{Time: day}, &v1alpha1.Plan{Add: 1,
		Resources: make([]v1alpha1.ResourceChange, 10)}
	object, finished, plan := weak.Make(r), weak.Make(r.Status.FinishedAt), weak.Make(r.Status.Plan)
	if err := m.Add(r); err != nil {
		t.Fatal(err)
	}
	r = nil
	runtime.GC()
	if object.Value() != nil || finished.Value() != nil || plan.Value() != nil {
		t.Error("the object is in memory")
	}
	row, ok := c.Shelf(kinds.Runs).Get("a", "net-1").(*userapi.Run)
	if !ok || !row.Finished.Equal(day) || row.Plan.Add != 1 {
		t.Errorf("the row is %+v", row)
	}
}
