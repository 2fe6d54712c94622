package kubelet

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// register makes the node, or takes up that of an earlier kubelet, and says once that it is ready. No lease and no
// heartbeat follow: there is no controller that would miss them.
func (k *Kubelet) register(ctx context.Context, port int32) error {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: k.o.NodeName,
		Labels: map[string]string{
			corev1.LabelHostname:   k.o.NodeName,
			corev1.LabelOSStable:   runtime.GOOS,
			corev1.LabelArchStable: runtime.GOARCH,
		},
	}}
	nodes := k.api.CoreV1().Nodes()
	if _, err := nodes.Create(ctx, node, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("register node %s: %w", k.o.NodeName, err)
	}
	patch, err := json.Marshal(map[string]any{"status": nodeStatus(k.o.NodeName, port, metav1.Now())})
	if err != nil {
		return fmt.Errorf("register node %s: %w", k.o.NodeName, err)
	}
	if _, err := nodes.Patch(ctx, k.o.NodeName, types.MergePatchType, patch, metav1.PatchOptions{},
		"status"); err != nil {
		return fmt.Errorf("register node %s: %w", k.o.NodeName, err)
	}
	return nil
}

func nodeStatus(name string, port int32, now metav1.Time) corev1.NodeStatus {
	capacity := corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewQuantity(int64(runtime.NumCPU()), resource.DecimalSI),
		corev1.ResourceMemory: resource.MustParse("16Gi"), // nothing is scheduled by it
		corev1.ResourcePods:   resource.MustParse("1000"),
	}
	return corev1.NodeStatus{
		Capacity:    capacity,
		Allocatable: capacity,
		Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: address},
			{Type: corev1.NodeHostName, Address: name}},
		DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: port}},
		NodeInfo: corev1.NodeSystemInfo{
			OperatingSystem: runtime.GOOS, Architecture: runtime.GOARCH,
			KubeletVersion: "cairn-dev", ContainerRuntimeVersion: "process://1", OSImage: "this machine",
		},
		Conditions: []corev1.NodeCondition{{
			Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady",
			Message:           "pods are processes of this machine",
			LastHeartbeatTime: now, LastTransitionTime: now,
		}},
	}
}
