//go:build linux

package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// pauseImage is the sandbox image of pods, see writePause. No registry has it.
const pauseImage = "registry.local/pause:1"

// containerdConfig returns containerd's configuration, with the folders of the node. Where root lacks CAP_SYS_RESOURCE,
// as in many containers, pods only start with restrict_oom_score_adj. The shim is the one in the tools folder, also on
// a machine that has another, and NRI plugins of the machine do not run.
func (n *Node) containerdConfig() string {
	return fmt.Sprintf(`version = 4
root = %q
state = %q
disabled_plugins = ["io.containerd.internal.v1.opt", "io.containerd.nri.v1.nri"]

[plugins."io.containerd.cri.v1.images".pinned_images]
sandbox = %q

[plugins."io.containerd.cri.v1.images".registry]
config_path = %q

[plugins."io.containerd.cri.v1.runtime"]
restrict_oom_score_adj = true

[plugins."io.containerd.cri.v1.runtime".cni]
bin_dirs = [%q]
conf_dir = %q

[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
runtime_path = %q
`, n.path("containerd/root"), n.path("containerd/state"), pauseImage, n.path(registries), pluginDir, n.path("cni"),
		n.tool(shim))
}

// networkConfig connects all pods to a bridge, without masquerading, since this machine has a route to the pods.
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
		// the file of this machine has servers and domains that pods cannot reach
		"resolvConf":      n.path("resolv.conf"),
		"podLogsDir":      n.path("pod-logs"),
		"volumePluginDir": n.path("volume-plugins"),
		"cgroupDriver":    "cgroupfs", // for machines without systemd
		"cgroupRoot":      cgroup,
		"failCgroupV1":    false, // some build machines have version 1
		"failSwapOn":      false,
		"healthzPort":     0,
		// Frequent heartbeats, so that a lost node is detected early, see nodeGone.
		"nodeLeaseDurationSeconds":  8,
		"nodeStatusUpdateFrequency": "4s",
		"nodeStatusReportFrequency": "5m", // unless it has changed
		"evictionHard": map[string]any{"nodefs.available": "1%", "imagefs.available": "1%",
			"memory.available": "100Mi"},
		"imageGCHighThresholdPercent": 100, // no registry has a removed image
	}
}

// corefile returns CoreDNS's configuration: names of the cluster only, without forwarding.
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

// writeWorker writes the files of the worker's components.
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
		wrong = append(wrong, os.MkdirAll(n.path(folder), 0o755)) //nolint:gosec // users of containers need access
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
	if _, err := n.startInside("containerd", n.tool("containerd"),
		"--config", n.path("containerd.toml"),
		"--address", n.Containerd(),
	); err != nil {
		return err
	}
	if err := n.await(ctx, "containerd", func() error {
		// The CRI plugin starts last.
		out, err := n.ctr(ctx, "plugins", "ls", "id==cri")
		if err == nil && !strings.Contains(out, " ok ") {
			err = errors.New("containerd is not ready")
		}
		return err
	}); err != nil {
		return err
	}
	return n.Load(ctx, n.path("pause.tar"))
}

// StartKubelet starts the kubelet after StopKubelet.
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

// StopKubelet kills the kubelet, as a failed machine would: containers continue, without status updates.
// After some 15 seconds the node is not ready.
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
		// Settings of the whole machine, not of the node's network.
		"--conntrack-max-per-core=0",
		"--conntrack-tcp-timeout-established=0",
		"--conntrack-tcp-timeout-close-wait=0",
	); err != nil {
		return err
	}
	return n.start("coredns", n.tool("coredns"), "-conf", n.path("Corefile"))
}
