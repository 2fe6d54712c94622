package userhandler

import (
	"cmp"
	"net/http"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/internal/server/httpapi"
	"cairn.dev/cairn/internal/userapi"
)

// mostEvents is how many events of an object are shown.
const mostEvents = 200

// showEvents responds with the events of an object that the user may get.
func (s *API) showEvents(w http.ResponseWriter, r *http.Request, about client.Object) error {
	list := &corev1.EventList{}
	which := client.MatchingFields{"involvedObject.uid": string(about.GetUID())}
	if err := s.Live.List(r.Context(), list, client.InNamespace(about.GetNamespace()), which); err != nil {
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

// eventOf reads an event, of either of Kubernetes' two APIs.
func eventOf(e *corev1.Event) userapi.Event {
	first := cmp.Or(e.FirstTimestamp.Time, e.EventTime.Time, e.CreationTimestamp.Time)
	last := cmp.Or(e.LastTimestamp.Time, first)
	count := max(e.Count, 1)
	if e.Series != nil {
		count = max(count, e.Series.Count)
		last = cmp.Or(e.Series.LastObservedTime.Time, last)
	}
	return userapi.Event{
		Type: cmp.Or(e.Type, corev1.EventTypeNormal), Reason: e.Reason, Message: e.Message,
		Count: count, First: first, Last: last,
	}
}
