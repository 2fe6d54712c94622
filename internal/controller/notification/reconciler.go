// Package notification reconciles Notifications: it observes Stacks, and sends messages about them.
package notification

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"path"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/outbox"
	"cairn.dev/cairn/internal/controller/notification/decision"
	"cairn.dev/cairn/internal/controller/notification/message"
	"cairn.dev/cairn/internal/controller/statuswrite"
)

const (
	// later is when what a user has to correct is tried again: no cache has Secrets.
	later = time.Minute
	// next is when another message is sent after one that was accepted.
	next = time.Second
)

// Reconciler sends the messages of Notifications.
type Reconciler struct {
	Client client.Client
	// Live reads Secrets, which no cache has.
	Live client.Reader
	// Web returns what sends requests, and trusts some certificates; nil are those of the machine. It must not connect
	// to addresses that tenants may not name.
	Web func(*x509.CertPool) *http.Client
	// WebURL is where users find the web UI; empty for no links to it.
	WebURL string
	// Installation is the namespace whose Notifications can name other namespaces. Empty for none.
	Installation string
	// Hosts are those that messages are sent to; empty for all.
	Hosts  []string
	Events events.EventRecorder
	// Clock returns the time; time.Now when nil.
	Clock func() time.Time

	receivers outbox.Receivers
	memory    memory
}

// memory is what this process knows of Notifications, by UID.
type memory struct {
	mu sync.Mutex
	of map[types.NamespacedName]known
}

type known struct {
	uid      types.UID
	observed decision.Observed
	// accepted is the ID of the message that the destination accepted last. If the status could not be written since,
	// it is not sent again.
	accepted string
}

func (m *memory) get(n *v1alpha1.Notification) known {
	m.mu.Lock()
	defer m.mu.Unlock()
	if k := m.of[client.ObjectKeyFromObject(n)]; k.uid == n.UID {
		return k
	}
	return known{uid: n.UID}
}

func (m *memory) set(key types.NamespacedName, k known) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.of == nil {
		m.of = map[types.NamespacedName]known{}
	}
	m.of[key] = k
}

func (m *memory) forget(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.of, key)
}

