package v1alpha1

// ContributorKind is what a user did to the inputs of a Run.
//
// +kubebuilder:validation:Enum=Spec;Repository;State;Author;Committer;Request
type ContributorKind string

// Kinds of contributors.
const (
	// ContributorSpec: created the Stack or changed its spec.
	ContributorSpec ContributorKind = "Spec"
	// ContributorRepository: changed the source of the code in the Repository.
	ContributorRepository ContributorKind = "Repository"
	// ContributorState: wrote a version of the State.
	ContributorState ContributorKind = "State"
	// ContributorAuthor: is an author or a co-author of a commit, as the commit states.
	ContributorAuthor ContributorKind = "Author"
	// ContributorCommitter: is the committer of a commit, as the commit states.
	ContributorCommitter ContributorKind = "Committer"
	// ContributorRequest: requested the Run.
	ContributorRequest ContributorKind = "Request"
)

// Contributor is a user who caused a part of what a Run applies.
type Contributor struct {
	// Kind is what the user did: Spec, Repository, State, Author, Committer or Request.
	Kind ContributorKind `json:"kind"`
	// Name is the name of the user, as the API server authenticates it. Of an author or committer it is the name and
	// e-mail address in the commit, which is not verified. Example: alice@example.com.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// Users are the names under which the API server can know an author or committer, in lower case: the name, the
	// e-mail address, and its part before the @. Unset for other kinds. Example: [alice smith, alice@example.com,
	// alice].
	// +kubebuilder:validation:MaxItems=4
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	// +listType=atomic
	// +optional
	Users []string `json:"users,omitempty"`
	// Of is the newest change of the user: a generation of the spec, a commit, or a version of the State. Example:
	// 1f3c2ab.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	Of string `json:"of,omitempty"`
}

// Unapplied are the users who changed the inputs of a Stack since they were applied.
type Unapplied struct {
	// InputsDigest is the digest of the inputs of the last apply that succeeded. When the inputs are the same again,
	// the changes are reverted and contributors is empty. Unset if no apply succeeded. Example: sha256:1f3c....
	// +optional
	InputsDigest string `json:"inputsDigest,omitempty"`
	// Commit is the commit of the last apply, or the first one that was read. Later commits are not applied. Unset if
	// the code is not from git.
	// +optional
	Commit string `json:"commit,omitempty"`
	// Generation is the newest generation of the Stack whose user is known.
	// +optional
	Generation int64 `json:"generation,omitempty"`
	// RepositoryGeneration is the newest generation of the Repository whose user is known.
	// +optional
	RepositoryGeneration int64 `json:"repositoryGeneration,omitempty"`
	// Contributors are the users. The authors of commits are those of the newest Run. At most 50.
	// +kubebuilder:validation:MaxItems=50
	// +listType=atomic
	// +optional
	Contributors []Contributor `json:"contributors,omitempty"`
	// Unknown is why other users may have changed the inputs too. Unset if all are known.
	// +kubebuilder:validation:MaxLength=1000
	// +optional
	Unknown string `json:"unknown,omitempty"`
}
