package operator

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
)

// TestShardsDivideNamespaces checks that each namespace belongs to one shard, and that the shards are about even, also
// with similar names.
func TestShardsDivideNamespaces(t *testing.T) {
	for _, total := range []int{2, 3, 16} {
		for _, pattern := range []string{"team-%d", "%04d", "a-%d-prod"} {
			counts := make([]int, total)
			const names = 4000
			for i := range names {
				owners := 0
				for index := range total {
					if (Shard{index, total}).has(fmt.Sprintf(pattern, i)) {
						counts[index]++
						owners++
					}
				}
				if owners != 1 {
					t.Fatalf("%d parts of %d have "+pattern, owners, total, i)
				}
			}
			for index, n := range counts {
				if n < names/total*7/10 || n > names/total*13/10 {
					t.Errorf("shard %d of %d has %d of %d names like %s", index, total, n, names, pattern)
				}
			}
		}
	}
	// An operator of another version has to return the same shard.
	for namespace, index := range map[string]int{"default": 1, "prod": 0, "team-a": 0, "beta": 1} {
		for i := range 2 {
			if got := (Shard{i, 2}).has(namespace); got != (i == index) {
				t.Errorf("shard %d of 2 has %s: %v", i, namespace, got)
			}
		}
	}
	for _, s := range []Shard{{}, {0, 1}} {
		if !s.has("any") || !s.all() {
			t.Errorf("%v has all namespaces", s)
		}
	}
	if !(Shard{1, 2}).has("") {
		t.Error("a cluster-scoped object belongs to every shard")
	}
}

func TestShardsShareALimit(t *testing.T) {
	for limit, want := range map[int][]int{0: {0, 0, 0}, 20: {7, 7, 6}, 2: {1, 1, 1}, 3: {1, 1, 1}} {
		for index, share := range want {
			if got := (Shard{index, 3}).share(limit); got != share {
				t.Errorf("shard %d of a limit of %d is %d, want %d", index, limit, got, share)
			}
		}
	}
	if got := (Shard{}).share(20); got != 20 {
		t.Errorf("without shards the limit is %d", got)
	}
}

func TestShardsAreChecked(t *testing.T) {
	for _, tt := range []struct {
		shard  Shard
		server bool
		want   string
	}{
		{Shard{}, true, ""},
		{Shard{0, 1}, true, ""},
		{Shard{1, 2}, false, ""},
		{Shard{15, 16}, false, ""},
		{Shard{1, 0}, false, "--total-shards 0"},
		{Shard{2, 2}, false, "count from 0"},
		{Shard{-1, 2}, false, "count from 0"},
		{Shard{0, -1}, false, "count from 0"},
		{Shard{0, 17}, false, "16 at most"},
		{Shard{0, 2}, true, "cairn-controller server"},
	} {
		err := tt.shard.check(Options{Server: tt.server})
		if (err == nil) != (tt.want == "") || (err != nil && !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%v, server %v: %v", tt.shard, tt.server, err)
		}
	}
}

// TestShardFiltersOtherNamespaces checks that objects of other shards are removed from lists and watches. Bookmarks
// pass, since they mark the end of a list.
func TestShardFiltersOtherNamespaces(t *testing.T) {
	ours, theirs := "prod", "default"
	pods := &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "7"}}
	watched := apiwatch.NewFakeWithOptions(apiwatch.FakeOptions{ChannelSize: 10})
	for _, namespace := range []string{theirs, ours, theirs} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace}}
		pods.Items = append(pods.Items, *pod)
		watched.Add(pod)
		watched.Modify(pod)
		watched.Delete(pod)
	}
	watched.Action(apiwatch.Bookmark, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "8"}})
	watched.Stop()
	own := &ownOnly{toolscache.ToListerWatcherWithContext(&toolscache.ListWatch{
		ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) { return pods, nil },
		WatchFuncWithContext: func(context.Context, metav1.ListOptions) (apiwatch.Interface, error) {
			return watched, nil
		},
	}), Shard{0, 2}}
	list, err := own.ListWithContext(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := list.(*corev1.PodList); len(got.Items) != 1 || got.Items[0].Namespace != ours ||
		got.ResourceVersion != "7" {
		t.Errorf("listed %v", got)
	}
	w, err := own.WatchWithContext(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for e := range w.ResultChan() {
		got = append(got, string(e.Type)+" "+e.Object.(*corev1.Pod).Namespace)
	}
	if want := "ADDED prod, MODIFIED prod, DELETED prod, BOOKMARK "; strings.Join(got, ", ") != want {
		t.Errorf("watched %q, want %q", strings.Join(got, ", "), want)
	}
}
