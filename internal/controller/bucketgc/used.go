// Package bucketgc deletes from the bucket what no object refers to any more, and encrypts the rest again for a new
// key. Code, documents of inputs and the digests of closures are kept under the digest of their content, so many Stacks
// and Runs may share one, and none of them can delete it with itself.
//
//	gather: which documents do Stacks, Runs, States and kept variables name? which code do the documents name?
//	decide: keep, renew or delete, of each object that is listed
//	act:    at a pace, and only what is still as old as it was listed
//
// What is about to be named is young (see bucket.RenewAfter), so that no name is missed which is written meanwhile.
package bucketgc

import (
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
)

// The folders of the bucket whose garbage is collected, and the one whose names count.
const (
	folderInputs    = "inputs"
	folderSources   = "sources"
	folderClosures  = "closures"
	folderVariables = "variables"
)

// used are the digests that objects name.
type used struct {
	inputs, sources map[string]bool
	// objects of Kubernetes that were read.
	objects int
}

// add adds digests that are not empty.
func (u *used) add(digests ...string) {
	for _, d := range digests {
		if d != "" {
			u.inputs[d] = true
		}
	}
}

// name adds what objects name. A Stack's inputs are what its next Run has, a State's those that its destroy needs.
func (u *used) name(list client.ObjectList) {
	switch list := list.(type) {
	case *v1alpha1.RunList:
		u.objects += len(list.Items)
		for i := range list.Items {
			u.add(list.Items[i].Spec.InputsDigest)
		}
	case *v1alpha1.StackList:
		u.objects += len(list.Items)
		for i := range list.Items {
			u.add(list.Items[i].Status.InputsDigest, list.Items[i].Status.AppliedInputsDigest)
		}
	case *v1alpha1.StateList:
		u.objects += len(list.Items)
		for i := range list.Items {
			u.add(list.Items[i].Status.InputsDigest)
		}
	}
}

// variables adds the inputs whose variables are kept: variables/<namespace>/<stack>/<inputs digest>. They go with their
// State, also with one in a namespace that this process does not watch.
func (u *used) variables(key string) {
	if parts := strings.Split(key, "/"); len(parts) == 4 && parts[0] == folderVariables {
		u.add(parts[3])
	}
}
