package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Notification sends messages about Stacks to a chat or to a webhook: which plans wait for an approval, what failed,
// which resources drifted.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:categories=cairn
// +kubebuilder:printcolumn:name="Type",type=string,JSONPath=`.spec.destination.type`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
type Notification struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec declares which messages are sent, and where.
	Spec NotificationSpec `json:"spec"`
	// Status reports what was sent. observedGeneration is -1 until an operator reconciles the Notification.
	// +kubebuilder:default={"observedGeneration":-1}
	// +structType=atomic
	// +optional
	Status NotificationStatus `json:"status,omitempty"`
}

// NotificationList is a list of Notifications.
//
// +kubebuilder:object:root=true
type NotificationList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Notification `json:"items"`
}

// NotificationSpec declares which messages are sent, and where.
type NotificationSpec struct {
	// Namespaces are the namespaces whose Stacks the messages are about: names, or patterns in which * stands for any
	// characters. Only a Notification in the namespace in which Cairn is installed can set it. At most 100. Default:
	// the namespace of the Notification. Example: ["team-a-*"].
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9*-]+$`
	// +listType=set
	// +optional
	Namespaces []string `json:"namespaces,omitempty"`

	// StackSelector selects Stacks by their labels. {} selects all of them. Example: {matchLabels: {team: payments}}.
	// +kubebuilder:validation:XValidation:rule="!has(self.matchExpressions) || self.matchExpressions.all(e, e.operator in ['In', 'NotIn'] ? has(e.values) && size(e.values) > 0 : e.operator in ['Exists', 'DoesNotExist'] && (!has(e.values) || size(e.values) == 0))",message="operator must be In or NotIn with values, or Exists or DoesNotExist without values"
	// +kubebuilder:default={}
	StackSelector metav1.LabelSelector `json:"stackSelector,omitempty"`

	// Events are what messages are sent about. Default: ApprovalNeeded, Failed, Recovered, DriftFound, DriftGone,
	// MassDrift and Contended.
	// +kubebuilder:default={"ApprovalNeeded","Failed","Recovered","DriftFound","DriftGone","MassDrift","Contended"}
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=9
	// +kubebuilder:validation:items:Enum=ApprovalNeeded;Failed;Recovered;DriftFound;DriftGone;MassDrift;Contended;Applied;Destroyed
	// +listType=set
	// +optional
	Events []NotificationEvent `json:"events,omitempty"`

	// Destination is where the messages are sent.
	Destination NotificationDestination `json:"destination"`

	// GroupWait is the time from the first event until a message about it is sent. Events of the same kind until then
	// are in the same message. At most 1h. Default: 30s.
	// +kubebuilder:default="30s"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s') && duration(self) <= duration('1h')",message="must be at least 0s and at most 1h"
	// +optional
	GroupWait *metav1.Duration `json:"groupWait,omitempty"`

	// DriftInterval is the shortest time between two messages about drift; each of them is about all drift that was
	// found or has gone since the one before. At least 1m and at most 168h. Default: 1h.
	// +kubebuilder:default="1h"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1m') && duration(self) <= duration('168h')",message="must be at least 1m and at most 168h"
	// +optional
	DriftInterval *metav1.Duration `json:"driftInterval,omitempty"`

	// Suspend stops sending. What happens meanwhile is sent once it is false again, if it is still so. Default: false.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
}

// NotificationEvent is what a message is about.
type NotificationEvent string

// What messages are about.
const (
	// NotifyApprovalNeeded: a plan waits for an approval.
	NotifyApprovalNeeded NotificationEvent = "ApprovalNeeded"
	// NotifyFailed: the Stack is not Ready, for a reason whose severity is error. Its next failure with the same reason
	// and the same inputs is not sent before it recovers.
	NotifyFailed NotificationEvent = "Failed"
	// NotifyRecovered: a Stack that failed is Ready.
	NotifyRecovered NotificationEvent = "Recovered"
	// NotifyDriftFound: a drift check found that resources differ from what was applied.
	NotifyDriftFound NotificationEvent = "DriftFound"
	// NotifyDriftGone: the drift is corrected, or has gone.
	NotifyDriftGone NotificationEvent = "DriftGone"
	// NotifyMassDrift: an unusual number of Stacks of a namespace began to drift within an hour, so no drift is
	// corrected there. All Notifications that are about the namespace send it, whatever Stacks they select.
	NotifyMassDrift NotificationEvent = "MassDrift"
	// NotifyContended: another writer and Cairn change the resources of the Stack in turns.
	NotifyContended NotificationEvent = "Contended"
	// NotifyApplied: an apply succeeded.
	NotifyApplied NotificationEvent = "Applied"
	// NotifyDestroyed: a destroy that a user requested succeeded, and the Stack exists still.
	NotifyDestroyed NotificationEvent = "Destroyed"
	// NotifyTest: a user requested a test. No spec can name it.
	NotifyTest NotificationEvent = "Test"
)

// NotificationDestination is where messages are sent.
type NotificationDestination struct {
	// Type is the format of the messages. Slack: for an incoming webhook of Slack, or of a chat that accepts the same
	// format. Teams: for the trigger "When a Teams webhook request is received" of a workflow. Webhook: CloudEvents in
	// JSON, signed as the specification "Standard Webhooks" requires.
	// +kubebuilder:validation:Enum=Slack;Teams;Webhook
	Type DestinationType `json:"type"`

	// Secret is a Secret in the same namespace with the address in url. For a Webhook it also has key, with which
	// requests are signed: at least 24 bytes, or whsec_ and base64. While it is changed, previousKey is the one before;
	// requests are signed with both. ca.crt has certificates that sign that of the server, in PEM.
	Secret ObjectRef `json:"secret"`
}

// DestinationType is the format of messages.
type DestinationType string

// Formats of messages.
const (
	DestinationSlack   DestinationType = "Slack"
	DestinationTeams   DestinationType = "Teams"
	DestinationWebhook DestinationType = "Webhook"
)

// NotificationStatus reports what was sent.
type NotificationStatus struct {
	// Conditions are the latest observations. Ready is False while the destination accepts no messages, or the
	// Notification has to be corrected.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// ObservedGeneration is the generation of the spec that the status describes. -1 until an operator reconciles the
	// Notification.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Pending is the message that is being sent. The events of it are in reported. Unset if there is none.
	// +optional
	Pending *PendingMessage `json:"pending,omitempty"`

	// Reported are the events that the destination has messages about, or that pending is about, as long as they are
	// true; of applies and destroys those after reportedUntil. At most 2000; further ones are not sent before there are
	// fewer.
	// +listType=atomic
	// +optional
	Reported []ReportedEvent `json:"reported,omitempty"`

	// ReportedUntil is the time until which messages about all applies and destroys were sent.
	// +optional
	ReportedUntil *metav1.Time `json:"reportedUntil,omitempty"`

	// DriftReportedAt is the time of the last message about drift.
	// +optional
	DriftReportedAt *metav1.Time `json:"driftReportedAt,omitempty"`

	// Deliveries are the last messages, newest first. At most 10.
	// +listType=atomic
	// +optional
	Deliveries []Delivery `json:"deliveries,omitempty"`

	// LastHandledRequest is the last request for a test (annotation cairn.dev/requested-at) whose message is sent, or
	// is in pending. A message that was in pending already is sent again at once, in place of a test.
	// +optional
	LastHandledRequest *HandledRequest `json:"lastHandledRequest,omitempty"`
}

// PendingMessage is a message that is being sent, until the destination accepts it.
type PendingMessage struct {
	// ID identifies the message. It is the same each time that the message is sent. Example: 6f1c....
	ID string `json:"id"`
	// Event is what the message is about.
	Event NotificationEvent `json:"event"`
	// Since is the time from which on it is sent. Cairn drops it after 24 hours.
	Since metav1.Time `json:"since"`
}

// ReportedEvent is an event of a Stack that the destination has a message about.
type ReportedEvent struct {
	// Stack is the name of the Stack, as namespace/name if it is in another namespace. Without a name the event is one
	// of the namespace. Example: net.
	Stack string `json:"stack"`
	// UID is the UID of the Stack, or of the DriftPause of the namespace. It distinguishes the Stack from another one
	// with the same name.
	UID types.UID `json:"uid,omitempty"`
	// Event is what happened.
	Event NotificationEvent `json:"event"`
	// Key distinguishes the event from others of the same kind of the Stack: a Run, or what failed with which inputs.
	Key string `json:"key"`
	// Pending reports that the event belongs to the message in pending.
	// +optional
	Pending bool `json:"pending,omitempty"`
	// Reason, Run and Message are those of the Stack when the event was observed. They are unset once the message is
	// sent, and the message is unset in all but the first 20 events of one.
	// +optional
	Reason string `json:"reason,omitempty"`
	// Run is the name of the Run. Example: net-7.
	// +optional
	Run string `json:"run,omitempty"`
	// Message describes the event.
	// +optional
	Message string `json:"message,omitempty"`
	// At is the time of the event; only of applies and destroys.
	// +optional
	At *metav1.Time `json:"at,omitempty"`
}

// Delivery is a message that was sent, or that Cairn dropped.
type Delivery struct {
	// ID identifies the message. Example: 6f1c....
	ID string `json:"id"`
	// Event is what the message is about.
	Event NotificationEvent `json:"event"`
	// Stacks is the number of Stacks that it is about.
	Stacks int32 `json:"stacks"`
	// Time is when the destination accepted it, or Cairn dropped it.
	Time metav1.Time `json:"time"`
	// Failure is why Cairn dropped it. Unset if the message was accepted.
	// +optional
	Failure string `json:"failure,omitempty"`
}
