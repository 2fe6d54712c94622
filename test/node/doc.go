// Package node starts a real Kubernetes of one node on this machine: etcd, kube-apiserver, kube-controller-manager with
// all its controllers, kube-scheduler, containerd, kubelet, kube-proxy and CoreDNS. It needs Linux, root, the tools
// that `make` builds and a few Debian packages (see packages.go); no registry, no image and no network.
//
// The node runs in its own process, mount and network namespaces, as a node of kind does. So it is cleaned up
// completely: when the process that started it ends for any reason, the first process of the node (pause/main.go) is
// killed, and the kernel removes every process, mount, network device and firewall rule. Files and empty cgroups remain
// until the next start removes them.
//
//	  this machine                    the node
//	┌───────────────┐      ┌─────────────────────────────────┐
//	│ tests, kubectl│ veth │ eth0 172.31.255.1               │
//	│  172.31.255.2 ├──────┤  API server :6443, kubelet      │
//	│               │      │ cni0 10.244.0.1 ── pods         │
//	└───────────────┘      └─────────────────────────────────┘
//
// The machine has routes to pods (10.244.0.0/24) and Services (10.96.0.0/16), and pods reach servers of a test that
// listen on Node.Host. Pods reach no other network, and resolve only names of the cluster.
//
// Folder:
//
//	/run/cairn-node.lock  locked while a node runs: one per machine
//	/var/lib/cairn-node   all other files, recreated at each start except
//	  containerd/root     the images, which are retained after a regular stop
//	  *.log  audit.log    the output of the programs, and every write to the API
//
// # Limitations
//
// NetworkPolicies are not enforced: the bridge plugin does not, and no firewall that does is available as a module that
// the checksum database verifies. The module proxy rejects the version lists of
// github.com/cloudnativelabs/kube-router/v2 and sigs.k8s.io/kube-network-policies ("This module version is not
// available"). Of kube-router it rejects 2.2.1, 2.4.1, 2.5.0, 2.6.0 and 2.6.1 too; 2.1.0 it has, but sum.golang.org has
// no entry for it, and unverified code does not run as root here. Where kube-router is available, it can be started in
// the node's network as kube-proxy is, with --run-firewall=true --run-router=false --run-service-proxy=false; that has
// not been tried.
//
// Pods cannot have host ports: the plugin for them is omitted.
//
// Where cgroups are of version 1, the kernel ends only the process that exceeds the memory limit, not its container;
// version 2 ends both. If the container continues, it is reported as OOMKilled when it ends, with any exit code.
package node
