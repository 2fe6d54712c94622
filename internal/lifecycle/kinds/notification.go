package kinds

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/userapi"
)

// Notifications are listed by name.
var Notifications = &Type[v1alpha1.Notification, userapi.Notification]{
	Name: Name{Kind: "Notification", Plural: "Notifications"},
	List: func() client.ObjectList { return &v1alpha1.NotificationList{} },
	Row:  notification,
	Query: List[userapi.Notification]{
		Name:    func(n *userapi.Notification) (string, string) { return n.Namespace, n.Name },
		Default: "name",
		Sorts: map[string]func(*userapi.Notification) Rank{
			"name":    func(n *userapi.Notification) Rank { return Rank{Text: n.Name} },
			"created": func(n *userapi.Notification) Rank { return at(&n.Created) },
			"changed": func(n *userapi.Notification) Rank { return at(n.Changed) },
			"sent":    func(n *userapi.Notification) Rank { return at(n.Sent) },
		},
		Filters: map[string]func(*userapi.Notification) string{
			"namespace":   func(n *userapi.Notification) string { return n.Namespace },
			"ready":       func(n *userapi.Notification) string { return n.Ready },
			"reason":      func(n *userapi.Notification) string { return n.Reason },
			"destination": func(n *userapi.Notification) string { return n.Destination },
			"suspended":   func(n *userapi.Notification) string { return strconv.FormatBool(n.Suspended) },
		},
		Words: func(n *userapi.Notification) []string {
			return append([]string{n.Namespace + "/" + n.Name, n.Selector, n.Message}, n.Events...)
		},
	},
	Columns: []string{"Name", "Ready", "Reason", "To", "Stacks", "Sent", "Age", "+Events", "+Reported", MessageColumn},
	Cells: func(n *v1alpha1.Notification, age Age) []any {
		row := notification(n)
		var sent time.Time
		if row.Sent != nil {
			sent = *row.Sent
		}
		return []any{
			n.Name, row.Ready, cmp.Or(row.Reason, newReason), row.Destination, cmp.Or(row.Selector, "all"), age(sent),
			age(n.CreationTimestamp.Time), strings.Join(row.Events, ","), row.Reported, row.Message,
		}
	},
	Conditions: func(n *v1alpha1.Notification) []metav1.Condition { return n.Status.Conditions },
}

// The server lists and shows them, and the operator counts them.
//
// +kubebuilder:rbac:roleName=server,groups=cairn.dev,resources=notifications,verbs=get;list;watch
// +kubebuilder:rbac:roleName=operator,groups=cairn.dev,resources=notifications,verbs=list;watch

func notification(n *v1alpha1.Notification) userapi.Notification {
	is := ready(n.Status.Conditions)
	row := userapi.Notification{
		Object: ObjectOf(n), Ready: intern(string(is.Status)), Reason: intern(is.Reason), Message: intern(is.Message),
		Changed: when(&is.LastTransitionTime), Destination: intern(string(n.Spec.Destination.Type)),
		Selector: selectorText(&n.Spec.StackSelector), Suspended: n.Spec.Suspend, Deleted: n.DeletionTimestamp != nil,
	}
	for _, e := range n.Spec.Events {
		row.Events = append(row.Events, string(e))
	}
	for _, r := range n.Status.Reported {
		if !r.Pending {
			row.Reported++
		}
	}
	for _, d := range n.Status.Deliveries {
		if d.Failure == "" {
			row.Sent = when(&d.Time)
			break
		}
	}
	return row
}
