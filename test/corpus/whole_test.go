//go:build envtest

package corpus

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/test/devcluster"
	"cairn.dev/cairn/test/gitserver"
	"cairn.dev/cairn/test/program"
	"cairn.dev/cairn/test/story"
)

// TestCorpusInWholeCairn has a real `cairn dev` apply some of the cases as Stacks of Repositories. The outputs in the
// status must be those of the bare engine, and each commit with an edit starts a Run, unless the case ignores it.
func TestCorpusInWholeCairn(t *testing.T) {
	t.Parallel()
	tools := filepath.Dir(program.Path(t, "tofu"))
	repos := gitserver.New(t)
	server, err := gitserver.ServeHTTP(repos, false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	cluster := devcluster.Start(t)
	for _, c := range readCases(t) {
		if !c.whole {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			repo, err := c.create(repos, server)
			if err != nil {
				t.Fatal(err)
			}
			want, err := c.bare(t, tools, repo)
			if err != nil {
				t.Fatal(err)
			}
			stack := c.stack()
			for _, object := range []client.Object{c.repository(server.URL + repo.Path()), stack} {
				if err := cluster.Create(t.Context(), object); err != nil {
					t.Fatal(err)
				}
			}
			last := ready(t, cluster, stack, "")
			if diff := cmp.Diff(want.Outputs, outputsOf(t, stack)); diff != "" {
				t.Errorf("the outputs of the bare engine (-) and of Cairn (+) differ:\n%s", diff)
			}
			runs := 1
			for _, e := range c.edits() {
				if !strings.HasPrefix(e.name, "an edit") || len(e.change.Links) > 0 {
					continue // the code is complete without it only by chance
				}
				e.change.Branch, e.change.Onto = "main", ""
				if _, err := repo.Commit(e.change); err != nil {
					t.Fatal(err)
				}
				if !e.ignored {
					last = ready(t, cluster, stack, last)
					runs++
				}
			}
			if want := fmt.Sprintf("%s-%d", c.name, runs); last != want {
				t.Errorf("the last Run is %s, not %s: an edit that the case ignores started one", last, want)
			}
		})
	}
}

func (c *testCase) repository(url string) *v1alpha1.Repository {
	return &v1alpha1.Repository{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: c.name},
		Spec:       v1alpha1.RepositorySpec{URL: url, Ref: "main", Interval: &metav1.Duration{Duration: time.Second}},
	}
}

func (c *testCase) stack() *v1alpha1.Stack {
	stack := &v1alpha1.Stack{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: c.name},
		Spec: v1alpha1.StackSpec{
			Source: v1alpha1.Source{Git: &v1alpha1.GitSource{
				Repository: v1alpha1.RepositoryRef{Name: c.name}, Path: c.wanted.Path, Triggers: c.wanted.Triggers,
			}},
			Engine: v1alpha1.Engine{Name: v1alpha1.EngineName(c.engine)},
			Apply:  v1alpha1.ApplyAutomatic,
		},
	}
	for _, name := range c.wanted.VariableFiles {
		stack.Spec.VariableFiles = append(stack.Spec.VariableFiles, v1alpha1.VariableFile{Path: name})
	}
	for name, value := range c.variables {
		variable := v1alpha1.Variable{Name: name, Value: &apiextensionsv1.JSON{Raw: value}}
		stack.Spec.Variables = append(stack.Spec.Variables, variable)
	}
	return stack
}

// ready waits until a Stack is Ready by another Run than the last one, and returns its name.
func ready(t *testing.T, cluster *devcluster.Cluster, stack *v1alpha1.Stack, last string) string {
	t.Helper()
	for end := time.Now().Add(story.Timeout); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if err := cluster.Get(t.Context(), client.ObjectKeyFromObject(stack), stack); err != nil {
			t.Fatal(err)
		}
		if stack.Status.LastRun != last && meta.IsStatusConditionTrue(stack.Status.Conditions, "Ready") {
			return stack.Status.LastRun
		}
	}
	t.Fatalf("Stack %s is not Ready by another Run than %q: %+v", stack.Name, last, stack.Status)
	return ""
}

func outputsOf(t *testing.T, stack *v1alpha1.Stack) map[string]any {
	t.Helper()
	outputs := map[string]any{}
	for name, value := range stack.Status.Outputs {
		var output any
		if err := json.Unmarshal(value.Raw, &output); err != nil {
			t.Fatal(err)
		}
		outputs[name] = output
	}
	return outputs
}
