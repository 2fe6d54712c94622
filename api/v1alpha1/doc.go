// Package v1alpha1 contains the API of Cairn: Stack, Run, State and Repository.
//
// A Stack is a root module with its variables and its state. A Run is a plan of a Stack and, once it is approved,
// the apply of exactly that plan. A State describes the Terraform state of a Stack: its versions and its lock. A
// Repository is a git repository from which Stacks read code.
//
// +kubebuilder:object:generate=true
// +groupName=cairn.dev
package v1alpha1
