// Package v1alpha1 holds Cairn's kinds: Stack, Run and State.
//
// A Stack is one root module with its variables and its one state. A Run is one plan of a Stack and, if it is
// approved, the apply of exactly that plan. A State is what Cairn knows of a Stack's state: its versions and its lock.
//
// +kubebuilder:object:generate=true
// +groupName=cairn.dev
package v1alpha1
