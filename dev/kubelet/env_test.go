package kubelet

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// what the pods of these tests may refer to.
func someInputs() *inputs {
	in := newInputs()
	in.found[reference{secret, "db"}] = content{data: map[string][]byte{"user": []byte("alice"),
		"password": []byte("hunter2")}}
	in.found[reference{configMap, "site"}] = content{
		data:   map[string][]byte{"zone": []byte("eu-1"), "main.tf": []byte("code")},
		binary: map[string][]byte{"blob": {0, 1}},
	}
	return in
}

func somePod() *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: "net-1", UID: "uid-1"},
		Spec: corev1.PodSpec{NodeName: "here", ServiceAccountName: "runner",
			RestartPolicy: corev1.RestartPolicyNever},
	}
}

func fromYAML[T any](t *testing.T, text string) T {
	t.Helper()
	var v T
	if err := yaml.UnmarshalStrict([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestEnviron(t *testing.T) {
	for _, tt := range []struct {
		name, container string
		want            map[string]string
		err             string
	}{
		{
			name:      "values refer to what comes before them",
			container: `{env: [{name: A, value: "1"}, {name: B, value: "$(A)$(C)"}, {name: C, value: x}]}`,
			want:      map[string]string{"A": "1", "B": "1$(C)", "C": "x"},
		},
		{
			name:      "env wins over envFrom, which has a prefix",
			container: `{envFrom: [{prefix: DB_, secretRef: {name: db}}, {configMapRef: {name: site}}], env: [{name: zone, value: "us of $(DB_user)"}]}`,
			want: map[string]string{"DB_user": "alice", "DB_password": "hunter2", "zone": "us of alice",
				"main.tf": "code"},
		},
		{
			name: "values from elsewhere",
			container: `{env: [
				{name: P, valueFrom: {secretKeyRef: {name: db, key: password}}},
				{name: Z, valueFrom: {configMapKeyRef: {name: site, key: zone}}},
				{name: POD, valueFrom: {fieldRef: {fieldPath: metadata.name}}},
				{name: NS, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}},
				{name: ID, valueFrom: {fieldRef: {fieldPath: metadata.uid}}},
				{name: NODE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}},
				{name: SA, valueFrom: {fieldRef: {fieldPath: spec.serviceAccountName}}},
			]}`,
			want: map[string]string{"P": "hunter2", "Z": "eu-1", "POD": "net-1", "NS": "infra", "ID": "uid-1",
				"NODE": "here", "SA": "runner"},
		},
		{
			name: "what is optional may be missing",
			container: `{
				envFrom: [{secretRef: {name: nope, optional: true}}, {configMapRef: {name: nope, optional: true}}],
				env: [
					{name: A, valueFrom: {secretKeyRef: {name: nope, key: k, optional: true}}},
					{name: B, valueFrom: {secretKeyRef: {name: db, key: nope, optional: true}}},
					{name: C, valueFrom: {configMapKeyRef: {name: site, key: nope, optional: true}}},
				]}`,
			want: map[string]string{},
		},
		{name: "no such secret", container: `{env: [{name: A, valueFrom: {secretKeyRef: {name: nope, key: k}}}]}`,
			err: `secret "nope" not found`},
		{name: "no such secret for all keys", container: `{envFrom: [{secretRef: {name: nope}}]}`,
			err: `secret "nope" not found`},
		{name: "no such config map", container: `{envFrom: [{configMapRef: {name: nope}}]}`,
			err: `configmap "nope" not found`},
		{name: "no such key in a secret",
			container: `{env: [{name: A, valueFrom: {secretKeyRef: {name: db, key: k}}}]}`,
			err:       `couldn't find key k in Secret infra/db`},
		{name: "no such key in a config map",
			container: `{env: [{name: A, valueFrom: {configMapKeyRef: {name: site, key: k}}}]}`,
			err:       `couldn't find key k in ConfigMap infra/site`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := fromYAML[corev1.Container](t, tt.container)
			got, err := environ(somePod(), &c, someInputs())
			if message(err) != tt.err {
				t.Fatalf("error %q, want %q", message(err), tt.err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
