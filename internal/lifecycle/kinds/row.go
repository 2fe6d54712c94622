package kinds

import (
	"time"
	"unique"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/userapi"
)

// ObjectOf returns the fields that all rows have.
func ObjectOf(o client.Object) userapi.Object {
	return userapi.Object{
		Namespace: intern(o.GetNamespace()), Name: o.GetName(), UID: string(o.GetUID()),
		Created: o.GetCreationTimestamp().Time,
	}
}

// intern uses one string for all rows that have it.
func intern(text string) string { return unique.Make(text).Value() }

// at ranks by a time, of which there may be none.
func at(t *time.Time) Rank {
	if t == nil || t.IsZero() {
		return Rank{}
	}
	return Rank{Number: t.UnixNano()}
}

// when copies a time: a pointer to that of an object would keep the object.
func when(t *metav1.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	at := t.Time
	return &at
}

// ready is the Ready condition; Unknown as long as there is none.
func ready(conditions []metav1.Condition) metav1.Condition {
	if c := apimeta.FindStatusCondition(conditions, v1alpha1.ConditionReady); c != nil {
		return *c
	}
	return metav1.Condition{Status: metav1.ConditionUnknown}
}

// newReason is shown of objects that have no condition yet.
const newReason = "New"
