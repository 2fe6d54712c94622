package dev

import (
	"path/filepath"
	"strings"
)

// Sockets of etcd, relative to the data folder. etcd wants the form host:port and makes a file of that name.
const (
	etcdClients = "unix://etcd:1"
	etcdPeers   = "unix://etcd:2"
)

const (
	managerKubeconfig = "kube-controller-manager.kubeconfig"
	auditPolicyFile   = "audit-policy.yaml"
	auditLogFile      = "audit.log"
	tokensFile        = "tokens.csv"

	// tokenIssuer does not name the port, so that tokens stay good when it changes.
	tokenIssuer = "https://kubernetes.default.svc"
)

func (c *ControlPlane) etcdArgs(o Options) []string {
	args := []string{
		"--name=cairn",
		"--data-dir=etcd",
		"--listen-client-urls=" + etcdClients,
		"--advertise-client-urls=" + etcdClients,
		"--listen-peer-urls=" + etcdPeers,
		"--log-level=warn",
	}
	if !o.Fsync {
		args = append(args, "--unsafe-no-fsync")
	}
	return args
}

func (c *ControlPlane) apiServerArgs(o Options) []string {
	port := c.endpoint[strings.LastIndexByte(c.endpoint, ':')+1:]
	args := []string{
		"--etcd-servers=" + etcdClients,
		"--bind-address=127.0.0.1",
		"--secure-port=" + port,
		"--external-hostname=127.0.0.1",
		"--cert-dir=pki",
		"--client-ca-file=" + c.pki.Cert("ca"),
		"--tls-cert-file=" + c.pki.Cert(nameServer),
		"--tls-private-key-file=" + c.pki.Key(nameServer),
		"--kubelet-client-certificate=" + c.pki.Cert(nameKubeletClient),
		"--kubelet-client-key=" + c.pki.Key(nameKubeletClient),
		"--kubelet-preferred-address-types=InternalIP",
		"--service-account-issuer=" + tokenIssuer,
		"--service-account-key-file=" + c.pki.Key(nameTokens),
		"--service-account-signing-key-file=" + c.pki.Key(nameTokens),
		"--service-cluster-ip-range=10.96.0.0/16",
		"--token-auth-file=" + tokensFile,
		"--authorization-mode=RBAC",
		"--allow-privileged",
		// No controller would remove the taint: that is the task of the node lifecycle controller.
		"--disable-admission-plugins=TaintNodesByCondition",
		// A single API server does not announce itself: no leases, no endpoints.
		"--endpoint-reconciler-type=none",
		"--feature-gates=APIServerIdentity=false,UnknownVersionInteroperabilityProxy=false",
		"--enable-priority-and-fairness=false",
		// Do not wait for watch requests at shutdown.
		"--shutdown-delay-duration=0",
		"--shutdown-watch-termination-grace-period=0",
	}
	if o.Audit {
		args = append(args,
			"--audit-policy-file="+auditPolicyFile,
			"--audit-log-path="+auditLogFile,
			"--audit-log-maxbackup=1",
		)
	}
	return args
}

// controllers are what an API server alone would lack: owners that take what they own with them, namespaces that end
// and have a service account and the CA, and roles like edit and admin that gather their rules.
var controllers = []string{
	"garbage-collector-controller",
	"namespace-controller",
	"serviceaccount-controller",
	"root-ca-certificate-publisher-controller",
	"clusterrole-aggregation-controller",
}

func (c *ControlPlane) controllerManagerArgs() []string {
	return []string{
		"--kubeconfig=" + filepath.Join(c.dir, managerKubeconfig),
		"--controllers=" + strings.Join(controllers, ","),
		"--root-ca-file=" + c.pki.Cert("ca"),
		"--leader-elect=false",
		"--secure-port=0",
		// the default of 20 keeps the garbage collector busy for eight minutes after 10,000 Stacks are added
		"--kube-api-qps=400",
		"--kube-api-burst=800",
	}
}
