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
)

// inputs are the objects of its namespace that a pod refers to, as far as they were found. They are read once each, so that
// all containers of a pod see the same.
type inputs struct {
	mu         sync.Mutex
	secrets    map[string]*corev1.Secret
	configMaps map[string]*corev1.ConfigMap
}

func newInputs() *inputs {
	return &inputs{secrets: map[string]*corev1.Secret{}, configMaps: map[string]*corev1.ConfigMap{}}
}

func (in *inputs) secret(name string, optional *bool) (*corev1.Secret, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if s, ok := in.secrets[name]; ok {
		return s, nil
	}
	if isTrue(optional) {
		return &corev1.Secret{}, nil
	}
	return nil, fmt.Errorf("secret %q not found", name)
}

func (in *inputs) configMap(name string, optional *bool) (*corev1.ConfigMap, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if cm, ok := in.configMaps[name]; ok {
		return cm, nil
	}
	if isTrue(optional) {
		return &corev1.ConfigMap{}, nil
	}
	return nil, fmt.Errorf("configmap %q not found", name)
}

// fetch reads those of the named objects that were not found yet, all at once. One that does not exist is no error here: it
// may be optional.
func (in *inputs) fetch(ctx context.Context, api kubernetes.Interface, namespace string, names references) error {
	var g errgroup.Group
	for name := range names.secrets {
		if _, err := in.secret(name, nil); err == nil {
			continue
		}
		g.Go(func() error {
			s, err := api.CoreV1().Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
			if err == nil {
				in.mu.Lock()
				defer in.mu.Unlock()
				in.secrets[name] = s
			}
			return found(err)
		})
	}
	for name := range names.configMaps {
		if _, err := in.configMap(name, nil); err == nil {
			continue
		}
		g.Go(func() error {
			cm, err := api.CoreV1().ConfigMaps(namespace).Get(ctx, name, metav1.GetOptions{})
			if err == nil {
				in.mu.Lock()
				defer in.mu.Unlock()
				in.configMaps[name] = cm
			}
			return found(err)
		})
	}
	return g.Wait()
}

func found(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// references are the names of Secrets and ConfigMaps.
type references struct {
	secrets, configMaps map[string]bool
}

// referencesOf lists all that a pod refers to in volumes and environments.
func referencesOf(spec *corev1.PodSpec) references {
	r := references{map[string]bool{}, map[string]bool{}}
	for i := range spec.Volumes {
		r.volume(&spec.Volumes[i])
	}
	for _, c := range containersOf(spec) {
		r.environment(c)
	}
	return r
}

func (r references) volume(v *corev1.Volume) {
	if v.Secret != nil {
		r.secrets[v.Secret.SecretName] = true
	}
	if v.ConfigMap != nil {
		r.configMaps[v.ConfigMap.Name] = true
	}
	if v.Projected == nil {
		return
	}
	for _, s := range v.Projected.Sources {
		if s.Secret != nil {
			r.secrets[s.Secret.Name] = true
		}
		if s.ConfigMap != nil {
			r.configMaps[s.ConfigMap.Name] = true
		}
	}
}

func (r references) environment(c *corev1.Container) {
	for _, from := range c.EnvFrom {
		if from.SecretRef != nil {
			r.secrets[from.SecretRef.Name] = true
		}
		if from.ConfigMapRef != nil {
			r.configMaps[from.ConfigMapRef.Name] = true
		}
	}
	for _, e := range c.Env {
		if e.ValueFrom == nil {
			continue
		}
		if ref := e.ValueFrom.SecretKeyRef; ref != nil {
			r.secrets[ref.Name] = true
		}
		if ref := e.ValueFrom.ConfigMapKeyRef; ref != nil {
			r.configMaps[ref.Name] = true
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
