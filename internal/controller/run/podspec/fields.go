package podspec

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// A template can set the fields that are listed here. It cannot set a field that a later version of Kubernetes adds,
// until that is listed: TestFieldsOfTemplatesAreListed fails for it. A field that lets a container see the processes,
// the memory or the files of another one is in no list: a sidecar starts before the runner, and would send the first
// request with the runner's token.

// podFields are the fields of a pod's spec. New checks the values of those that an installation decides on.
var podFields = []string{
	"affinity", "automountServiceAccountToken", "containers", "dnsConfig", "dnsPolicy", "enableServiceLinks",
	"hostAliases", "hostNetwork", "hostUsers", "hostname", "imagePullSecrets", "initContainers", "nodeSelector",
	"overhead", "preemptionPolicy", "priority", "priorityClassName", "readinessGates", "resources",
	"runtimeClassName", "schedulerName", "schedulingGates", "securityContext", "setHostnameAsFQDN", "subdomain",
	"terminationGracePeriodSeconds", "tolerations", "topologySpreadConstraints", "volumes",
}

// ownPodFields are the fields of a pod's spec that are Cairn's own, whatever the installation allows, and why or what
// is instead.
var ownPodFields = map[string]string{
	"activeDeadlineSeconds": "set spec.timeout of the Stack",
	"ephemeralContainers":   "they come with kubectl debug only",
	"evictionResponders":    "an apply is not moved",
	"hostIPC":               "other containers would have access to the memory of the runner",
	"hostPID":               "other containers would have access to the token of the runner",
	"hostnameOverride":      "set hostname",
	"nodeName":              "choose nodes by nodeSelector, affinity and tolerations",
	"os":                    "runners are for Linux",
	"resourceClaims":        "no quota of the namespace limits devices for users who cannot create pods",
	"restartPolicy":         "a retry is a new pod",
	"schedulingGroup":       "the pod of a Run is scheduled alone",
	"serviceAccount":        "set spec.runner.serviceAccountName of the Stack",
	"serviceAccountName":    "set spec.runner.serviceAccountName of the Stack",
	"shareProcessNamespace": "other containers would have access to the token of the runner",
}

// partFields are the fields of parts of a pod, by their type. The fields of other types are all allowed. ownsEngine has
// those of the container with the engine.
var partFields = map[reflect.Type][]string{
	reflect.TypeFor[corev1.Container](): {
		"args", "command", "env", "envFrom", "image", "imagePullPolicy", "lifecycle", "livenessProbe", "name", "ports",
		"readinessProbe", "resizePolicy", "resources", "restartPolicy", "restartPolicyRules", "securityContext",
		"startupProbe", "stdin", "stdinOnce", "terminationMessagePath", "terminationMessagePolicy", "tty",
		"volumeDevices", "volumeMounts", "workingDir",
	},
	reflect.TypeFor[corev1.EnvVarSource](): {
		"configMapKeyRef", "fieldRef", "fileKeyRef", "resourceFieldRef", "secretKeyRef",
	},
	reflect.TypeFor[corev1.ResourceRequirements](): {"limits", "requests"},
	reflect.TypeFor[corev1.PodSecurityContext](): {
		"appArmorProfile", "fsGroup", "fsGroupChangePolicy", "runAsGroup", "runAsNonRoot", "runAsUser",
		"seLinuxChangePolicy", "seLinuxOptions", "seccompProfile", "supplementalGroups", "supplementalGroupsPolicy",
		"sysctls",
	},
	reflect.TypeFor[corev1.SecurityContext](): {
		"allowPrivilegeEscalation", "appArmorProfile", "capabilities", "privileged", "procMount",
		"readOnlyRootFilesystem", "runAsGroup", "runAsNonRoot", "runAsUser", "seLinuxOptions", "seccompProfile",
	},
	reflect.TypeFor[corev1.VolumeMount](): {
		"mountPath", "mountPropagation", "name", "readOnly", "recursiveReadOnly", "subPath", "subPathExpr",
	},
	reflect.TypeFor[corev1.VolumeProjection](): {
		"clusterTrustBundle", "configMap", "downwardAPI", "podCertificate", "secret", "serviceAccountToken",
	},
	reflect.TypeFor[corev1.VolumeSource](): {
		"awsElasticBlockStore", "azureDisk", "azureFile", "cephfs", "cinder", "configMap", "csi", "downwardAPI",
		"emptyDir", "ephemeral", "fc", "flexVolume", "flocker", "gcePersistentDisk", "glusterfs", "hostPath", "image",
		"iscsi", "nfs", "persistentVolumeClaim", "photonPersistentDisk", "portworxVolume", "projected", "quobyte",
		"rbd", "scaleIO", "secret", "storageos", "vsphereVolume",
	},
}

// ownsPod: the fields of a pod's spec that are not for a template.
func ownsPod(was, is *corev1.PodTemplateSpec) string {
	for _, field := range differing(was.Spec, is.Spec) {
		if slices.Contains(podFields, field) {
			continue
		}
		if why := ownPodFields[field]; why != "" {
			return fmt.Sprintf("spec.%s is Cairn's own: %s", field, why)
		}
		return unlisted("spec." + field)
	}
	if grace := is.Spec.TerminationGracePeriodSeconds; grace == nil || *grace < gracePeriod {
		return fmt.Sprintf("spec.terminationGracePeriodSeconds may not be less than %d: an engine that is "+
			"interrupted needs time to save its state", gracePeriod)
	}
	return ""
}

// ownsParts: the fields of its parts that are not for a template.
func ownsParts(_, is *corev1.PodTemplateSpec) string {
	return unlistedPart(reflect.ValueOf(is.Spec), "spec")
}

// unlistedPart returns which field at a path or below it has a value and is not in partFields.
func unlistedPart(v reflect.Value, path string) string {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			return unlistedPart(v.Elem(), path)
		}
	case reflect.Slice:
		for i := range v.Len() {
			if why := unlistedPart(v.Index(i), fmt.Sprintf("%s[%d]", path, i)); why != "" {
				return why
			}
		}
	case reflect.Struct:
		listed, limited := partFields[v.Type()]
		for i := range v.NumField() {
			field, at := v.Type().Field(i), path
			if !field.IsExported() || v.Field(i).IsZero() {
				continue
			}
			if name := jsonName(field); name != "" {
				if at += "." + name; limited && !slices.Contains(listed, name) {
					return unlisted(at)
				}
			}
			if why := unlistedPart(v.Field(i), at); why != "" {
				return why
			}
		}
	default:
	}
	return ""
}

func unlisted(field string) string { return field + " is not supported in templates: remove it" }

// jsonName is the name of a field in JSON; empty for one whose fields are inline.
func jsonName(field reflect.StructField) string {
	name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	return name
}
