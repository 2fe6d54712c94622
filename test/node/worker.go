//go:build linux

package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// pauseImage is what holds a pod together. It is made here (see writePause), and found in no registry.
const pauseImage = "registry.local/pause:1"

// containerd gets folders of its own. restrict_oom_score_adj: where root lacks CAP_SYS_RESOURCE, as in many containers, no
// pod would start without it.
func (n *Node) containerdConfig() string {
	return fmt.Sprintf(`version = 2
root = %q
state = %q
disabled_plugins = ["io.containerd.internal.v1.opt"]

[grpc]
address = %q

[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = %q
restrict_oom_score_adj = true

[plugins."io.containerd.grpc.v1.cri".registry]
config_path = %q

[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = %q
conf_dir = %q

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
`, n.path("containerd/root"), n.path("containerd/state"), n.Containerd(), pauseImage, n.path(registries), pluginDir, n.path("cni"))
}

// networkConfig puts all pods on a bridge. Nothing is masqueraded: this machine has a route to the pods.
func (n *Node) networkConfig() map[string]any {
	return map[string]any{
		"cniVersion": "0.4.0",
		"name":       "cairn-node",
		"plugins": []any{map[string]any{
			"type": "bridge", "bridge": "cni0", "isGateway": true, "hairpinMode": true,
			"ipam": map[string]any{
				"type": "host-local", "dataDir": n.path("cni-addresses"),
				"ranges": []any{[]any{map[string]any{"subnet": pods}}},
				"routes": []any{map[string]any{"dst": "0.0.0.0/0"}},
			},
		}},
	}
}

func (n *Node) kubeletConfig() map[string]any {
	return map[string]any{
		"apiVersion": "kubelet.config.k8s.io/v1beta1",
		"kind":       "KubeletConfiguration",
		"address":    address,
		"authentication": map[string]any{
			"anonymous": map[string]any{"enabled": false},
			"webhook":   map[string]any{"enabled": true},
			"x509":      map[string]any{"clientCAFile": n.authority.Cert("ca")},
		},
		"authorization":            map[string]any{"mode": "Webhook"},
		"tlsCertFile":              n.authority.Cert("kubelet"),
		"tlsPrivateKeyFile":        n.authority.Key("kubelet"),
		"containerRuntimeEndpoint": "unix://" + n.Containerd(),
		"clusterDNS":               []any{dnsIP},
		"clusterDomain":            "cluster.local",
		"resolvConf":               n.path("resolv.conf"), // that of this machine names servers and domains that pods cannot reach
		"podLogsDir":               n.path("pod-logs"),
		"volumePluginDir":          n.path("volume-plugins"),
		"cgroupDriver":             "cgroupfs", // there may be no systemd
		"cgroupRoot":               cgroup,
		"failCgroupV1":             false, // which some build machines still have
		"failSwapOn":               false,
		"healthzPort":              0,
		// That it lives is said often, so that a node that is gone is seen soon, see nodeGone.
		"nodeLeaseDurationSeconds":    8,
		"nodeStatusUpdateFrequency":   "4s",
		"nodeStatusReportFrequency":   "5m", // unless it has changed
		"evictionHard":                map[string]any{"nodefs.available": "1%", "imagefs.available": "1%", "memory.available": "100Mi"},
		"imageGCHighThresholdPercent": 100, // nobody could give back an image that was removed
	}
}

// corefile answers for the cluster and knows nothing else, at once.
func (n *Node) corefile() string {
	return fmt.Sprintf(`.:53 {
  bind %s
  errors
  kubernetes cluster.local in-addr.arpa {
    kubeconfig %s cairn-node
    ttl 1
  }
}
`, address, n.kubeconfig("coredns"))
}

// writeWorker makes the files that the worker's half of the node is started with.
func (n *Node) writeWorker() error {
	network, err := json.Marshal(n.networkConfig())
	if err != nil {
		return err
	}
	kubelet, err := yaml.Marshal(n.kubeletConfig())
	if err != nil {
		return err
	}
	var wrong []error
	for _, folder := range []string{"containerd/root", "containerd/state", "cni", "kubelet", "pod-logs", "volumes"} {
		wrong = append(wrong, os.MkdirAll(n.path(folder), 0o755)) //nolint:gosec // containers come through here as their own users
	}
	for name, content := range map[string]string{
		"containerd.toml":   n.containerdConfig(),
		"cni/node.conflist": string(network),
		"kubelet.yaml":      string(kubelet),
		"resolv.conf":       "nameserver " + dnsIP + "\n",
		"Corefile":          n.corefile(),
	} {
		wrong = append(wrong, os.WriteFile(n.path(name), []byte(content), 0o600))
	}
	return errors.Join(append(wrong, n.certify("kubelet", []string{nodeName}, address))...)
}

func (n *Node) startContainerd(ctx context.Context) error {
	path, err := exec.LookPath("containerd")
	if err != nil {
		return err
	}
	if _, err := n.startInside("containerd", path, "--config", n.path("containerd.toml")); err != nil {
		return err
	}
	if err := n.await(ctx, "containerd", func() error {
		// The plugin for Kubernetes comes last.
		said, err := n.ctr(ctx, "plugins", "ls", "id==cri")
		if err == nil && !strings.Contains(said, " ok ") {
			err = errors.New("containerd is not ready")
		}
		return err
	}); err != nil {
		return err
	}
	return n.Load(ctx, n.path("pause.tar"))
}

// StartKubelet starts the kubelet, which a node has unless StopKubelet was called.
func (n *Node) StartKubelet() (err error) {
	n.kubelet, err = n.startInside("kubelet", n.tool("kubelet"),
		"--kubeconfig="+n.kubeconfig("kubelet"),
		"--config="+n.path("kubelet.yaml"),
		"--root-dir="+n.path("kubelet"),
		"--hostname-override="+nodeName,
		"--node-ip="+address,
	)
	return err
}

// StopKubelet kills the kubelet, as a machine that is gone would: containers go on, but nobody hears of them any more.
// After some 15 seconds the node counts as gone.
func (n *Node) StopKubelet() {
	n.mu.Lock()
	n.running = slices.DeleteFunc(n.running, func(c component) bool { return c.proc == n.kubelet })
	n.mu.Unlock()
	n.kubelet.Kill()
	<-n.kubelet.Done()
}

func (n *Node) startServices() error {
	if err := n.start("kube-proxy", n.tool("kube-proxy"),
		"--kubeconfig="+n.kubeconfig("kube-proxy"),
		"--proxy-mode=iptables",
		"--hostname-override="+nodeName,
		"--cluster-cidr="+pods,
		"--healthz-bind-address=127.0.0.1:10256",
		// These are of the whole machine, not of the node's network.
		"--conntrack-max-per-core=0",
		"--conntrack-tcp-timeout-established=0",
		"--conntrack-tcp-timeout-close-wait=0",
	); err != nil {
		return err
	}
	return n.start("coredns", n.tool("coredns"), "-conf", n.path("Corefile"))
}
