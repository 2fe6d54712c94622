// Package scale is a large Cairn on a small machine: a real API server and etcd, the real `cairn-controller operator` and `cairn-controller server`
// as processes, and pods that are only pretended: for each one a goroutine speaks the runner's protocol with the pod's own
// token, and does nothing else. So a Run costs what it costs the API server, the operator and the server, and no engine.
//
// Histories are not lived through a hundred thousand times: one Stack lives through its Runs, and is copied beneath the API
// server, in etcd, with names, UIDs, variables and inputs of its own. What is read back is what the API server would have
// written itself.
//
// `make scale` and `make soak` print what they find; docs/performance.md says how to read it.
package scale
