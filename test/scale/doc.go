// Package scale measures a large Cairn on a small machine: a real API server and etcd, the real `cairn-controller
// operator` and `cairn-controller server` as processes, and simulated pods: for each one a goroutine uses the runner
// API with the pod's own token, without an engine. So the API server, the operator and the server have the real load of
// a Run.
//
// The history is not created by a hundred thousand Runs: one Stack has its Runs, and is copied below the API server, in
// etcd, with other names, UIDs, variables and inputs. The API server reads the copies as if it had written
// them.
//
// `make scale` and `make soak` print the results; docs/contributing/performance-scale.md explains them.
package scale
