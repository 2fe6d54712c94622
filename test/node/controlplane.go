//go:build linux

package node

import (
	"errors"
	"fmt"
	"os"

	"k8s.io/client-go/util/keyutil"

	"cairn.dev/cairn/dev"
	"cairn.dev/cairn/dev/authority"
)

// Sockets of etcd, relative to the node's folder. etcd requires the form host:port and creates a file of that name.
const (
	etcdClients = "unix://etcd:1"
	etcdPeers   = "unix://etcd:2"
)

// issuer is the issuer of ServiceAccount tokens. The API server serves its keys at that URL.
const issuer = "https://kubernetes.default.svc.cluster.local"

// Users of the API, as Kubernetes' own roles name them; objects.yaml has the bindings of the others.
const (
	kubeletClient = "kube-apiserver-kubelet-client"
	dnsUser       = "system:coredns"
)

// writeControlPlane writes the certificates, kubeconfigs and files of the control plane.
func (n *Node) writeControlPlane() error {
	key, err := keyutil.MakeEllipticPrivateKeyPEM()
	if err != nil {
		return err
	}
	if err := errors.Join(
		os.WriteFile(n.path("tokens.key"), key, 0o600),
		os.WriteFile(n.path("audit-policy.yaml"), []byte(dev.AuditPolicy), 0o600),
		n.certify("apiserver", []string{
			"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local",
		}, address, firstIP),
		n.authority.Write("kubelet-client", authority.Client(kubeletClient)),
	); err != nil {
		return err
	}
	for name, user := range map[string][]string{
		"kube-controller-manager": {"system:kube-controller-manager"},
		"kube-scheduler":          {"system:kube-scheduler"},
		"kube-proxy":              {"system:kube-proxy"},
		"coredns":                 {dnsUser},
		"kubelet":                 {"system:node:" + nodeName, "system:nodes"},
	} {
		config, err := n.config(user[0], user[1:]...)
		if err != nil {
			return err
		}
		if err := writeKubeconfig(n.kubeconfig(name), config); err != nil {
			return err
		}
	}
	return nil
}

func (n *Node) startAPIServer() error {
	if err := n.start("etcd", n.tool("etcd"),
		"--name=node",
		"--data-dir=etcd",
		"--listen-client-urls="+etcdClients,
		"--advertise-client-urls="+etcdClients,
		"--listen-peer-urls="+etcdPeers,
		"--initial-advertise-peer-urls="+etcdPeers,
		"--initial-cluster=node="+etcdPeers,
		"--unsafe-no-fsync",
		"--log-level=warn",
	); err != nil {
		return err
	}
	// It retries until etcd is ready.
	return n.start("kube-apiserver", n.tool("kube-apiserver"),
		"--etcd-servers="+etcdClients,
		"--bind-address="+address,
		"--secure-port=6443",
		"--advertise-address="+address,
		"--service-cluster-ip-range="+services,
		"--client-ca-file="+n.authority.Cert("ca"),
		"--tls-cert-file="+n.authority.Cert("apiserver"),
		"--tls-private-key-file="+n.authority.Key("apiserver"),
		"--authorization-mode=Node,RBAC",
		"--enable-admission-plugins=NodeRestriction",
		"--allow-privileged",
		"--kubelet-certificate-authority="+n.authority.Cert("ca"),
		"--kubelet-client-certificate="+n.authority.Cert("kubelet-client"),
		"--kubelet-client-key="+n.authority.Key("kubelet-client"),
		"--kubelet-preferred-address-types=InternalIP",
		"--service-account-issuer="+issuer,
		"--service-account-jwks-uri="+issuer+"/openid/v1/jwks",
		"--service-account-key-file="+n.path("tokens.key"),
		"--service-account-signing-key-file="+n.path("tokens.key"),
		"--audit-policy-file="+n.path("audit-policy.yaml"),
		"--audit-log-path="+n.AuditLog(),
		// A lost node is detected early, see nodeGone.
		fmt.Sprintf("--default-not-ready-toleration-seconds=%d", tolerated),
		fmt.Sprintf("--default-unreachable-toleration-seconds=%d", tolerated),
		// Do not wait for watches at shutdown.
		"--shutdown-delay-duration=0",
	)
}

// The time until a node without heartbeats is not ready, and the default time that pods tolerate that.
// Kubernetes has 50 seconds and 5 minutes, which is too long for a test.
const (
	nodeGone  = "15s"
	tolerated = 10
)

func (n *Node) startControllers() error {
	if err := n.start("kube-controller-manager", n.tool("kube-controller-manager"),
		"--kubeconfig="+n.kubeconfig("kube-controller-manager"),
		"--use-service-account-credentials",
		"--kube-api-qps=200", // the default delays the token requests of 50 controllers by 4 seconds
		"--kube-api-burst=400",
		"--service-account-private-key-file="+n.path("tokens.key"),
		"--root-ca-file="+n.authority.Cert("ca"),
		"--cluster-signing-cert-file="+n.authority.Cert("ca"),
		"--cluster-signing-key-file="+n.authority.Key("ca"),
		"--node-monitor-grace-period="+nodeGone,
		"--node-monitor-period=1s",
		"--flex-volume-plugin-dir="+n.path("volume-plugins"),
		"--leader-elect=false",
		"--secure-port=0",
	); err != nil {
		return err
	}
	return n.start("kube-scheduler", n.tool("kube-scheduler"),
		"--kubeconfig="+n.kubeconfig("kube-scheduler"),
		"--leader-elect=false",
		"--secure-port=0",
	)
}
