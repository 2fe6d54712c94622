package server

import (
	"errors"
	"net/http"

	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/internal/inputs"
	"cairn.dev/cairn/internal/state"
	"cairn.dev/cairn/internal/store"
)

// stackOutput gives out an output of another Stack that the Run's inputs name, as long as it has the value that the Run
// was made for. The value goes straight from the state to the runner: whether it is sensitive makes no difference here.
func (s *runnerAPI) stackOutput(w http.ResponseWriter, r *http.Request, c Caller) error {
	doc, err := s.Inputs(r.Context(), c.Run.Spec.InputsDigest)
	if err != nil {
		return err
	}
	stack, output := r.PathValue("stack"), r.PathValue("output")
	if !uses(doc, stack, output) {
		return refusef(http.StatusForbidden, "no variable of Run %s takes its value from output %.80q of Stack %.80q", c.RunName, output, stack)
	}
	of := types.NamespacedName{Namespace: c.Pod.Namespace, Name: stack}
	free, err := stateSizes{s.Catalog, s.Live}.hold(r.Context(), of, s.memory)
	if err != nil {
		return err
	}
	defer free()
	found, is, err := s.State.Output(r.Context(), of, output)
	if errors.Is(err, state.ErrNone) {
		return refusef(http.StatusConflict, "output %s of Stack %s is gone since Run %s was made", output, stack, c.RunName)
	}
	if err != nil {
		return err
	}
	was := doc.Versions["Stack/"+stack+"#"+output]
	if was == "" || was != is {
		return refusef(http.StatusConflict, "output %s of Stack %s changed since Run %s was made", output, stack, c.RunName)
	}
	w.Header().Set("Cache-Control", "no-store")
	return writeJSON(w, http.StatusOK, store.Output{Value: found.Value, Sensitive: found.Sensitive})
}

// uses says whether a variable takes its value from an output of a Stack.
func uses(doc inputs.Document, stack, output string) bool {
	for _, v := range doc.Variables {
		if v.ValueFrom == nil || v.ValueFrom.Stack == nil {
			continue
		}
		if ref := v.ValueFrom.Stack; ref.Name == stack && ref.Output == output {
			return true
		}
	}
	return false
}
