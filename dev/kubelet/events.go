package kubelet

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// warn writes an Event about the pod, unless the last one of that reason said the same. Success has no event: the
// status reports it, and each event is a write.
func (p *pod) warn(ctx context.Context, reason, message string) {
	p.mu.Lock()
	same := p.warned[reason] == message
	p.warned[reason] = message
	p.mu.Unlock()
	if same {
		return
	}
	at := time.Now()
	event := &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.obj.Namespace,
			Name: fmt.Sprintf("%s.%x", p.obj.Name, at.UnixNano())},
		InvolvedObject: corev1.ObjectReference{
			APIVersion: "v1", Kind: "Pod", Namespace: p.obj.Namespace, Name: p.obj.Name, UID: p.obj.UID,
		},
		Type: corev1.EventTypeWarning, Reason: reason, Message: message, Count: 1,
		FirstTimestamp: metav1.NewTime(at), LastTimestamp: metav1.NewTime(at),
		Source: corev1.EventSource{Component: UserAgent, Host: p.k.o.NodeName},
	}
	if _, err := p.k.api.CoreV1().Events(p.obj.Namespace).Create(ctx, event, metav1.CreateOptions{}); err != nil {
		p.log.Error(err, "Write an event", "reason", reason)
	}
}
