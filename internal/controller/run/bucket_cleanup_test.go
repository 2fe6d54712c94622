package run

import (
	"strings"
	"testing"

	"filippo.io/age"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/bucket"
)

// The plans of a deleted Run, their readable forms, their policy results and its logs are deleted; objects of other
// Runs stay.
func TestForgetDeletesAllObjectsOfARun(t *testing.T) {
	key, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	keys, err := bucket.NewKeys(key.String())
	if err != nil {
		t.Fatal(err)
	}
	kept, err := bucket.Open(t.Context(), "file://"+t.TempDir(), keys)
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Close()
	for _, run := range []string{"infra/uid-1", "infra/uid-10", "other/uid-1"} {
		for _, name := range []string{"plans/%/sha256:a", "plans/%/sha256:a.json", "plans/%/sha256:a.text",
			"plans/%/sha256:a.verdict", "logs/%/1/000000000000", "sessions/%/pod-uid"} {
			before, after, _ := strings.Cut(name, "%")
			if err := kept.Put(t.Context(), before+run+after, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	run := &v1alpha1.Run{ObjectMeta: metav1.ObjectMeta{Namespace: "infra", UID: "uid-1"}}
	if err := (Artifacts{kept}).Forget(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	for folder, want := range map[string]int{"plans/infra": 4, "logs/infra": 1, "sessions/infra": 1, "plans/other": 4,
		"logs/other": 1, "plans/infra/uid-10": 4} {
		left, err := kept.List(t.Context(), folder)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, len(left)); diff != "" {
			t.Errorf("%s: %v is left, want %d", folder, left, want)
		}
	}
}
