package kubelet

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// report is what is to be written as a pod's status.
type report struct {
	observed observed
	at       metav1.Time
	urgency  urgency
}

// urgency says whether a status is written as soon as possible, or only if it stays.
type urgency bool

const (
	urgent urgency = true
	lazy   urgency = false
)

// soon is how long a status has to stay that is not urgent.
const soon = 500 * time.Millisecond

// mailbox holds the newest report until it is taken. Only one goroutine at a time may put, and none after close.
type mailbox chan report

func (m mailbox) put(r report) {
	select {
	case older := <-m:
		r.urgency = r.urgency || older.urgency
	default:
	}
	m <- r
}

// write writes the status of the pod beside all else that happens to it, until the mailbox is closed: always the
// newest, one at a time, and none that changes nothing.
func (p *pod) write(ctx context.Context) {
	written := p.obj.Status
	for r := range p.reports {
		if r.urgency == lazy {
			select {
			case newer, open := <-p.reports:
				if open {
					r = newer
				}
			case <-time.After(soon):
			}
		}
		status := statusOf(p.obj, r.observed, written.Conditions, r.at)
		if equality.Semantic.DeepEqual(status, written) {
			continue
		}
		written = status
		retry(ctx, 5*time.Second, func() (done bool) {
			err := p.patch(ctx, status)
			if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) || ctx.Err() != nil {
				return true
			}
			p.log.Error(err, "Write the pod's status")
			return len(p.reports) > 0 // a newer one says more
		})
	}
}

// patch writes a status to the pod of that UID: to another one of its name it is a conflict.
func (p *pod) patch(ctx context.Context, status corev1.PodStatus) error {
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": p.obj.UID}, "status": status})
	if err != nil {
		return fmt.Errorf("encode status: %w", err)
	}
	_, err = p.k.api.CoreV1().Pods(p.obj.Namespace).Patch(ctx, p.obj.Name, types.StrategicMergePatchType, body,
		metav1.PatchOptions{}, "status")
	return err
}
