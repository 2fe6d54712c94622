package runnerhandler

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/inputs"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
	"cairn.dev/cairn/internal/runnerapi"
	"cairn.dev/cairn/internal/server/httpapi"
	"cairn.dev/cairn/internal/state"
	"cairn.dev/cairn/internal/state/decision"
)

// largestInputs as JSON, where bytes are a third longer.
const largestInputs = 16 << 20

// keepInputs keeps the variable files that an apply is about to use, so that its destroy needs none of the objects they
// came from. A plan hands them in that found nothing to apply: then they count at once.
func (s *API) keepInputs(w http.ResponseWriter, r *http.Request, c Caller) error {
	attempt, refused := decision.CurrentAttempt(c.Run, c.Holder())
	if refused != nil {
		return refused
	}
	if c.Run.Spec.Operation != v1alpha1.OperationApply {
		return httpapi.Errorf(http.StatusConflict, "Run %s applies nothing: what it reads is not what was applied",
			c.RunName)
	}
	data, free, err := httpapi.ReadBody(w, r, s.memory.Semaphore, c.Pod.Namespace, largestInputs, jsonWeight, 0)
	if err != nil {
		return err
	}
	defer free()
	if err := json.Unmarshal(data, &runnerapi.InputsKept{}); err != nil {
		return httpapi.Errorf(http.StatusBadRequest, "the body is not what was expected: %v", err)
	}
	if err := s.State.KeepInputs(r.Context(), c.Key(), c.Run.Spec.InputsDigest, data); err != nil {
		return err
	}
	if attempt.Phase == v1alpha1.AttemptPlan {
		if err := s.State.AdoptInputs(r.Context(), c.Key(), c.Run.Spec.InputsDigest); err != nil {
			return err
		}
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// keptInputs serves the variable files that were stored for the inputs of a destroy.
func (s *API) keptInputs(w http.ResponseWriter, r *http.Request, c Caller) error {
	if !runinfo.PlansDestroy(c.Run) {
		return httpapi.Errorf(http.StatusForbidden, "Run %s is no destroy", c.RunName)
	}
	free, err := s.memory.Acquire(r.Context(), c.Pod.Namespace, largestInputs)
	if err != nil {
		return err
	}
	defer free()
	digest := c.Run.Spec.InputsDigest
	if pull := c.Run.Spec.PullRequest; pull != nil {
		digest = pull.DestroyInputsDigest
	}
	data, err := s.State.KeptInputs(r.Context(), c.Key(), digest)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	_, err = w.Write(data) //nolint:gosec // JSON for a runner; no browser asks this server
	return err
}

// source serves the code that the Run's inputs name, and no other.
func (s *API) source(w http.ResponseWriter, r *http.Request, c Caller) error {
	doc, err := s.Inputs(r.Context(), c.Run.Spec.InputsDigest)
	if err != nil {
		return err
	}
	digest, want := r.PathValue("digest"), doc.Source
	if a, _ := decision.CurrentAttempt(c.Run, c.Holder()); a != nil && a.Phase == v1alpha1.AttemptBuild &&
		doc.Build != nil {
		want = doc.Build.Source
	}
	if digest != want || !httpapi.IsDigest(digest) {
		return httpapi.Errorf(http.StatusForbidden, "%.80q is not the source of Run %s", digest, c.RunName)
	}
	return s.download(w, r, "sources/"+digest)
}

// stackOutput serves an output of another Stack that the Run's inputs name, as long as it has the value that the Run
// was created for. The value goes straight from the state to the runner, whether it is sensitive or not.
func (s *API) stackOutput(w http.ResponseWriter, r *http.Request, c Caller) error {
	doc, err := s.Inputs(r.Context(), c.Run.Spec.InputsDigest)
	if err != nil {
		return err
	}
	stack, output := r.PathValue("stack"), r.PathValue("output")
	if !uses(doc, stack, output) {
		return httpapi.Errorf(http.StatusForbidden, "no variable of Run %s takes its value from output %.80q of "+
			"Stack %.80q", c.RunName, output, stack)
	}
	user := &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Namespace: c.Pod.Namespace, Name: c.Stack}}
	of := user.KeyOf(stack)
	if err := s.checkGrant(r.Context(), c, of); err != nil {
		return err
	}
	free, err := s.memory.AcquireState(r.Context(), of)
	if err != nil {
		return err
	}
	defer free()
	found, is, err := s.State.Output(r.Context(), of, output)
	if errors.Is(err, state.ErrNone) {
		return httpapi.Errorf(http.StatusConflict, "output %s of Stack %s is gone since Run %s was created", output,
			stack, c.RunName)
	}
	if err != nil {
		return err
	}
	was := doc.Versions["Stack/"+user.NameOf(of)+"#"+output]
	if was == "" || was != is {
		return httpapi.Errorf(http.StatusConflict, "output %s of Stack %s changed since Run %s was created", output,
			stack, c.RunName)
	}
	w.Header().Set("Cache-Control", "no-store")
	return httpapi.WriteJSON(w, http.StatusOK, runnerapi.Output{Value: found.Value, Sensitive: found.Sensitive})
}

// checkGrant rejects the use of an output of another namespace without a StackGrant, which may be withdrawn since the
// Run was created. An apply has a plan with the value already.
func (s *API) checkGrant(ctx context.Context, c Caller, stack types.NamespacedName) error {
	attempt, refused := decision.CurrentAttempt(c.Run, c.Holder())
	switch {
	case refused != nil:
		return refused
	case stack.Namespace == c.Pod.Namespace || attempt.Phase == v1alpha1.AttemptApply:
		return nil
	}
	grants := &v1alpha1.StackGrantList{}
	if err := s.Live.List(ctx, grants, client.InNamespace(stack.Namespace)); err != nil {
		return err
	}
	if grants.Allow(v1alpha1.GrantStack, c.Pod.Namespace, stack) {
		return nil
	}
	return httpapi.Errorf(http.StatusUnprocessableEntity,
		"no StackGrant in namespace %s allows Stacks of namespace %s to use "+
			"outputs of Stack %s", stack.Namespace, c.Pod.Namespace, stack.Name)
}

// uses returns true if a variable takes its value from an output of a Stack.
func uses(doc inputs.Document, stack, output string) bool {
	for _, v := range doc.Variables {
		if v.ValueFrom == nil || v.ValueFrom.Stack == nil {
			continue
		}
		if ref := v.ValueFrom.Stack; ref.String() == stack && ref.Output == output {
			return true
		}
	}
	return false
}
