package kubelet

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

func TestFilesOf(t *testing.T) {
	for _, tt := range []struct {
		name, volume string
		want         []string // path mode content
		err          string
	}{
		{name: "an empty folder", volume: `{emptyDir: {}}`},
		{name: "every key of a secret", volume: `{secret: {secretName: db}}`,
			want: []string{"password 644 hunter2", "user 644 alice"}},
		{
			name:   "items of a secret, with modes",
			volume: `{secret: {secretName: db, defaultMode: 0400, items: [{key: user, path: a/b}, {key: password, path: p, mode: 0440}]}}`,
			want:   []string{"a/b 400 alice", "p 440 hunter2"},
		},
		{name: "every key of a config map, binary ones too", volume: `{configMap: {name: site}}`,
			want: []string{"blob 644 \x00\x01", "main.tf 644 code", "zone 644 eu-1"}},
		{name: "optional and missing", volume: `{secret: {secretName: nope, optional: true}}`},
		{name: "optional, with an item that is missing",
			volume: `{configMap: {name: site, optional: true, items: [{key: nope, path: x}, {key: zone, path: z}]}}`,
			want:   []string{"z 644 eu-1"}},
		{
			name: "projected from everywhere",
			volume: `{projected: {defaultMode: 0400, sources: [
				{serviceAccountToken: {path: token, audience: cairn, expirationSeconds: 600}},
				{secret: {name: db, items: [{key: user, path: user}]}},
				{configMap: {name: site, items: [{key: zone, path: zone}]}},
				{downwardAPI: {items: [{path: ns, fieldRef: {fieldPath: metadata.namespace}}, {path: id, fieldRef: {fieldPath: metadata.uid}}]}},
			]}}`,
			want: []string{"token 400 the-token", "user 400 alice", "zone 400 eu-1", "ns 400 infra", "id 400 uid-1"},
		},
		{name: "fields of the pod",
			volume: `{downwardAPI: {items: [{path: name, fieldRef: {fieldPath: metadata.name}}]}}`,
			want:   []string{"name 644 net-1"}},
		{name: "no such secret", volume: `{secret: {secretName: nope}}`, err: `secret "nope" not found`},
		{name: "no such config map", volume: `{projected: {sources: [{configMap: {name: nope}}]}}`,
			err: `configmap "nope" not found`},
		{name: "no such key in a secret", volume: `{secret: {secretName: db, items: [{key: nope, path: x}]}}`,
			err: `references non-existent secret key: nope`},
		{name: "no such key in a config map", volume: `{configMap: {name: site, items: [{key: nope, path: x}]}}`,
			err: `references non-existent config key: nope`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := fromYAML[corev1.Volume](t, tt.volume)
			tokens := map[tokenRequest]string{{"cairn", 600}: "the-token"}
			files, err := filesOf(somePod(), &v, someInputs(), tokens)
			if message(err) != tt.err {
				t.Fatalf("error %q, want %q", message(err), tt.err)
			}
			var got []string
			for _, f := range files {
				got = append(got, fmt.Sprintf("%s %o %s", f.path, f.mode, f.data))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
