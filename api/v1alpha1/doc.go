// Package v1alpha1 contains the API of Cairn: Stack, Run, State and Repository.
//
// A Stack is a root module with its variables and its state. A Run is a plan of a Stack and, once it is approved,
// the apply of exactly that plan. A State describes the Terraform state of a Stack: its versions and its lock. A
// Repository is a git repository from which Stacks read code.
//
// The status of each kind is one field for server-side apply (structType=atomic). So metadata.managedFields has one
// entry for it in place of one for each of its fields, which would be a fifth of a Run in etcd. Only Cairn writes a
// status, with optimistic locks. A program that applies a part of a status replaces all of it.
//
// +kubebuilder:object:generate=true
// +groupName=cairn.dev
package v1alpha1
