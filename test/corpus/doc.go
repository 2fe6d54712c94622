// Package corpus has small repositories, one for each way in which real code reads files, names modules, configures
// backends and Terragrunt. For each one the tests compare Cairn with the bare engine in a full checkout.
//
// A case is a file testdata/NAME.txtar. Its comment has a description "# ...", and one "key: value" per line:
//
//	path: DIR            the Stack's spec.source.git.path
//	engine: NAME         OpenTofu (the default), Terraform or Terragrunt
//	newest: true         the newest Terraform, in place of the last one with a free license
//	workspace: NAME      spec.workspace
//	trigger: GLOB        one of spec.source.git.triggers
//	variables: PATH      one of spec.variableFiles, a file of the repository
//	variable: NAME=JSON  one of spec.variables
//	backend: code        spec.backend is {fromCode: true}
//	link: PATH -> TARGET a symlink of the repository
//	exec: PATH           a file of the archive that is executable
//	submodule: PATH      a submodule of the repository
//	ignores: PATH        an edit, removal or creation of this file does not start a Run
//	changes: PATH        a creation of this file, which does not exist, starts a Run
//	either: PATH         it does not matter whether an edit of this file starts a Run
//	refused: TEXT        Cairn rejects the code, with a message that contains this text
//	whole: true          the case also runs in a whole Cairn, with an API server
//	pending: REASON      a known difference from the engine: the case fails as soon as there is none
//
// The files below remote/ are those of another repository, which has modules. REMOTE in the case's own files is its
// URL, as a source of modules.
//
// An edit or removal of any other file of the repository must start a Run. A key may be repeated.
package corpus
