package runnerhandler

import (
	"context"
	"net/http"
	"regexp"

	corev1 "k8s.io/api/core/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/runnerapi"
	"cairn.dev/cairn/internal/server/httpapi"
	"cairn.dev/cairn/internal/state"
	"cairn.dev/cairn/internal/state/decision"
)

// backendType is what engines call their backends.
var backendType = regexp.MustCompile(`^[a-z][a-z0-9]{0,62}$`)

// backendOf is the engine's own backend that a caller's Run was created with; nil when Cairn stores the state.
func (s *API) backendOf(ctx context.Context, c Caller) (*v1alpha1.Backend, error) {
	doc, err := s.Inputs(ctx, c.Run.Spec.InputsDigest)
	return doc.Backend, err
}

// followBackend has the State follow what a runner found in its Stack's own backend. Only a Run that was created with
// one may: of any other the state is Cairn's, and a plan does not write it.
func (s *API) followBackend(w http.ResponseWriter, r *http.Request, c Caller) error {
	in, err := s.backendOf(r.Context(), c)
	if err != nil {
		return err
	}
	if in == nil {
		return httpapi.Errorf(http.StatusForbidden, "Run %s was created for a Stack without spec.backend", c.RunName)
	}
	kind := r.URL.Query().Get("type")
	if !backendType.MatchString(kind) || !in.FromCode && kind != in.Type {
		return httpapi.Errorf(http.StatusBadRequest, "?type=%.80q is not the type of the Stack's backend", kind)
	}
	data, free, err := s.body(w, r, c.Pod.Namespace, state.MaxSize)
	if err != nil {
		return err
	}
	defer free()
	verdict, moved, err := s.State.Follow(r.Context(), c.Key(), c.Holder(), kind, data)
	if err != nil {
		return err
	}
	answer := runnerapi.Followed{Push: verdict.Action == decision.FollowPush, Force: verdict.Force,
		Wrote: verdict.Action == decision.FollowWrite}
	if moved != nil {
		answer.Moved = moved.By
		s.Log.Info("a state moved into its Stack's backend", "namespace", c.Pod.Namespace, "stack", c.Stack, "run",
			c.RunName, "backend", kind, "by", moved.By)
		s.recordMove(r.Context(), c, kind, moved)
	}
	return httpapi.WriteJSON(w, http.StatusOK, answer)
}

// recordMove records an event of it.
func (s *API) recordMove(ctx context.Context, c Caller, kind string, moved *v1alpha1.StateMove) {
	if s.Events == nil {
		return
	}
	st := &v1alpha1.State{}
	if err := s.Live.Get(ctx, c.Key(), st); err != nil {
		return // the log has it too
	}
	s.Events.Eventf(st, nil, corev1.EventTypeNormal, v1alpha1.EventStateMigrated, "Move",
		"Run %s put the state into backend %s (serial %d), as %s wanted", c.RunName, kind, st.Status.Serial, moved.By)
}
