//go:build linux

package node

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// The objects that a cluster starts with.
//
//go:embed objects.yaml
var objects []byte

// disks is the number of PersistentVolumes. A released one cannot be bound again.
const disks = 10

// createObjects creates the objects of objects.yaml and the PersistentVolumes.
func (n *Node) createObjects(ctx context.Context) error {
	all := bytes.NewBuffer(bytes.Clone(objects))
	for i := range disks {
		path := n.path("volumes/" + strconv.Itoa(i+1))
		if err := os.Mkdir(path, 0o755); err != nil { //nolint:gosec // the kubelet sets its group to that of the pod
			return err
		}
		disk, err := json.Marshal(disk(i+1, path))
		if err != nil {
			return err
		}
		fmt.Fprintf(all, "---\n%s\n", disk)
	}
	file := n.path("objects.yaml")
	if err := os.WriteFile(file, all.Bytes(), 0o600); err != nil {
		return err
	}
	_, err := n.Kubectl(ctx, "create", "--validate=false", "--filename", file)
	return err
}

// disk returns a local volume, which supports fsGroup like a cloud's disk and unlike a host path.
func disk(number int, path string) map[string]any {
	type object = map[string]any
	return object{
		"apiVersion": "v1",
		"kind":       "PersistentVolume",
		"metadata":   object{"name": "disk-" + strconv.Itoa(number)},
		"spec": object{
			"storageClassName":              "standard",
			"capacity":                      object{"storage": "10Gi"},
			"accessModes":                   []any{"ReadWriteOnce", "ReadWriteMany"},
			"persistentVolumeReclaimPolicy": "Retain",
			"local":                         object{"path": path},
			"nodeAffinity": object{"required": object{"nodeSelectorTerms": []any{object{"matchExpressions": []any{
				object{"key": "kubernetes.io/hostname", "operator": "In", "values": []any{nodeName}},
			}}}}},
		},
	}
}

// await is the function await, and fails when a component of the node has ended.
func (n *Node) await(ctx context.Context, what string, check func() error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	return await(ctx, what, func() error {
		if err := n.alive(); err != nil {
			cancel(err)
			return err
		}
		return check()
	})
}

func (n *Node) awaitAPIServer(ctx context.Context) error {
	kube, err := rest.HTTPClientFor(n.Config)
	if err != nil {
		return err
	}
	defer kube.CloseIdleConnections()
	return n.await(ctx, "the API server", func() error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, endpoint+"/readyz", nil)
		if err != nil {
			return err
		}
		response, err := kube.Do(request)
		if err != nil {
			return err
		}
		_ = response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return errors.New(response.Status)
		}
		return nil
	})
}

// awaitReady waits until a pod can run and resolve the API server's name.
func (n *Node) awaitReady(ctx context.Context) error {
	kube, err := kubernetes.NewForConfig(n.Config)
	if err != nil {
		return err
	}
	if err := n.await(ctx, "the node to be ready", func() error {
		node, err := kube.CoreV1().Nodes().Get(ctx, nodeName, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, c := range node.Status.Conditions {
			if c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue {
				return fmt.Errorf("%s: %s", c.Reason, c.Message)
			}
		}
		if len(node.Spec.Taints) > 0 {
			return fmt.Errorf("it has the taint %s", node.Spec.Taints[0].Key)
		}
		_, err = kube.CoreV1().ServiceAccounts("default").Get(ctx, "default", metav1.GetOptions{})
		return err
	}); err != nil {
		return err
	}
	dns := net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{Timeout: time.Second}).DialContext(ctx, network, net.JoinHostPort(dnsIP, "53"))
	}}
	return n.await(ctx, "the cluster's DNS", func() error {
		asked, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		_, err := dns.LookupHost(asked, "kubernetes.default.svc.cluster.local.")
		return err
	})
}
