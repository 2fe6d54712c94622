// Package node starts a real Kubernetes of one node on this machine: etcd, kube-apiserver, kube-controller-manager with all
// its controllers, kube-scheduler, containerd, kubelet, kube-proxy and CoreDNS. It needs Linux, root, the tools that
// `make` builds and a few Debian packages (see packages.go); no registry, no image and no network.
//
// The node lives in a process, a mount and a network namespace of its own, as a node of kind does. That is what makes it
// leave nothing behind: when the process that started it ends, however it does, the first process of the node
// (pause/main.go) is killed, and the kernel takes along every process, mount, network device and firewall rule. What stays
// are files and empty cgroups, which the next start clears away.
//
//	  this machine                    the node
//	┌───────────────┐      ┌─────────────────────────────────┐
//	│ tests, kubectl│ veth │ eth0 172.31.255.1               │
//	│  172.31.255.2 ├──────┤  API server :6443, kubelet      │
//	│               │      │ cni0 10.244.0.1 ── pods         │
//	└───────────────┘      └─────────────────────────────────┘
//
// The machine has routes to pods (10.244.0.0/24) and Services (10.96.0.0/16), and pods reach servers of a test that listen
// on Node.Host. There is no way further out, and no name but those of the cluster.
//
// Folder:
//
//	/run/cairn-node.lock  held while there is a node: one on a machine
//	/var/lib/cairn-node   all else, made anew at each start except for
//	  containerd/root     the images, which are kept when the node was stopped as it should be
//	  *.log  audit.log    what the parts said, and every write to the API
//
// # What it is not
//
// NetworkPolicies are not enforced: the bridge plugin does not, and a firewall that would could not be had as a module that
// the checksum database vouches for. The module proxy refused the version lists of github.com/cloudnativelabs/kube-router/v2
// and sigs.k8s.io/kube-network-policies ("This module version is not available"). Of kube-router it refused 2.2.1, 2.4.1,
// 2.5.0, 2.6.0 and 2.6.1 too; 2.1.0 it has, but sum.golang.org has no entry for it, and what nobody vouches for is not run
// as root here. Where kube-router can be had, it would be started in the node's network as kube-proxy is, with
// --run-firewall=true --run-router=false --run-service-proxy=false; that has not been tried.
//
// Pods cannot have host ports: the plugin for them is left out.
//
// Where cgroups are of version 1, the kernel ends only the process that took too much memory, not the container it is in;
// version 2 ends both. If the container goes on, it is called OOMKilled when it ends, whatever its exit code.
package node
