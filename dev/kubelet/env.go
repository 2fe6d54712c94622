package kubelet

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// environ is the environment that a container's spec asks for, before paths are rewritten. The errors are those of a
// real kubelet, word by word: users search for them.
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
	var of reference
	var optional *bool
	switch {
	case from.ConfigMapRef != nil:
		of, optional = reference{configMap, from.ConfigMapRef.Name}, from.ConfigMapRef.Optional
	case from.SecretRef != nil:
		of, optional = reference{secret, from.SecretRef.Name}, from.SecretRef.Optional
	default:
		return nil
	}
	c, err := in.get(of, optional)
	for k, v := range c.data {
		vars[from.Prefix+k] = string(v)
	}
	return err
}

// valueOf is the value of one variable; ok is false when its source is optional and does not exist.
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
		return keyOf(pod, in, reference{configMap, ref.Name}, "ConfigMap", ref.Key, ref.Optional)
	case from.SecretKeyRef != nil:
		ref := from.SecretKeyRef
		return keyOf(pod, in, reference{secret, ref.Name}, "Secret", ref.Key, ref.Optional)
	}
	return "", false, fmt.Errorf("variable %s has a source that the kubelet of cairn dev does not know", e.Name)
}

// keyOf is the value of a key of an object, whose kind messages write so.
func keyOf(
	pod *corev1.Pod, in *inputs, of reference, kind, key string, optional *bool,
) (value string, ok bool, err error) {
	c, err := in.get(of, optional)
	if err != nil {
		return "", false, err
	}
	data, ok := c.data[key]
	if !ok && !ptr.Deref(optional, false) {
		return "", false, fmt.Errorf("couldn't find key %v in %s %v/%v", key, kind, pod.Namespace, of.name)
	}
	return string(data), ok, nil
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
