package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/streaming/pkg/httpstream"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// forwarder connects to a Service through the API server, as `kubectl port-forward` does, for an installation without
// an address outside of the cluster.
type forwarder struct {
	kube      client.Client
	config    *rest.Config
	namespace string
	service   string
	port      string

	mu    sync.Mutex
	local string          // address that it listens on
	ended <-chan struct{} // closed when the connection to the pod ended
}

// forwarderTo returns a forwarder for the address of a Service, SERVICE.NAMESPACE.svc; nil for any other address.
func forwarderTo(address string, kube client.Client, config *rest.Config) *forwarder {
	u, err := url.Parse(address)
	if err != nil {
		return nil
	}
	name, zone, _ := strings.Cut(u.Hostname(), ".")
	namespace, zone, _ := strings.Cut(zone, ".")
	if name == "" || namespace == "" || zone != "svc" && !strings.HasPrefix(zone, "svc.") {
		return nil
	}
	port := u.Port()
	if port == "" {
		port = "443"
	}
	return &forwarder{kube: kube, config: config, namespace: namespace, service: name, port: port}
}

// dial connects directly if DNS resolves the Service, as in the cluster, and else through the API server.
func (f *forwarder) dial(ctx context.Context, network, address string) (net.Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, network, address)
	var unresolved *net.DNSError
	if err == nil || !errors.As(err, &unresolved) || !strings.HasPrefix(address, f.service+"."+f.namespace+".") {
		return conn, err
	}
	local, err := f.open(ctx)
	if err != nil {
		return nil, err
	}
	return d.DialContext(ctx, network, local)
}

// open returns a local address that forwards to the Service.
func (f *forwarder) open(ctx context.Context) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.local != "" {
		select {
		case <-f.ended:
		default:
			return f.local, nil
		}
	}
	pod, port, err := f.target(ctx)
	if err == nil {
		f.local, f.ended, err = f.forward(ctx, pod, port)
	}
	if err != nil {
		text := "Cairn's server has no address outside of the cluster"
		if apierrors.IsForbidden(err) {
			return "", fmt.Errorf("%s, and you may not connect to it through Kubernetes: %w; you need role "+
				"cairn-connect in namespace %s, or an Ingress", text, err, f.namespace)
		}
		return "", fmt.Errorf("%s, and the connection through Kubernetes failed: %w", text, err)
	}
	return f.local, nil
}

// target returns a ready pod of the Service, and its port.
func (f *forwarder) target(ctx context.Context) (pod string, port int32, err error) {
	service := &corev1.Service{}
	if err := f.kube.Get(ctx, client.ObjectKey{Namespace: f.namespace, Name: f.service}, service); err != nil {
		return "", 0, err
	}
	pods := &corev1.PodList{}
	if err := f.kube.List(ctx, pods, client.InNamespace(f.namespace),
		client.MatchingLabels(service.Spec.Selector)); err != nil {
		return "", 0, err
	}
	for i := range pods.Items {
		p := &pods.Items[i]
		if port := portOf(service, p, f.port); port != 0 && p.DeletionTimestamp == nil && isReady(p) {
			return p.Name, port, nil
		}
	}
	return "", 0, fmt.Errorf("no pod of Service %s in namespace %s is ready", f.service, f.namespace)
}

func isReady(p *corev1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// portOf returns the port of a pod for a port of its Service; 0 if there is none.
func portOf(service *corev1.Service, pod *corev1.Pod, port string) int32 {
	for _, p := range service.Spec.Ports {
		if strconv.Itoa(int(p.Port)) != port {
			continue
		}
		if p.TargetPort.Type == intstr.Int {
			return p.TargetPort.IntVal
		}
		for _, c := range pod.Spec.Containers {
			for _, named := range c.Ports {
				if named.Name == p.TargetPort.StrVal {
					return named.ContainerPort
				}
			}
		}
	}
	return 0
}

// forward listens on a local port until the process or the pod ends.
func (f *forwarder) forward(
	ctx context.Context, pod string, port int32,
) (local string, ended <-chan struct{}, err error) {
	dialer, err := f.dialer(pod)
	if err != nil {
		return "", nil, err
	}
	stop, ready, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	fw, err := portforward.NewOnAddressesForStreaming(dialer, []string{"127.0.0.1"}, []string{fmt.Sprintf("0:%d",
		port)}, stop, ready, io.Discard, io.Discard)
	if err != nil {
		return "", nil, err
	}
	var failure error
	go func() {
		defer close(done)
		failure = fw.ForwardPorts()
	}()
	select {
	case <-ready:
	case <-done:
		return "", nil, failure
	case <-ctx.Done():
		close(stop)
		return "", nil, ctx.Err()
	}
	ports, err := fw.GetPorts()
	if err != nil {
		return "", nil, err
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(int(ports[0].Local))), done, nil
}

// dialer returns a dialer to a pod by WebSocket, or by SPDY for older API servers.
func (f *forwarder) dialer(pod string) (httpstream.Dialer, error) {
	core, err := CoreClient(f.config)
	if err != nil {
		return nil, err
	}
	u := core.Post().Namespace(f.namespace).Resource("pods").Name(pod).SubResource("portforward").URL()
	socket, err := portforward.NewSPDYOverWebsocketDialerForStreaming(u, f.config)
	if err != nil {
		return nil, err
	}
	transport, upgrader, err := spdy.RoundTripperFor(f.config)
	if err != nil {
		return nil, err
	}
	older := spdy.NewDialerForStreaming(upgrader, &http.Client{Transport: transport}, http.MethodPost, u)
	return portforward.NewFallbackDialerForStreaming(socket, older, NeedsSPDY), nil
}

// CoreClient returns a client of the core API, for subresources of pods.
func CoreClient(config *rest.Config) (*rest.RESTClient, error) {
	core := rest.CopyConfig(config)
	core.APIPath, core.GroupVersion, core.NegotiatedSerializer = "/api", &corev1.SchemeGroupVersion,
		scheme.Codecs.WithoutConversion()
	return rest.RESTClientFor(core)
}

// NeedsSPDY returns whether an API server, or a proxy before it, supports only SPDY.
func NeedsSPDY(err error) bool {
	return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
}

// PortForwardHint returns how an engine can connect to a server without an address outside of the cluster; empty for
// other servers.
func PortForwardHint(address string) string {
	f := forwarderTo(address, nil, nil)
	if f == nil {
		return ""
	}
	host, _, _ := strings.Cut(strings.TrimPrefix(address, "https://"), ":")
	return fmt.Sprintf("Cairn's server has no address outside of the cluster. On a machine that does not resolve %s, "+
		"add \"127.0.0.1 %s\" to /etc/hosts, and run this while the engine runs: "+
		"kubectl port-forward -n %s service/%s %s", host, host, f.namespace, f.service, f.port)
}
