package run

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/bucket"
	"cairn.dev/cairn/internal/base/version"
	"cairn.dev/cairn/internal/controller/run/decision"
	"cairn.dev/cairn/internal/controller/run/podspec"
	"cairn.dev/cairn/internal/controller/run/scheduler"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
)

// podRejection is a part of the API server's message when it rejects a pod, and advice for the user. Only the message
// distinguishes these: Kubernetes has no reason for each.
type podRejection struct {
	text, advice string
	// resources: the advice is where the resources of the pod's containers are set.
	resources bool
}

// quotaExceeded is in the message when a ResourceQuota is used up by others of the namespace.
const quotaExceeded = "exceeded quota"

// podRejections: the first that fits.
var podRejections = []podRejection{
	{quotaExceeded, "it waits until others of the namespace have ended, or the ResourceQuota allows more", false},
	{"failed quota", "the ResourceQuota asks for it", true},
	{"usage per ", "the LimitRange asks for it", true},
	{"limit to request ratio", "the LimitRange asks for it", true},
	{"must be less than or equal to", "a limit, which a LimitRange may have set, is below what is asked for", true},
	{"violates PodSecurity", "change spec.runner.template, or what the namespace enforces", false},
	{"error looking up service account", "create that ServiceAccount, or set spec.runner.serviceAccountName", false},
	{"no PriorityClass with name", "create that PriorityClass, or change spec.runner.template", false},
	{"RuntimeClass", "create that RuntimeClass, or change spec.runner.template", false},
	{"is being terminated", "the namespace is being deleted", false},
	{"cannot create resource", "Cairn has no permission to create pods in this namespace", false},
	{"ValidatingAdmissionPolicy", "that policy has to allow it, or spec.runner has to change", false},
	{"denied the request", "that webhook has to allow it, or spec.runner has to change", false},
	{"failed calling webhook", "that webhook has to answer again", false},
}

// IsRejection reports whether an error is the API server's answer to this pod, or Run, and not a failure on the way: it
// stays the same until a user changes a setting, so the Run, or the Stack, reports it.
func IsRejection(err error) bool {
	var status apierrors.APIStatus
	switch {
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err), errors.Is(err, errNameTaken):
		return true
	case !errors.As(err, &status):
		return false
	}
	return strings.Contains(err.Error(), "denied the request") ||
		strings.Contains(err.Error(), "failed calling webhook")
}

// whereResourcesAreSet names the containers of a rejected pod with the field that sets their resources, and what those
// are: the message of a LimitRange has the values, and not the containers. An Invalid pod's error has the fields.
func whereResourcesAreSet(pod *corev1.Pod, err error) string {
	var named []string
	add := func(field string, all []corev1.Container) {
		for i, c := range all {
			if !concerns(err, fmt.Sprintf("spec.%s[%d]", field, i)) {
				continue
			}
			where := "spec.runner.template"
			if c.Name == runinfo.ShellContainer {
				where = "spec.runner.resources"
			}
			named = append(named, fmt.Sprintf("container %s (%s) in %s", c.Name, resourcesText(c.Resources), where))
		}
	}
	if pod != nil {
		add("initContainers", pod.Spec.InitContainers)
		add("containers", pod.Spec.Containers)
	}
	if len(named) == 0 {
		return "set spec.runner.resources"
	}
	return "set the resources of " + strings.Join(named, ", of ")
}

// concerns reports whether an error is about a field, or names no fields.
func concerns(err error, field string) bool {
	status, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok || !apierrors.IsInvalid(err) || status.ErrStatus.Details == nil {
		return true
	}
	about := func(c metav1.StatusCause) bool { return strings.HasPrefix(c.Field, field) }
	return slices.ContainsFunc(status.ErrStatus.Details.Causes, about)
}

// resourcesText formats resources as in "requests cpu 10m, memory 32Mi; limits memory 1Gi".
func resourcesText(r corev1.ResourceRequirements) string {
	var parts []string
	for _, of := range []struct {
		name string
		list corev1.ResourceList
	}{{"requests", r.Requests}, {"limits", r.Limits}} {
		var values []string
		for _, name := range slices.Sorted(maps.Keys(of.list)) {
			value := of.list[name]
			values = append(values, fmt.Sprintf("%s %s", name, value.String()))
		}
		if len(values) > 0 {
			parts = append(parts, of.name+" "+strings.Join(values, ", "))
		}
	}
	return cmp.Or(strings.Join(parts, "; "), "none")
}

