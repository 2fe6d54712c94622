package kubelet

import (
	"context"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
)

// inputs are the objects of its namespace that a pod refers to, as far as they were found. They are read once each, so
// that all containers of a pod see the same.
type inputs struct {
	mu    sync.Mutex
	found map[reference]content
}

// reference names an object: its kind, as a real kubelet writes it, and its name.
type reference struct{ kind, name string }

// Kinds of objects.
const (
	secret    = "secret"
	configMap = "configmap"
)

// content of an object. The binary data of a ConfigMap is for volumes only.
type content struct{ data, binary map[string][]byte }

func newInputs() *inputs { return &inputs{found: map[reference]content{}} }

// get returns an object, or an empty one that is optional.
func (in *inputs) get(of reference, optional *bool) (content, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	c, ok := in.found[of]
	if !ok && !ptr.Deref(optional, false) {
		return c, fmt.Errorf("%s %q not found", of.kind, of.name)
	}
	return c, nil
}

// fetch reads those of the named objects that were not found yet, all at once. One that does not exist is no error
// here: it may be optional.
func (in *inputs) fetch(ctx context.Context, api kubernetes.Interface, namespace string, names references) error {
	var g errgroup.Group
	for of := range names {
		if _, err := in.get(of, nil); err == nil {
			continue
		}
		g.Go(func() error {
			c, err := of.read(ctx, api, namespace)
			if err == nil {
				in.mu.Lock()
				defer in.mu.Unlock()
				in.found[of] = c
			}
			return found(err)
		})
	}
	return g.Wait()
}

func (of reference) read(ctx context.Context, api kubernetes.Interface, namespace string) (content, error) {
	if of.kind == secret {
		s, err := api.CoreV1().Secrets(namespace).Get(ctx, of.name, metav1.GetOptions{})
		if err != nil {
			return content{}, err
		}
		return content{data: s.Data}, nil
	}
	cm, err := api.CoreV1().ConfigMaps(namespace).Get(ctx, of.name, metav1.GetOptions{})
	if err != nil {
		return content{}, err
	}
	c := content{data: map[string][]byte{}, binary: cm.BinaryData}
	for k, v := range cm.Data {
		c.data[k] = []byte(v)
	}
	return c, nil
}

func found(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// references are names of Secrets and ConfigMaps.
type references map[reference]bool

// referencesOf lists all that a pod refers to in volumes and environments.
func referencesOf(spec *corev1.PodSpec) references {
	r := references{}
	for i := range spec.Volumes {
		r.volume(&spec.Volumes[i])
	}
	for _, c := range containersOf(spec) {
		r.environment(c)
	}
	return r
}

func (r references) add(kind, name string) { r[reference{kind, name}] = true }

func (r references) volume(v *corev1.Volume) {
	if v.Secret != nil {
		r.add(secret, v.Secret.SecretName)
	}
	if v.ConfigMap != nil {
		r.add(configMap, v.ConfigMap.Name)
	}
	if v.Projected == nil {
		return
	}
	for _, s := range v.Projected.Sources {
		if s.Secret != nil {
			r.add(secret, s.Secret.Name)
		}
		if s.ConfigMap != nil {
			r.add(configMap, s.ConfigMap.Name)
		}
	}
}

func (r references) environment(c *corev1.Container) {
	for _, from := range c.EnvFrom {
		if from.SecretRef != nil {
			r.add(secret, from.SecretRef.Name)
		}
		if from.ConfigMapRef != nil {
			r.add(configMap, from.ConfigMapRef.Name)
		}
	}
	for _, e := range c.Env {
		if e.ValueFrom == nil {
			continue
		}
		if ref := e.ValueFrom.SecretKeyRef; ref != nil {
			r.add(secret, ref.Name)
		}
		if ref := e.ValueFrom.ConfigMapKeyRef; ref != nil {
			r.add(configMap, ref.Name)
		}
	}
}

// containersOf lists init containers and containers, in the order they are started.
func containersOf(spec *corev1.PodSpec) []*corev1.Container {
	var list []*corev1.Container
	for i := range spec.InitContainers {
		list = append(list, &spec.InitContainers[i])
	}
	for i := range spec.Containers {
		list = append(list, &spec.Containers[i])
	}
	return list
}
