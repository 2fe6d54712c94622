package runinfo

import (
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
)

// PlansNewStack reports whether a Run plans a Stack that a StackSet would create after the merge of a pull request.
func PlansNewStack(run *v1alpha1.Run) bool {
	return run != nil && run.Spec.PullRequest != nil && run.Spec.PullRequest.NewStack
}

// NewStack returns what stands for the Stack of a Run that plans one which does not exist. It has the
// defaults of what a Run reads of its Stack, and never applies: all that decides the plan is in the inputs of the Run.
func NewStack(run *v1alpha1.Run) *v1alpha1.Stack {
	stack := &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Namespace: run.Namespace, Name: run.Spec.Stack.Name}}
	stack.Spec.Apply = v1alpha1.ApplyNever
	stack.Spec.DeletionPolicy = v1alpha1.DeletionProtect
	stack.Spec.Timeout = &metav1.Duration{Duration: time.Hour}
	stack.Spec.Runner.IdleTimeout = &metav1.Duration{}
	stack.Spec.Retry = v1alpha1.Retry{
		Limit: new(int32(3)), Backoff: &metav1.Duration{Duration: 15 * time.Second},
		MaxBackoff: &metav1.Duration{Duration: 10 * time.Minute},
	}
	if source := run.Spec.Source; source != nil {
		namespace, name, _ := strings.Cut(source.Repository, "/")
		stack.Spec.Source.Git = &v1alpha1.GitSource{Repository: v1alpha1.RepositoryRef{Namespace: namespace,
			Name: name}}
	}
	return stack
}