// Reconcile observes, decides, writes the status, sends, and writes what was accepted.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	n := &v1alpha1.Notification{}
	err := r.Client.Get(ctx, req.NamespacedName, n)
	if apierrors.IsNotFound(err) || err == nil && n.DeletionTimestamp != nil {
		r.memory.forget(req.NamespacedName)
		return ctrl.Result{}, nil
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	stacks, err := r.stacks(ctx, n)
	if config := (*configError)(nil); errors.As(err, &config) {
		return r.reject(ctx, n, config, 0)
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	k := r.memory.get(n)
	d := decision.Decide(decision.Snapshot{Now: r.now(), Notification: n, Stacks: stacks, Observed: k.observed})
	k.observed = d.Observed
	r.memory.set(req.NamespacedName, k)
	persisted := n.DeepCopy()
	persisted.Status = d.Status
	r.describe(persisted, d.Retry)
	if err := statuswrite.Patch(ctx, r.Client, n, persisted); err != nil {
		return statuswrite.Failed(err, next)
	}
	if d.GaveUp != nil {
		r.Events.Eventf(n, nil, corev1.EventTypeWarning, v1alpha1.EventMessageDropped, "Send",
			"message %s about %s of %d Stacks was not accepted for 24 hours, and is not sent any longer", d.GaveUp.ID,
			d.GaveUp.Event, d.GaveUp.Stacks)
	}
	if !d.Send {
		return ctrl.Result{RequeueAfter: d.Again}, nil
	}
	return r.send(ctx, persisted, d.Retry)
}

// send sends the pending message, with retry also to a destination that failed just now, and writes that it was
// accepted.
func (r *Reconciler) send(ctx context.Context, n *v1alpha1.Notification, retry bool) (ctrl.Result, error) {
	id := n.Status.Pending.ID
	k := r.memory.get(n)
	if k.accepted != id {
		to, err := r.destination(ctx, n)
		if config := (*configError)(nil); errors.As(err, &config) {
			return r.reject(ctx, n, config, later)
		}
		if err != nil {
			return ctrl.Result{}, err
		}
		if retry {
			r.receivers.Retry(r.now(), to.receiver)
		}
		content := outbox.Message[message.Message]{
			Key: id, Digest: id, Receiver: to.receiver, Content: message.Of(n, r.WebURL, decision.MostDescribed),
		}
		sent := outbox.Send(ctx, r.now, outbox.Plan[message.Message]{Send: []outbox.Message[message.Message]{content}},
			&r.receivers,
			func(ctx context.Context, m outbox.Message[message.Message], _ outbox.Record) (response outbox.Response,
				err error) {
				response.RetryAfter, err = to.send(ctx, r.now(), m.Content)
				return response, err
			})
		if sent.Err != nil {
			return r.reject(ctx, n, &configError{v1alpha1.ReasonDeliveryFailed, sent.Err.Error()}, sent.Wait)
		}
		if sent.Wait > 0 {
			return ctrl.Result{RequeueAfter: sent.Wait}, nil
		}
		k.accepted = id
		r.memory.set(client.ObjectKeyFromObject(n), k)
	}
	return r.acknowledge(ctx, n)
}

// acknowledge writes that the pending message was accepted. After a conflict the next reconcile does, and sends
// nothing.
func (r *Reconciler) acknowledge(ctx context.Context, n *v1alpha1.Notification) (ctrl.Result, error) {
	done := n.DeepCopy()
	done.Status = decision.Delivered(done.Status, r.now())
	d := done.Status.Deliveries[0]
	r.condition(done, metav1.ConditionTrue, v1alpha1.ReasonDelivered, fmt.Sprintf("message %s about %s was accepted",
		d.ID, d.Event))
	if err := statuswrite.Patch(ctx, r.Client, n, done); err != nil {
		return statuswrite.Failed(err, next)
	}
	about := string(d.Event)
	if d.Stacks > 0 { // a test is about none
		about += fmt.Sprintf(" of %d Stacks", d.Stacks)
	}
	r.Events.Eventf(n, nil, corev1.EventTypeNormal, v1alpha1.EventMessageSent, "Send", "message about %s", about)
	return ctrl.Result{RequeueAfter: next}, nil
}

// stacks returns the Stacks that a Notification selects. The error is a *configError if a user has to correct the
// Notification.
func (r *Reconciler) stacks(ctx context.Context, n *v1alpha1.Notification) ([]decision.Stack, error) {
	if len(n.Spec.Namespaces) > 0 && n.Namespace != r.Installation {
		return nil, &configError{v1alpha1.ReasonNamespacesNotAllowed,
			"spec.namespaces is for Notifications in the namespace in which Cairn " +
				"is installed, and for an operator without shards: remove it, or create the Notification there"}
	}
	selector, err := metav1.LabelSelectorAsSelector(&n.Spec.StackSelector)
	if err != nil {
		return nil, &configError{v1alpha1.ReasonConfigurationInvalid, "spec.stackSelector: " + err.Error()}
	}
	options := []client.ListOption{client.MatchingLabelsSelector{Selector: selector}, client.UnsafeDisableDeepCopy}
	if len(n.Spec.Namespaces) == 0 {
		options = append(options, client.InNamespace(n.Namespace))
	}
	var list v1alpha1.StackList
	if err := r.Client.List(ctx, &list, options...); err != nil {
		return nil, err
	}
	found, err := r.namespaces(ctx, n)
	if err != nil {
		return nil, err
	}
	for i := range list.Items {
		if s := &list.Items[i]; inNamespaces(n, s.Namespace) { // also one that is being deleted, whose destroy may wait
			found = append(found, decision.Of(s))
		}
	}
	return found, nil
}

// namespaces returns the namespaces with a DriftPause that a Notification is about.
func (r *Reconciler) namespaces(ctx context.Context, n *v1alpha1.Notification) (found []decision.Stack, err error) {
	options := []client.ListOption{client.UnsafeDisableDeepCopy}
	if len(n.Spec.Namespaces) == 0 {
		options = append(options, client.InNamespace(n.Namespace))
	}
	var list v1alpha1.DriftPauseList
	if err := r.Client.List(ctx, &list, options...); err != nil {
		return nil, err
	}
	for i := range list.Items {
		if p := &list.Items[i]; inNamespaces(n, p.Namespace) {
			found = append(found, decision.OfNamespace(p))
		}
	}
	return found, nil
}

// selects reports whether a Notification is about a Stack.
func selects(n *v1alpha1.Notification, s *v1alpha1.Stack) bool {
	selector, err := metav1.LabelSelectorAsSelector(&n.Spec.StackSelector)
	return err == nil && inNamespaces(n, s.Namespace) && selector.Matches(labels.Set(s.Labels))
}

// inNamespaces reports whether a Notification is about the Stacks of a namespace.
func inNamespaces(n *v1alpha1.Notification, namespace string) bool {
	if len(n.Spec.Namespaces) == 0 {
		return n.Namespace == namespace
	}
	return slices.ContainsFunc(n.Spec.Namespaces, func(pattern string) bool {
		ok, err := path.Match(pattern, namespace)
		return ok && err == nil
	})
}

// describe sets the Ready condition of a Notification whose configuration is not known to be wrong. With retry, what is
// known of its destination does not count: the user who requested it waits for the result.
func (r *Reconciler) describe(n *v1alpha1.Notification, retry bool) {
	ready := apimeta.FindStatusCondition(n.Status.Conditions, v1alpha1.ConditionReady)
	switch {
	case n.Spec.Suspend:
		r.condition(n, metav1.ConditionFalse, v1alpha1.ReasonSuspended, "spec.suspend is true: nothing is sent")
	case retry:
		r.condition(n, metav1.ConditionUnknown, v1alpha1.ReasonNotDelivered,
			fmt.Sprintf("message %s about %s is sent again, "+
				"as a user requests", n.Status.Pending.ID, n.Status.Pending.Event))
	case ready != nil && ready.Reason == v1alpha1.ReasonDelivered && ready.ObservedGeneration == n.Generation:
	case ready != nil && n.Status.Pending != nil && ready.ObservedGeneration == n.Generation: // it is sent again
	default:
		r.condition(n, metav1.ConditionUnknown, v1alpha1.ReasonNotDelivered,
			"no message was accepted yet; cairn notify test "+n.Name+" -n "+
				n.Namespace+" sends one")
	}
}

// reject records why nothing is sent.
func (r *Reconciler) reject(
	ctx context.Context, before *v1alpha1.Notification, err *configError, again time.Duration,
) (ctrl.Result, error) {
	after := before.DeepCopy()
	after.Status.ObservedGeneration = after.Generation
	if r.condition(after, metav1.ConditionFalse, err.reason, err.message) {
		r.Events.Eventf(before, nil, corev1.EventTypeWarning, err.reason, "Send", "%s", err.message)
	}
	if err := statuswrite.Patch(ctx, r.Client, before, after); err != nil {
		return statuswrite.Failed(err, next)
	}
	return ctrl.Result{RequeueAfter: again}, nil
}

// condition sets the Ready condition, and reports whether its reason changes.
func (r *Reconciler) condition(n *v1alpha1.Notification, ready metav1.ConditionStatus, reason, text string) bool {
	before := apimeta.FindStatusCondition(n.Status.Conditions, v1alpha1.ConditionReady)
	changes := before == nil || before.Reason != reason
	apimeta.SetStatusCondition(&n.Status.Conditions, metav1.Condition{
		Type: v1alpha1.ConditionReady, Status: ready, Reason: reason, Message: text, ObservedGeneration: n.Generation,
		LastTransitionTime: metav1.Time{Time: r.now()},
	})
	return changes
}

func (r *Reconciler) now() time.Time {
	if r.Clock != nil {
		return r.Clock()
	}
	return time.Now()
}
