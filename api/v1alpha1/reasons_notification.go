package v1alpha1

// Reasons of the Ready condition of a Notification.
const (
	// ReasonDelivered: the destination accepted the last message.
	ReasonDelivered = "Delivered"
	// ReasonNotDelivered: no message was sent since the Notification was created or changed, so nothing is known of the
	// destination. `cairn notify test` sends a message.
	ReasonNotDelivered = "NotDelivered"
	// ReasonDeliveryFailed: the destination does not accept a message. Cairn retries for 24 hours; the message
	// describes the error.
	ReasonDeliveryFailed = "DeliveryFailed"
	// ReasonNamespacesNotAllowed: spec.namespaces is set in a namespace in which it cannot be. Remove it, or create the
	// Notification in the namespace in which Cairn is installed.
	ReasonNamespacesNotAllowed = "NamespacesNotAllowed"
)

// Reasons of events of a Notification.
const (
	// EventMessageSent: the destination accepted a message.
	EventMessageSent = "MessageSent"
	// EventMessageDropped: the destination did not accept a message for 24 hours, and Cairn sends it no longer.
	EventMessageDropped = "MessageDropped"
)

// notificationReasons describes the reasons of this file.
var notificationReasons = []Reason{
	{Name: ReasonDelivered, In: InNotification},
	{Name: ReasonNotDelivered, In: InNotification},
	{Name: ReasonDeliveryFailed, In: InNotification, Severity: SeverityError},
	{Name: ReasonNamespacesNotAllowed, In: InNotification, Severity: SeverityError},
	{Name: EventMessageSent, In: InEvent},
	{Name: EventMessageDropped, In: InEvent, Severity: SeverityWarning},
}
