package kubelet

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// environ is the environment that a container's spec asks for, before paths are rewritten. The errors are those of a real
// kubelet, word by word: people search for them.
func environ(pod *corev1.Pod, c *corev1.Container, in *inputs) (map[string]string, error) {
	vars := map[string]string{}
	for _, from := range c.EnvFrom {
		if err := addAll(vars, from, in); err != nil {
			return nil, err
		}
	}
	for _, e := range c.Env {
		value, ok, err := valueOf(pod, e, in, vars)
		if err != nil {
			return nil, err
		}
		if ok {
			vars[e.Name] = value
		}
	}
	return vars, nil
}

// addAll adds each key of a ConfigMap or Secret.
func addAll(vars map[string]string, from corev1.EnvFromSource, in *inputs) error {
	switch {
	case from.ConfigMapRef != nil:
		cm, err := in.configMap(from.ConfigMapRef.Name, from.ConfigMapRef.Optional)
		if err != nil {
			return err
		}
		for k, v := range cm.Data {
			vars[from.Prefix+k] = v
		}
	case from.SecretRef != nil:
		s, err := in.secret(from.SecretRef.Name, from.SecretRef.Optional)
		if err != nil {
			return err
		}
		for k, v := range s.Data {
			vars[from.Prefix+k] = string(v)
		}
	}
	return nil
}

// valueOf is the value of one variable; ok is false when it comes from something optional that is not there.
func valueOf(pod *corev1.Pod, e corev1.EnvVar, in *inputs, vars map[string]string) (value string, ok bool, err error) {
	switch from := e.ValueFrom; {
	case from == nil:
		return expand(e.Value, vars), true, nil
	case from.FieldRef != nil:
		value, ok := field(pod, from.FieldRef.FieldPath)
		if !ok {
			return "", false, fmt.Errorf("unsupported fieldPath: %v", from.FieldRef.FieldPath)
		}
		return value, true, nil
	case from.ConfigMapKeyRef != nil:
		ref := from.ConfigMapKeyRef
		cm, err := in.configMap(ref.Name, ref.Optional)
		if err != nil {
			return "", false, err
		}
		value, ok := cm.Data[ref.Key]
		if !ok && !isTrue(ref.Optional) {
			return "", false, fmt.Errorf("couldn't find key %v in ConfigMap %v/%v", ref.Key, pod.Namespace, ref.Name)
		}
		return value, ok, nil
	case from.SecretKeyRef != nil:
		ref := from.SecretKeyRef
		s, err := in.secret(ref.Name, ref.Optional)
		if err != nil {
			return "", false, err
		}
		value, ok := s.Data[ref.Key]
		if !ok && !isTrue(ref.Optional) {
			return "", false, fmt.Errorf("couldn't find key %v in Secret %v/%v", ref.Key, pod.Namespace, ref.Name)
		}
		return string(value), ok, nil
	}
	return "", false, fmt.Errorf("variable %s has a source that the kubelet of cairn dev does not know", e.Name)
}

// field reads a field of the pod that the downward API offers.
func field(pod *corev1.Pod, path string) (string, bool) {
	switch path {
	case "metadata.name":
		return pod.Name, true
	case "metadata.namespace":
		return pod.Namespace, true
	case "metadata.uid":
		return string(pod.UID), true
	case "spec.nodeName":
		return pod.Spec.NodeName, true
	case "spec.serviceAccountName":
		return pod.Spec.ServiceAccountName, true
	case "status.podIP", "status.hostIP":
		return address, true
	}
	return "", false
}

func isTrue(b *bool) bool { return b != nil && *b }
