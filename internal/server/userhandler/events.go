package userhandler

import (
	"cmp"
	"net/http"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/internal/server/httpapi"
	"cairn.dev/cairn/internal/userapi"
)

// mostEvents is how many events of an object are shown.
const mostEvents = 200

// showEvents responds with the events of an object that the user may get.
func (s *API) showEvents(w http.ResponseWriter, r *http.Request, a ask, resource string) error {
	about, err := s.uidOf(a, resource)
	if err != nil {
		return err
	}
	list := &corev1.EventList{}
	which := client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector("involvedObject.uid", about)}
	if err := s.Live.List(r.Context(), list, client.InNamespace(a.Namespace), which); err != nil {
		return err
	}
	events := userapi.Events{Items: []userapi.Event{}}
	for i := range list.Items {
		events.Items = append(events.Items, eventOf(&list.Items[i]))
	}
	slices.SortStableFunc(events.Items, func(a, b userapi.Event) int { return b.Last.Compare(a.Last) })
	events.Items = events.Items[:min(len(events.Items), mostEvents)]
	return httpapi.WriteJSON(w, http.StatusOK, events)
}

// uidOf is the UID of an object of the catalog.
func (s *API) uidOf(a ask, resource string) (string, error) {
	if err := s.filled(); err != nil {
		return "", err
	}
	var o client.Object
	there := false
	switch c := s.Catalog; resource {
	case "stacks":
		found := c.Stacks.Get(a.Namespace, a.Name)
		o, there = found, found != nil
	case "runs":
		found := c.Runs.Get(a.Namespace, a.Name)
		o, there = found, found != nil
	case "repositories":
		found := c.Repositories.Get(a.Namespace, a.Name)
		o, there = found, found != nil
	case "states":
		found := c.States.Get(a.Namespace, a.Name)
		o, there = found, found != nil
	}
	if !there {
		return "", httpapi.Errorf(http.StatusNotFound, "there is no %s in %s of namespace %s", a.Name, resource, a.Namespace)
	}
	return string(o.GetUID()), nil
}

// eventOf reads an event, of either of Kubernetes' two APIs.
func eventOf(e *corev1.Event) userapi.Event {
	first := firstTime(e.FirstTimestamp.Time, e.EventTime.Time, e.CreationTimestamp.Time)
	last := firstTime(e.LastTimestamp.Time, first)
	count := max(e.Count, 1)
	if e.Series != nil {
		count = max(count, e.Series.Count)
		last = firstTime(e.Series.LastObservedTime.Time, last)
	}
	return userapi.Event{Type: cmp.Or(e.Type, corev1.EventTypeNormal), Reason: e.Reason, Message: e.Message, Count: count, First: first, Last: last}
}

// firstTime is the first that is one.
func firstTime(times ...time.Time) time.Time {
	for _, t := range times {
		if !t.IsZero() {
			return t
		}
	}
	return time.Time{}
}
