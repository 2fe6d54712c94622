// Package kubelet is a pretend kubelet for `cairn dev` and for tests: it is a node to the API server, takes every pod
// that no node has, and runs its containers as processes of this machine, under the user it runs as.
//
// It does what Cairn's pods and most patches of them need, as a real kubelet would, and refuses the rest with a
// failed pod that says so. What differs, differs for one reason, that there are no images and no namespaces:
//
//   - Images are not looked at. Each container must name its command. A command without a slash is looked up in the
//     container's PATH; an absolute one that this machine lacks is looked up by its last part, so that
//     /usr/local/bin/tofu is the tofu of PathPrefix.
//   - Nothing is mounted. Each mountPath is realized below the pod's folder, and each argument and each value of an
//     environment variable that is such a path, or one below it, is rewritten to the place on this machine; also after
//     "=" and ":", as in --dir=/cairn/x and PATH=/cairn/bin:/bin. So are the folders that a mountPath lies in, as far
//     up as this machine does not have them: with /cairn/bin mounted, all below /cairn. Paths inside a script or a file
//     are not.
//   - The environment of this process is not passed on, but for PATH, with PathPrefix first. HOME is the container's
//     working directory, TMPDIR a folder of its own.
//   - All is owned by one user and shares one network: securityContext, resources, ports, probes, readOnly,
//     nodeSelector, affinity and tolerations are not looked at. Secrets and ConfigMaps are put in place once, and not
//     renewed as they change; tokens are renewed.
//
// A pod's folder, kept as long as the pod is in the API, but for the volumes, which are removed when its containers
// have ended:
//
//	pods/<uid>/fs/<mountPath>              volumes, at the first path they are mounted at
//	pods/<uid>/volumes/<name>              volumes that another one took that path from, or that are not mounted
//	pods/<uid>/containers/<name>/log       stdout and stderr
//	pods/<uid>/containers/<name>/{work,tmp}
//
// The life of a pod; each has one goroutine (pod.run) that is its only writer:
//
//	seen -> bound -> volumes in place -> init containers, one by one -> containers, all at once -> ended -> deleted
//	                 ^ again and again, while an object is missing         |
//	                                            deleted, deadline, shutdown: SIGTERM, grace, SIGKILL
//
// When the kubelet starts and finds that a pod was started by an earlier one, the pod has failed, as after the restart
// of a node: a pod is never run twice.
package kubelet
