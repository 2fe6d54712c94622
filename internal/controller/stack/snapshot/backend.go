package snapshot

import (
	"encoding/json"
	"fmt"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/stack/decision"
	"cairn.dev/cairn/internal/engine/backend"
)

// checkBackend returns what is wrong with the backend of a Stack, before a Run is created that would only fail for the
// same reason.
func checkBackend(w *decision.Snapshot) *decision.Problem {
	b := w.Stack.Spec.Backend
	if b == nil {
		return stateElsewhere(w)
	}
	if b.FromCode && b.Type == "" {
		return nil
	}
	spec := w.Effective.Spec
	config := map[string]json.RawMessage{}
	for name, value := range b.Config {
		config[name] = value.Raw
	}
	declared := backend.Config{Values: config, More: len(b.ConfigFrom)+len(spec.EnvFrom) > 0, Create: b.Create}
	for _, e := range spec.Env {
		declared.Env = append(declared.Env, e.Name)
	}
	if err := backend.Of(b.Type).Validate(declared); err != nil {
		return &decision.Problem{Reason: v1alpha1.ReasonBackendInvalid, Message: fmt.Sprintf("spec.backend: %v", err)}
	}
	return nil
}

// checkBackendOf rejects what an engine cannot do, once it is known which one runs: Terragrunt generates the backend
// block, so whether the code has one is known only after its init.
func checkBackendOf(b *v1alpha1.Backend, engine v1alpha1.EngineName) *decision.Problem {
	if b == nil || !b.FromCode || b.Type == "" || engine != v1alpha1.EngineTerragrunt {
		return nil
	}
	return &decision.Problem{Reason: v1alpha1.ReasonBackendInvalid,
		Message: "spec.backend: type beside fromCode does not work with Terragrunt, " +
			"which generates the backend block: leave out one of the two"}
}

// stateElsewhere stops a Stack whose backend was removed from its spec while the state is there: Cairn's copy may be
// behind. The lock of the state is the fence; this reports it.
func stateElsewhere(w *decision.Snapshot) *decision.Problem {
	if w.State == nil || w.State.Status.Backend == nil || w.State.Status.Version == 0 {
		return nil
	}
	in := w.State.Status.Backend
	return &decision.Problem{Reason: v1alpha1.ReasonBackendMigrationRequired, Message: fmt.Sprintf(
		"the state is in backend %s (serial %d when it was last seen), and spec.backend is gone: put it back, or let "+
			"Cairn keep the state with cairn state migrate %s",
		in.Type, in.Serial, w.Stack.Name)}
}
