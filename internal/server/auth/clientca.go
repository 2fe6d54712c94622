package auth

import (
	"context"
	"fmt"

	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/client-go/kubernetes"
)

// Where an API server publishes the CA of its clients' certificates.
const (
	clientCANamespace = "kube-system"
	clientCAName      = "extension-apiserver-authentication"
	clientCAKey       = "client-ca-file"
)

// ClusterCA watches which authority the client certificates of the cluster are of.
type ClusterCA struct {
	*dynamiccertificates.ConfigMapCAController
}

// NewClusterCA creates a ClusterCA that has no CA before it is started.
func NewClusterCA(kube kubernetes.Interface) (*ClusterCA, error) {
	c, err := dynamiccertificates.NewDynamicCAFromConfigMapController("client-ca", clientCANamespace, clientCAName,
		clientCAKey, kube)
	if err != nil {
		return nil, fmt.Errorf("watch the authority of client certificates: %w", err)
	}
	return &ClusterCA{c}, nil
}

// NeedLeaderElection returns false: every process that serves needs it.
func (c *ClusterCA) NeedLeaderElection() bool { return false }

// Start watches until ctx is done.
func (c *ClusterCA) Start(ctx context.Context) error {
	c.Run(ctx, 1)
	return nil
}