// rejectedPod is the status when the API server rejects the pod. The create is retried after a while, since there is no
// event when the cause is gone, and more and more rarely the longer the Run has waited.
func rejectedPod(w decision.Snapshot, s v1alpha1.RunStatus, pod *corev1.Pod, why error) (v1alpha1.RunStatus,
	decision.Decision) {
	d := decision.Decision{Phase: s.Phase, Reason: v1alpha1.ReasonPodCreateFailed,
		Message:      "the pod cannot be created: " + why.Error(),
		RequeueAfter: retryAfter(w)}
	for _, r := range podRejections {
		if strings.Contains(why.Error(), r.text) {
			d.Message += "; " + r.advice
			if r.resources {
				d.Message += ": " + whereResourcesAreSet(pod, why)
			}
			break
		}
	}
	if apierrors.HasStatusCause(why, corev1.NamespaceTerminatingCause) {
		d.Message = "the pod cannot be created: namespace " + w.Run.Namespace + " is being deleted"
	}
	before := apimeta.FindStatusCondition(s.Conditions, v1alpha1.ConditionSucceeded)
	// the numbers of a quota matter
	if before != nil && before.Reason == d.Reason && !strings.Contains(d.Message, quotaExceeded) {
		d.Message = runinfo.KeepIfEquivalent(before.Message, runinfo.Clip(d.Message, decision.MaxMessage))
	}
	if d.Phase == "" {
		d.Phase = v1alpha1.PhaseQueued
	}
	return decision.Record(s, d, w.Run.Generation, w.Now), d
}

// How often the create of a rejected pod is retried.
const (
	minRetry = 10 * time.Second
	maxRetry = 2 * time.Minute
)

// retryAfter is when the create of a rejected pod is retried: a quarter of the time that the Run has waited for it.
func retryAfter(w decision.Snapshot) time.Duration {
	since := w.Run.CreationTimestamp.Time
	if a := runinfo.Current(&w.Run.Status); a != nil && a.FinishedAt != nil {
		since = a.FinishedAt.Time
	}
	return min(max(w.Now.Sub(since)/4, minRetry), maxRetry)
}

// invalidPod is the status of a Run that ends, since no pod can be created for it.
func invalidPod(s v1alpha1.RunStatus, why *podspec.InvalidError, generation int64, now time.Time) (v1alpha1.RunStatus,
	decision.Decision) {
	d := decision.Decision{Phase: v1alpha1.PhaseFailed, Reason: string(v1alpha1.FailureConfigurationError),
		Message: "no pod can be created: " + why.Error()}
	return decision.Record(s, d, generation, now), d
}

// lostInputs is the status of a Run whose next pod cannot be created without its inputs. They are read again after a
// while, since there is no event when they are back.
func lostInputs(w decision.Snapshot, s v1alpha1.RunStatus, why error) (v1alpha1.RunStatus, decision.Decision) {
	d := decision.Decision{Phase: s.Phase, Reason: v1alpha1.ReasonInputsNotFound,
		Message: lostInputsMessage(w.Run, why), RequeueAfter: retryAfter(w)}
	if d.Phase == "" {
		d.Phase = v1alpha1.PhaseQueued
	}
	return decision.Record(s, d, w.Run.Generation, w.Now), d
}

// isInputsLost reports whether the document of a Run's inputs is not in the bucket as it was kept: it stays lost until
// a user restores it, so the Run reports it. A bucket that does not respond is a transient failure.
func isInputsLost(err error) bool {
	return bucket.IsLost(err)
}

// lostInputsMessage names the lost document, and what to do.
func lostInputsMessage(run *v1alpha1.Run, err error) string {
	otherwise := fmt.Sprintf("cancel this Run (cairn cancel %s) and ask for another with cairn apply", run.Name)
	if run.Spec.Operation == v1alpha1.OperationDestroy {
		otherwise = "set spec.deletionPolicy of the Stack to Orphan to leave everything as it is"
	}
	return fmt.Sprintf("the inputs of the Run cannot be read from the bucket: %v. Restore the bucket from its "+
		"backup, or %s", err, otherwise)
}

// queued is the status of a Run that waits for a place.
func queued(s v1alpha1.RunStatus, v scheduler.Admission, generation int64, now time.Time) (v1alpha1.RunStatus,
	decision.Decision) {
	d := decision.Decision{
		Phase: s.Phase, Reason: v1alpha1.ReasonQueued, Message: v.Message(),
		// Its admission comes as an event. This is for the queue position in its message.
		RequeueAfter: min(5*time.Second+time.Duration(v.Ahead)*100*time.Millisecond, 5*time.Minute),
	}
	if d.Phase == "" {
		d.Phase = v1alpha1.PhaseQueued
	}
	return decision.Record(s, d, generation, now), d
}

// explainBuildRejection adds to the rejection of a pod that builds an image what the namespace may not enforce.
func explainBuildRejection(err error) error {
	if !strings.Contains(err.Error(), "violates PodSecurity") {
		return err
	}
	return fmt.Errorf("%w; a pod that builds an image fits Pod Security \"baseline\", or none where the installation "+
		"has builds unconfined, so its namespace may not enforce more ("+version.Docs+"how-to/image-builds.md)", err)
}
