package check

import (
	"errors"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
)

// ready is a cluster without Cairn, in which nothing is missing.
func ready() Facts {
	return Facts{
		Program: "v1.2.3", Release: "cairn", Namespace: "cairn-system",
		Kubernetes: Read[string]{Value: "v1.34.1"},
		Rights: Read[[]Right]{Value: []Right{
			{Verb: "create", Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions", Allowed: true},
			{Verb: "create", Resource: "secrets", Namespace: "cairn-system", Allowed: true},
		}},
		Nodes:          Read[[]Node]{Value: []Node{{"linux", "arm64", true}}},
		StorageClasses: Read[[]StorageClass]{Value: []StorageClass{{Name: "slow"}, {Name: "fast", Default: true}}},
		Webhooks: Read[[]Webhook]{Value: []Webhook{{Name: "pods.example.com", Service: "a/b", Ready: true},
			{Name: "url.example.com"}}},
	}
}

// TestDecide checks the worst result of each check, alone in a cluster that is ready otherwise.
func TestDecide(t *testing.T) {
	denied := errors.New("you do not have permission")
	crd := func(name, version, namespace, release string) CRD {
		return CRD{Name: name, Version: version, Namespace: namespace, Release: release}
	}
	for name, test := range map[string]struct {
		change func(*Facts)
		level  Level
		check  string
		says   string
	}{
		"all is there": {func(*Facts) {}, OK, "", ""},
		"an old Kubernetes": {func(f *Facts) { f.Kubernetes.Value = "v1.30.9" }, Error, "Kubernetes",
			"1.31 or later"},
		"the oldest Kubernetes": {func(f *Facts) { f.Kubernetes.Value = "v1.31.0-eks-1" }, OK, "", ""},
		"a version that is none": {func(f *Facts) { f.Kubernetes.Value = "next" }, Warning, "Kubernetes",
			"not verified"},
		"a permission that is missing": {func(f *Facts) { f.Rights.Value[1].Allowed = false }, Error, "permissions",
			"create secrets in namespace cairn-system"},
		"permissions that are unknown": {func(f *Facts) { f.Rights.Err = denied }, Warning, "permissions",
			"not verified: you do not"},
		"CRDs that are unknown": {func(f *Facts) { f.CRDs.Err = denied }, Warning, "CRDs", "not verified"},
		"CRDs of this version": {func(f *Facts) {
			f.CRDs.Value = []CRD{crd("stacks.cairn.dev", "1.2.3", "cairn-system", "cairn")}
		}, OK, "", ""},
		"CRDs of another version": {func(f *Facts) {
			f.CRDs.Value = []CRD{crd("stacks.cairn.dev", "1.1.0", "cairn-system", "cairn")}
		}, Warning, "CRDs", `version "1.1.0", and this program "1.2.3"`},
		"CRDs of another release": {func(f *Facts) {
			f.CRDs.Value = []CRD{crd("stacks.cairn.dev", "1.2.3", "tools", "cairn")}
		}, Error, "CRDs", "tools/cairn and not to cairn-system/cairn"},
		"CRDs without a release": {func(f *Facts) {
			f.CRDs.Value = []CRD{crd("stacks.cairn.dev", "1.2.3", "", "")}
		}, Error, "CRDs", "without Helm"},
		"CRDs of two releases": {func(f *Facts) {
			f.CRDs.Value = []CRD{crd("stacks.cairn.dev", "1.2.3", "cairn-system", "cairn"),
				crd("runs.cairn.dev", "1.2.3", "b", "b")}
		}, Error, "CRDs", "b/b, cairn-system/cairn"},
		"CRDs of two versions": {func(f *Facts) {
			f.CRDs.Value = []CRD{crd("stacks.cairn.dev", "1.2.3", "cairn-system", "cairn"),
				crd("runs.cairn.dev", "1.2.2", "cairn-system", "cairn")}
		}, Warning, "CRDs", "several versions: 1.2.2, 1.2.3"},
		"another CRD with a name of these": {func(f *Facts) {
			f.CRDs.Value = []CRD{crd("stacks.pulumi.com", "", "", "")}
		}, Warning, "CRDs", "stacks.pulumi.com"},
		"another CRD": {func(f *Facts) {
			f.CRDs.Value = []CRD{crd("certificates.cert-manager.io", "", "", "")}
		}, OK, "", ""},
		"another installation": {func(f *Facts) { f.Server.Value = "https://a" }, Warning, "server",
			"https://a"},
		"an address that is unknown": {func(f *Facts) { f.Server.Err = denied }, Warning, "server",
			"not verified"},
		"nodes that are unknown": {func(f *Facts) { f.Nodes.Err = denied }, Warning, "nodes", "not verified"},
		"no node":                {func(f *Facts) { f.Nodes.Value = nil }, Warning, "nodes", "none of 0"},
		"nodes with Windows": {func(f *Facts) { f.Nodes.Value[0].System = "windows" }, Warning, "nodes",
			"none of 1"},
		"nodes of another architecture": {func(f *Facts) {
			f.Nodes.Value[0].Architecture = "s390x"
		}, Warning, "nodes", "none of 1"},
		"nodes that are not ready": {func(f *Facts) { f.Nodes.Value[0].Usable = false }, Warning, "nodes",
			"none of 1"},
		"no default StorageClass": {func(f *Facts) {
			f.StorageClasses.Value[1].Default = false
		}, Error, "storage", "only fast, slow"},
		"no StorageClass": {func(f *Facts) { f.StorageClasses.Value = nil }, Error, "storage",
			"there is no StorageClass"},
		"volumes that are created by hand": {func(f *Facts) {
			f.StorageClasses.Value[1].Manual = true
		}, Warning, "storage", "by hand"},
		"StorageClasses that are unknown": {func(f *Facts) { f.StorageClasses.Err = denied }, Warning, "storage",
			"not verified"},
		"a bucket": {func(f *Facts) { f.Bucket = "s3://acme" }, Warning, "bucket",
			"not verified"},
		"a bucket with an endpoint": {func(f *Facts) {
			f.Bucket, f.Endpoint.Value = "s3://acme", "minio:9000"
		}, Warning, "bucket", "access is not verified"},
		"an endpoint that is unreachable": {func(f *Facts) {
			f.Bucket, f.Endpoint = "s3://acme", Read[string]{"minio:9000", denied}
		}, Warning, "bucket", "cannot connect"},
		"a bucket without a name": {func(f *Facts) { f.Bucket = "s3://" }, Error, "bucket", "no name"},
		"a bucket that is none":   {func(f *Facts) { f.Bucket = "ftp://acme" }, Error, "bucket", "unknown scheme"},
		"a directory on a volume": {func(f *Facts) { f.Bucket = "file:///var/lib/cairn" }, OK, "", ""},
		"a webhook without a pod": {func(f *Facts) { f.Webhooks.Value[0].Ready = false }, Warning, "webhooks",
			"pods.example.com (Service a/b)"},
		"webhooks that are unknown": {func(f *Facts) { f.Webhooks.Err = denied }, Warning, "webhooks", "not verified"},
	} {
		t.Run(name, func(t *testing.T) {
			f := ready()
			test.change(&f)
			var bad []Result
			for _, r := range Decide(f) {
				if r.Level != OK {
					bad = append(bad, r)
				}
			}
			switch {
			case test.level == OK && len(bad) > 0, test.level != OK && len(bad) != 1:
				t.Fatalf("got %v", bad)
			case test.level == OK:
				return
			}
			if r := bad[0]; r.Level != test.level || r.Check != test.check ||
				!strings.Contains(r.Message+" "+r.ToDo, test.says) || r.ToDo == "" {
				t.Errorf("got %v", r)
			}
		})
	}
}

func TestEndpointOf(t *testing.T) {
	for bucket, want := range map[string]string{
		"s3://cairn?endpoint=https://minio.storage.svc:9000&use_path_style=true": "minio.storage.svc:9000",
		"s3://cairn?endpoint=https://minio":                                      "minio:443",
		"s3://cairn?endpoint=http://minio":                                       "minio:80",
		"s3://cairn?region=eu-west-1":                                            "",
		"file:///var/lib/cairn":                                                  "",
		"%":                                                                      "",
	} {
		if got := endpointOf(bucket); got != want {
			t.Errorf("%s: %q, want %q", bucket, got, want)
		}
	}
}

func TestConcerns(t *testing.T) {
	rule := func(operation admissionv1.OperationType, group string,
		resources ...string) []admissionv1.RuleWithOperations {
		return []admissionv1.RuleWithOperations{{
			Operations: []admissionv1.OperationType{operation},
			Rule:       admissionv1.Rule{APIGroups: []string{group}, Resources: resources},
		}}
	}
	for name, test := range map[string]struct {
		rules []admissionv1.RuleWithOperations
		want  bool
	}{
		"pods":                {rule("CREATE", "", "pods"), true},
		"all":                 {rule("*", "*", "*"), true},
		"all with parts":      {rule("CREATE", "*", "*/*"), true},
		"Cairn":               {rule("UPDATE", "cairn.dev", "runs/status"), true},
		"deletion of pods":    {rule("DELETE", "", "pods"), false},
		"a part of pods":      {rule("CREATE", "", "pods/exec"), false},
		"scales":              {rule("CREATE", "", "*/scale"), false},
		"resources of others": {rule("*", "apps", "*"), false},
		"none":                {nil, false},
	} {
		if got := concerns(test.rules); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestMutating(t *testing.T) {
	for version, want := range map[string]bool{"v1.35.9": false, "v1.36.0": true, "v1.36.3+k3s1": true, "next": false} {
		if got := mutating(version); got != want {
			t.Errorf("%s: %t", version, got)
		}
	}
}
