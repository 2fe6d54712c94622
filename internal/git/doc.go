// Package git keeps bare mirrors of repositories and reads trees, blobs and archives out of them. It runs the git binary,
// with all off that could run something of a repository's or of the machine's, and knows nothing of Kubernetes.
package git
