package kubelet

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// bind takes the pod for this node, and meanwhile reads what it will need. It returns false when another node has it.
func (p *pod) bind() bool {
	var warming sync.WaitGroup
	warming.Go(func() {
		// Only a start: what is not found here, or not at all, is for mount to find out.
		_ = p.inputs.fetch(p.term, p.k.api, p.obj.Namespace, referencesOf(&p.obj.Spec))
	})
	defer warming.Wait()

	binding := &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.obj.Namespace, Name: p.obj.Name, UID: p.obj.UID},
		Target:     corev1.ObjectReference{Kind: "Node", Name: p.k.o.NodeName},
	}
	bound := false
	retry(p.term, 10*time.Second, func() (done bool) {
		err := p.k.api.CoreV1().Pods(p.obj.Namespace).Bind(p.term, binding, metav1.CreateOptions{})
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) && p.term.Err() == nil {
			p.log.Error(err, "Bind the pod")
			return false
		}
		bound = err == nil
		return true
	})
	return bound
}

// remove deletes the pod for good, which only its node may do.
func (p *pod) remove(ctx context.Context) {
	var now int64
	options := metav1.DeleteOptions{GracePeriodSeconds: &now, Preconditions: &metav1.Preconditions{UID: &p.obj.UID}}
	retry(ctx, 10*time.Second, func() (done bool) {
		err := p.k.api.CoreV1().Pods(p.obj.Namespace).Delete(ctx, p.obj.Name, options)
		if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
			return true
		}
		p.log.Error(err, "Delete the pod after its end")
		return ctx.Err() != nil || p.k.drained()
	})
}
