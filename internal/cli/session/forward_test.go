package session

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func TestForwarderTo(t *testing.T) {
	for address, want := range map[string]string{
		"https://cairn.cairn-system.svc:8443":           "cairn-system/cairn:8443",
		"https://cairn.tools.svc.cluster.local":         "tools/cairn:443",
		"https://cairn.example.com":                     "",
		"https://cairn":                                 "",
		"https://cairn.cairn-system.svcs:8443":          "",
		"https://10.0.0.1:8443":                         "",
		"https://cairn.cairn-system.example.svc.com:80": "",
	} {
		got := ""
		if f := forwarderTo(address, nil, nil); f != nil {
			got = f.namespace + "/" + f.service + ":" + f.port
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", address, got, want)
		}
	}
}

func TestPortOf(t *testing.T) {
	service := &corev1.Service{Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{
		{Port: 8443, TargetPort: intstr.FromString("https")}, {Port: 80, TargetPort: intstr.FromInt32(8080)},
		{Port: 9, TargetPort: intstr.FromString("none")},
	}}}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "cairn-0"},
		Spec: corev1.PodSpec{Containers: []corev1.Container{
			{Ports: []corev1.ContainerPort{{Name: "web", ContainerPort: 8080}, {Name: "https", ContainerPort: 18443}}},
		}}}
	for port, want := range map[string]int32{"8443": 18443, "80": 8080, "9": 0, "1": 0} {
		if got := portOf(service, pod, port); got != want {
			t.Errorf("port %s leads to %d, want %d", port, got, want)
		}
	}
}

func TestPortForwardHint(t *testing.T) {
	way := PortForwardHint("https://cairn.cairn-system.svc:8443")
	if !strings.Contains(way, "kubectl port-forward -n cairn-system service/cairn 8443") ||
		!strings.Contains(way, `"127.0.0.1 cairn.cairn-system.svc"`) {
		t.Errorf("the hint is %q", way)
	}
	if way := PortForwardHint("https://cairn.example.com"); way != "" {
		t.Errorf("for another server the hint is %q", way)
	}
}
