// Package action has what users do to Stacks, Runs and Repositories: what each action writes to Kubernetes, and
// which verbs a role has to allow for it. With `cairn` and in the web UI, users write the same in their own name,
// and the admission policies check it.
package action

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/lifecycle/promotion"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
)

// Actions of users.
const (
	Approve = "approve"
	Reject  = "reject"
	Cancel  = "cancel"

	Plan    = "plan"
	Apply   = "apply"
	Partial = "partial"
	Destroy = "destroy"
	Retry   = "retry"
	Suspend = "suspend"
	Resume  = "resume"

	Fetch = "fetch"

	Promote = "promote"
)

// verbs are what a role has to allow for an action on a resource. A retry takes that of what is tried again.
var verbs = map[string]map[string][]string{
	"runs": {
		Approve: {"patch", "approve"},
		Reject:  {"patch", "reject"},
		Cancel:  {"patch", "cancel"},
	},
	"stacks": {
		Plan:    {"patch", "plan"},
		Apply:   {"patch", "apply"},
		Destroy: {"patch", "destroy"},
		Retry:   {"patch"},
		Suspend: {"patch", "update"},
		Resume:  {"patch", "update"},
	},
	"repositories": {Fetch: {"patch"}},
	"driftpauses":  {Resume: {"patch", "resume"}},
	"pipelines":    {Promote: {"patch", "promote"}},
	// What is done to States goes through Cairn's server, which asks for the verb itself.
	"states": {"pull": {"pull"}, "push": {"push"}, "rollback": {"rollback"}, "unlock": {"unlock"},
		"recover": {"recover"}, "restore": {"restore"}},
}

// Verbs are what a role has to allow for each action on a resource.
func Verbs(resource string) map[string][]string { return verbs[resource] }

// VerbOf is what a request for a Run of a Stack takes beside patch. While a Stack is being deleted each request
// starts its destroy.
func VerbOf(stack *v1alpha1.Stack, operation v1alpha1.Operation) string {
	if stack.DeletionTimestamp != nil {
		return Destroy
	}
	return strings.ToLower(string(operation))
}

// ApproveRun approves one plan of a Run, by its digest.
func ApproveRun(digest, by string) client.Patch {
	return merge(map[string]any{"spec": map[string]any{"approval": v1alpha1.Approval{PlanDigest: digest, By: by}}})
}

// RejectRun rejects one plan of a Run, by its digest.
func RejectRun(digest, by, reason string) client.Patch {
	return merge(map[string]any{
		"spec": map[string]any{"rejection": v1alpha1.Rejection{PlanDigest: digest, By: by, Reason: reason}}})
}

// CancelRun requests the end of a Run.
func CancelRun(by string) client.Patch {
	return merge(map[string]any{"spec": map[string]any{"cancel": true, "canceledBy": by}})
}

// RequestRun requests a Run of a Stack, with options of its plan; nil for none. The time distinguishes this request
// from others.
func RequestRun(operation v1alpha1.Operation, options *v1alpha1.PlanOptions, at, by string) client.Patch {
	all := map[string]any{
		v1alpha1.RequestedAtAnnotation:          at,
		v1alpha1.RequestedOperationAnnotation:   string(operation),
		v1alpha1.RequestedByAnnotation:          by,
		v1alpha1.RequestedPlanOptionsAnnotation: nil, // of an earlier request
	}
	if options != nil {
		all[v1alpha1.RequestedPlanOptionsAnnotation] = runinfo.OptionsOfRequest(at, options)
	}
	return merge(map[string]any{"metadata": map[string]any{"annotations": all}})
}

// Now is a time as a request has it.
func Now(now time.Time) string { return now.UTC().Format(time.RFC3339Nano) }

// SuspendStack sets spec.suspend of a Stack. Where that changes it, it records who did.
func SuspendStack(stack *v1alpha1.Stack, suspend bool, by string) client.Patch {
	fields := map[string]any{}
	if stack.Spec.Suspend != suspend {
		fields = annotations(map[string]string{v1alpha1.ChangedByAnnotation: by})
	}
	fields["spec"] = map[string]any{"suspend": suspend}
	return merge(fields)
}

// ResumeDrift resumes the corrections of drift after the pause that began at a time.
func ResumeDrift(since metav1.Time, by string) client.Patch {
	return merge(map[string]any{"spec": map[string]any{"resume": v1alpha1.DriftResume{Since: since, By: by}}})
}

// FetchRepository asks for a fetch.
func FetchRepository(at string) client.Patch {
	return merge(annotations(map[string]string{v1alpha1.RequestedAtAnnotation: at}))
}

// ConfirmDeletions lets a StackSet delete the Stacks of a list, by its digest.
func ConfirmDeletions(digest string) client.Patch {
	return merge(annotations(map[string]string{v1alpha1.ConfirmDeletionsAnnotation: digest}))
}

// RequestAt requests what the annotation cairn.dev/requested-at does of an object that has nothing else to request,
// such as a test of a Notification.
func RequestAt(value string) client.Patch {
	return merge(annotations(map[string]string{v1alpha1.RequestedAtAnnotation: value}))
}

// PromoteRelease requests the promotion of a release to a stage of a Pipeline.
func PromoteRelease(q promotion.Request) client.Patch {
	return merge(annotations(map[string]string{
		v1alpha1.RequestedAtAnnotation:        q.At,
		v1alpha1.RequestedPromotionAnnotation: q.Stage + "=" + q.Commit,
		v1alpha1.RequestedByAnnotation:        q.By,
	}))
}

func annotations(all map[string]string) map[string]any {
	return map[string]any{"metadata": map[string]any{"annotations": all}}
}

func merge(fields map[string]any) client.Patch {
	data, _ := json.Marshal(fields) // strings and bools always can be
	return client.RawPatch(types.MergePatchType, data)
}

// RejectionMessage is the message with which an admission policy or a rule of a CRD rejected a write; empty when
// neither did.
func RejectionMessage(status metav1.Status) string {
	if _, said, found := strings.Cut(status.Message, " denied request: "); found {
		return said
	}
	if status.Reason != metav1.StatusReasonInvalid || status.Details == nil {
		return ""
	}
	var said []string
	for _, c := range status.Details.Causes {
		if i := strings.LastIndex(c.Message, "Invalid value: "); i >= 0 { // what comes before is the object itself
			_, c.Message, _ = strings.Cut(c.Message[i:], ": ")
			if quoted, rest, found := strings.Cut(c.Message, ": "); found && strings.HasPrefix(quoted, `"`) {
				c.Message = rest
			}
		}
		if !slices.Contains(said, c.Message) {
			said = append(said, c.Message)
		}
	}
	return strings.Join(said, "; ")
}
