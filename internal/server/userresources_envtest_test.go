//go:build envtest

package server_test

import (
	"net/http"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/internal/userapi"
)

func TestUsersListResourcesOfStatesThatTheyCanPull(t *testing.T) {
	e, other := newEnv(t), newEnv(t)
	p := e.serveLists()
	push := func(e *env, data []byte) {
		t.Helper()
		_, err := e.state.Push(t.Context(), types.NamespacedName{Namespace: e.namespace, Name: "net"}, "alice",
			data, false, 0)
		must(t, err)
	}
	push(e, stateFile(1, "L", "canary"))
	push(other, stateFile(1, "L", "canary")) // into another bucket: here is no index of it
	user, who := e.account("alice")
	e.allow(user, may("pull", "states"))
	lister, whoLists := e.account("lister")
	e.allow(lister, may("list", "states"), may("get", "states"), may("pull", "states", "net"))
	everyone, all := other.account("root")
	e.allowEverywhere(everyone, may("pull", "states"))

	p.eventually(func() bool {
		page, _ := get[userapi.Resources](p, who, "/api/v1/resources")
		return page.Total == 1 && page.Items[0].Namespace == e.namespace && page.Items[0].Address == "terraform_data.a"
	})
	p.eventually(func() bool {
		page, _ := get[userapi.Resources](p, all, "/api/v1/resources?stack=net&type=terraform_data&limit=500")
		var namespaces []string
		for _, r := range page.Items {
			namespaces = append(namespaces, r.Namespace)
		}
		found := strings.Join(namespaces, " ")
		return strings.Contains(found, e.namespace) && strings.Contains(found, other.namespace)
	})
	for path, want := range map[string]int{
		"/api/v1/namespaces/" + e.namespace + "/resources":      1,
		"/api/v1/resources?q=terraform_data.a+NET":              1,
		"/api/v1/resources?q=canary":                            0,
		"/api/v1/resources?type=aws_vpc":                        0,
		"/api/v1/resources?stack=web":                           0,
		"/api/v1/resources?namespace=" + other.namespace:        0,
		"/api/v1/resources?namespace=" + e.namespace + "&q=net": 1,
	} {
		if page, code := get[userapi.Resources](p, who, path); code != http.StatusOK || page.Total != want {
			t.Errorf("%s: %d, %d resources, want %d", path, code, page.Total, want)
		}
	}
	// To list States, and to pull some of them by name, does not show the resources of all.
	if _, code := get[struct{}](p, whoLists, "/api/v1/namespaces/"+e.namespace+"/resources"); code !=
		http.StatusForbidden {
		t.Errorf("a user who can list states gets %d", code)
	}
	if _, code := get[struct{}](p, who, "/api/v1/namespaces/"+other.namespace+"/resources"); code !=
		http.StatusForbidden {
		t.Errorf("another namespace: %d", code)
	}
	if _, code := get[struct{}](p, who, "/api/v1/resources?shade=red"); code != http.StatusBadRequest {
		t.Errorf("a parameter that does not exist: %d", code)
	}
	if _, code := get[struct{}](p, shown{}, "/api/v1/resources"); code != http.StatusUnauthorized {
		t.Errorf("a request without a user: %d", code)
	}

	push(e, []byte(strings.ReplaceAll(string(stateFile(2, "L", "x")), `"name":"a"`, `"name":"b"`)))
	p.eventually(func() bool {
		page, _ := get[userapi.Resources](p, who, "/api/v1/resources")
		return page.Total == 1 && page.Items[0].Address == "terraform_data.b"
	})
}
