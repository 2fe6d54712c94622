package check

// Facts are what the cluster has that an installation needs. What could not be read has an error, and is not verified.
type Facts struct {
	// Program is the version of this program.
	Program string
	// Release and Namespace are those that the chart is installed as.
	Release, Namespace string
	// Bucket is the URL of the bucket; empty for a volume of the default StorageClass.
	Bucket string

	// Kubernetes is the version of the API server.
	Kubernetes Read[string]
	// Rights are the permissions of the user that an installation needs.
	Rights Read[[]Right]
	// CRDs are all of the cluster.
	CRDs Read[[]CRD]
	// Server is the address of the server that another installation, or an earlier one, has published; empty for none.
	Server Read[string]
	// Nodes are all of the cluster.
	Nodes Read[[]Node]
	// StorageClasses are all of the cluster. They are not read if the bucket is no volume.
	StorageClasses Read[[]StorageClass]
	// Endpoint is the HOST:PORT in the URL of the bucket that this machine could connect to; empty if the URL names
	// none.
	Endpoint Read[string]
	// Webhooks are those that decide about pods or objects of Cairn, and whose failure rejects them.
	Webhooks Read[[]Webhook]
}

// Read is what was read, or why it could not be read.
type Read[T any] struct {
	Value T
	Err   error
}

// Right is a permission of the user.
type Right struct {
	Verb, Group, Resource, Namespace string
	Allowed                          bool
}

// CRD is a CustomResourceDefinition.
type CRD struct {
	// Name is PLURAL.GROUP.
	Name string
	// Version is the label app.kubernetes.io/version, which the chart sets.
	Version string
	// Release and Namespace are those of the Helm release that owns it; empty for none.
	Release, Namespace string
}

// Node is a node of the cluster.
type Node struct {
	System, Architecture string
	// Usable is true if it is ready and accepts pods.
	Usable bool
}

// StorageClass is a class of volumes.
type StorageClass struct {
	Name    string
	Default bool
	// Manual is true if volumes are created by hand.
	Manual bool
}

// Webhook is an admission webhook.
type Webhook struct {
	Name string
	// Service is the NAMESPACE/NAME of its Service; empty for a URL.
	Service string
	// Ready is true if a pod of the Service is ready. It is not read for a URL.
	Ready bool
}
