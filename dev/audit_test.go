package dev

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Three writes as the API server notes them, shortened; two requests that write nothing; and the beginning of another
// line.
const auditLines = `{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","stage":"ResponseComplete","requestURI":"/api/v1/namespaces/infra/pods/net-1/binding","verb":"create","user":{"username":"cairn-dev","groups":["system:masters"]},"sourceIPs":["127.0.0.1"],"userAgent":"cairn-kubelet","objectRef":{"resource":"pods","namespace":"infra","name":"net-1","apiVersion":"v1","subresource":"binding"},"responseStatus":{"metadata":{},"code":201},"requestReceivedTimestamp":"2026-11-20T21:44:24.500000Z","stageTimestamp":"2026-11-20T21:44:24.600000Z"}
{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","stage":"ResponseComplete","verb":"patch","user":{"username":"cairn-dev"},"impersonatedUser":{"username":"alice"},"userAgent":"cairn","objectRef":{"resource":"runs","namespace":"infra","name":"net-1","apiGroup":"cairn.dev","apiVersion":"v1alpha1","subresource":"status"},"responseStatus":{"code":409},"stageTimestamp":"2026-11-20T21:44:25.000000Z"}
{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","stage":"ResponseComplete","verb":"deletecollection","user":{"username":"bob"},"objectRef":{"resource":"nodes","apiVersion":"v1"},"responseStatus":{"code":200},"stageTimestamp":"2026-11-20T21:44:26.000000Z"}
{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","stage":"ResponseComplete","requestURI":"/api/v1/secrets?limit=500","verb":"list","user":{"username":"bob"},"objectRef":{"resource":"secrets","apiVersion":"v1"},"responseStatus":{"code":403},"stageTimestamp":"2026-11-20T21:44:26.500000Z"}
{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","stage":"ResponseComplete","requestURI":"/apis/authentication.k8s.io/v1/tokenreviews","verb":"create","user":{"username":"bob"},"objectRef":{"resource":"tokenreviews","apiGroup":"authentication.k8s.io","apiVersion":"v1"},"responseStatus":{"code":201},"stageTimestamp":"2026-11-20T21:44:26.500000Z"}
{"kind":"Event","apiVer`

func TestWrites(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	if err := os.WriteFile(path, []byte(auditLines), 0o600); err != nil {
		t.Fatal(err)
	}
	at := func(s string) time.Time {
		parsed, err := time.Parse(time.RFC3339, "2026-11-20T21:44:"+s+"Z")
		if err != nil {
			t.Fatal(err)
		}
		return parsed
	}
	binding := Write{User: "cairn-dev", UserAgent: "cairn-kubelet", Verb: "create", Resource: "pods",
		Subresource: "binding", Namespace: "infra", Name: "net-1", Path: "/api/v1/namespaces/infra/pods/net-1/binding",
		Time: at("24.6"), Code: 201}
	status := Write{User: "alice", UserAgent: "cairn", Verb: "patch", Group: "cairn.dev", Resource: "runs",
		Subresource: "status", Namespace: "infra", Name: "net-1", Time: at("25"), Code: 409}
	nodes := Write{User: "bob", Verb: "deletecollection", Resource: "nodes", Time: at("26"), Code: 200}
	for _, tt := range []struct {
		name  string
		since time.Time
		match func(Write) bool
		want  []Write
	}{
		{name: "all", want: []Write{binding, status, nodes}},
		{name: "those answered at that time and after", since: at("25"), want: []Write{status, nodes}},
		{name: "those that match", match: func(w Write) bool {
			return w.Namespace == "infra" && w.Code < 400
		}, want: []Write{binding}},
		{name: "none", since: at("27")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Writes(path, tt.since, tt.match)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	all, err := Requests(path, at("26"), nil)
	list := Request{User: "bob", Verb: "list", Resource: "secrets", Path: "/api/v1/secrets", Time: at("26.5"),
		Code: 403}
	review := Request{User: "bob", Verb: "create", Group: "authentication.k8s.io", Resource: "tokenreviews",
		Path: "/apis/authentication.k8s.io/v1/tokenreviews", Time: at("26.5"), Code: 201}
	if diff := cmp.Diff([]Request{nodes, list, review}, all); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if _, err := Writes(filepath.Join(t.TempDir(), "none"), time.Time{}, nil); err == nil {
		t.Error("want an error when there is no log")
	}
}
