package scale

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
)

// Until waits for a condition.
func (i *Install) Until(what string, is func() bool) {
	i.Helper()
	for end := time.Now().Add(2 * time.Minute); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			i.logStatuses()
			i.Fatalf("%s: not within two minutes", what)
		}
	}
}

// logStatuses logs the status of each object, and the logs of the processes.
func (i *Install) logStatuses() {
	i.Helper()
	for _, list := range []client.ObjectList{&v1alpha1.RepositoryList{}, &v1alpha1.StackList{}, &v1alpha1.RunList{},
		&corev1.PodList{}} {
		if err := i.List(context.Background(), list); err != nil {
			i.Log(err)
			continue
		}
		_ = meta.EachListItem(list, func(o runtime.Object) error {
			fields, _ := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
			text, _ := json.Marshal(fields["status"])
			i.Logf("%T %s: %s", o, client.ObjectKeyFromObject(o.(client.Object)), text)
			return nil
		})
	}
	for _, half := range []string{"operator", "server"} {
		text, err := os.ReadFile(filepath.Join(i.Data, half+".log"))
		i.Logf("%s.log: %v\n%s", half, err, text)
	}
}

// Resize changes the variable of a Stack.
func (i *Install) Resize(ctx context.Context, namespace, name string, size int) error {
	s := &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	patch := fmt.Appendf(nil, `[{"op":"replace","path":"/spec/variables/0/value","value":%d}]`, size)
	return i.Patch(ctx, s, client.RawPatch(types.JSONPatchType, patch))
}

// Applied reports whether a Stack is applied with a size.
func (i *Install) Applied(namespace, name string) bool {
	s := &v1alpha1.Stack{}
	if err := i.Get(context.Background(), client.ObjectKey{Namespace: namespace, Name: name}, s); err != nil {
		return false
	}
	return s.Status.ObservedGeneration == s.Generation && s.Status.AppliedInputsDigest != "" &&
		s.Status.AppliedInputsDigest == s.Status.InputsDigest && s.Status.CurrentRun == ""
}
