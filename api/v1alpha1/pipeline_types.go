package v1alpha1

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// RequestedPromotionAnnotation of a Pipeline is the promotion that cairn.dev/requested-at requests, as STAGE=COMMIT. It
// requires the verb promote on the Pipeline. cairn promote writes it.
const RequestedPromotionAnnotation = "cairn.dev/requested-promotion"

// Pipeline promotes commits through stages, such as dev, staging and production. A Stack that a stage selects has the
// code of the commit that its stage has, and not that of the branch.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:categories=cairn
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Release",type=string,JSONPath=`.status.releases[0].commit`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
type Pipeline struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec declares the stages.
	Spec PipelineSpec `json:"spec"`
	// Status reports which commit each stage has. observedGeneration is -1 until an operator reconciles the Pipeline.
	// +kubebuilder:default={"observedGeneration":-1}
	// +structType=atomic
	// +optional
	Status PipelineStatus `json:"status,omitempty"`
}

// PipelineList is a list of Pipelines.
//
// +kubebuilder:object:root=true
type PipelineList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Pipeline `json:"items"`
}

// PipelineSpec declares the stages of a Pipeline.
type PipelineSpec struct {
	// Repository is the Repository whose commits are promoted. The Stacks of all stages must have their code from it.
	// Its spec.allowedNamespaces must include the namespace of the Pipeline. It cannot change.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="the Repository of a Pipeline cannot change: create another Pipeline"
	Repository RepositoryRef `json:"repository"`

	// Ref is the branch whose commits become releases. Default: spec.ref of the Repository. Example: main.
	// +kubebuilder:validation:MaxLength=255
	// +optional
	Ref string `json:"ref,omitempty"`

	// Stages are the stages in the order in which a release passes them. At most 20.
	// +kubebuilder:validation:XValidation:rule="!has(self[0].carryApproval)",message="the first stage cannot have carryApproval: there is no stage before it"
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=20
	// +listType=map
	// +listMapKey=name
	Stages []PipelineStage `json:"stages"`

	// Releases is which releases a stage gets. Latest: the newest one that the stage before has completed; releases
	// that did not begin in the stage are skipped. Every: each release, one after another. Default: Latest.
	// +kubebuilder:default=Latest
	// +optional
	Releases ReleasePolicy `json:"releases,omitempty"`
}

// ReleasePolicy is which releases a stage gets.
//
// +kubebuilder:validation:Enum=Latest;Every
type ReleasePolicy string

// Which releases a stage gets.
const (
	// ReleasesLatest skips releases that did not begin.
	ReleasesLatest ReleasePolicy = "Latest"
	// ReleasesEvery skips none.
	ReleasesEvery ReleasePolicy = "Every"
)

// PromotionMode is how a stage gets a release.
//
// +kubebuilder:validation:Enum=Automatic;Manual
type PromotionMode string

// How a stage gets a release.
const (
	// PromoteAutomatic: as soon as the stage before has completed it.
	PromoteAutomatic PromotionMode = "Automatic"
	// PromoteManual: after a user with the verb promote on the Pipeline requests it.
	PromoteManual PromotionMode = "Manual"
)

// CarryStageApproval is when an approval in the stage before counts.
//
// +kubebuilder:validation:Enum=SameShape
type CarryStageApproval string

// CarrySameShape carries an approval if both plans change the same in the same way.
const CarrySameShape CarryStageApproval = "SameShape"

// PipelineStage is a stage of a Pipeline.
type PipelineStage struct {
	// Name is the name of the stage. Example: production.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`

	// Stacks selects the Stacks of the stage in the namespace of the Pipeline by their labels. A Stack that several
	// stages select starts no Run. Example: {matchLabels: {env: production}}.
	// +kubebuilder:validation:XValidation:rule="(has(self.matchLabels) && size(self.matchLabels) > 0) || (has(self.matchExpressions) && size(self.matchExpressions) > 0)",message="must select by a label"
	Stacks metav1.LabelSelector `json:"stacks"`

	// Promote is how the stage gets a release. Automatic: as soon as the stage before has completed it. Manual: after a
	// user with the verb promote on the Pipeline requests it, for example with cairn promote. Default: Manual.
	// +optional
	Promote PromotionMode `json:"promote,omitempty"`

	// CarryApproval lets an approval in the stage before count in this stage. SameShape: if the plan has the addresses,
	// actions and changed attribute paths of the plan that a user approved there for the same release, whatever the
	// values are, and deletes or replaces nothing. Stacks correspond whose labels are the same, without those that the
	// selectors of the two stages name. Default: each plan is approved in this stage.
	// +optional
	CarryApproval CarryStageApproval `json:"carryApproval,omitempty"`

	// Verify is what is verified after the Stacks of the stage have applied a release, before the soak. A release that
	// does not pass stops in the stage. Default: nothing.
	// +optional
	Verify *StageVerification `json:"verify,omitempty"`

	// Soak is the time that a release stays in the stage after it is applied and verified, before the stage is
	// complete. It begins again after a failure. At most 720h. Default: 0s. Example: 30m.
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s') && duration(self) <= duration('720h')",message="must be at least 0s and at most 720h"
	// +optional
	Soak *metav1.Duration `json:"soak,omitempty"`
}

// StageVerification is what a stage verifies.
type StageVerification struct {
	// Drift requires that each affected Stack has no drift after its apply. Cairn checks that at once after the apply,
	// and again every 10 minutes while a check fails. Drift that spec.drift.ignore of the Stack ignores does not count.
	// Drift checks of the Stacks must be enabled. Default: not verified. Example: {timeout: 30m}.
	// +optional
	Drift *DriftVerification `json:"drift,omitempty"`
}

// DriftVerification verifies that Stacks have no drift.
type DriftVerification struct {
	// Timeout is the time after which a verification without a result is reported (VerificationOverdue). The release
	// does not fail thereby, and the verification continues. At least 1m and at most 24h. Default: 1h.
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1m') && duration(self) <= duration('24h')",message="must be at least 1m and at most 24h"
	// +optional
	Timeout *metav1.Duration `json:"timeout,omitempty"`
}

// PipelineStatus reports which release each stage has.
type PipelineStatus struct {
	// Conditions are the latest observations. Ready is True if all stages have completed the newest release.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// ObservedGeneration is the generation of the spec that the status describes. -1 until an operator reconciles the
	// Pipeline.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Releases are the commits that changed the code of a Stack of the Pipeline, newest first: the last 20, and older
	// ones that a stage has. Commits that were fetched together are one release.
	// +listType=atomic
	// +optional
	Releases []Release `json:"releases,omitempty"`

	// Stages report the stages, in the order of spec.stages. Stacks have the code of the release of their stage.
	// +listType=map
	// +listMapKey=name
	// +optional
	Stages []StageStatus `json:"stages,omitempty"`

	// LastHandledRequest is the last request for a promotion (annotation cairn.dev/requested-at) that was accepted or
	// rejected.
	// +optional
	LastHandledRequest *HandledRequest `json:"lastHandledRequest,omitempty"`
}

// Observed reports whether an operator wrote the status.
func (s *PipelineStatus) Observed() bool { return s.ObservedGeneration > 0 }

// Release is a commit that is promoted. It never changes.
type Release struct {
	// Commit is the ID of the commit. Example: 1f3c....
	Commit string `json:"commit"`
	// Author wrote the commit, by name. At most 300 characters.
	// +optional
	Author string `json:"author,omitempty"`
	// Subject is the first line of the message of the commit. At most 300 characters.
	// +optional
	Subject string `json:"subject,omitempty"`
	// CreatedAt is the time when Cairn found the commit.
	CreatedAt metav1.Time `json:"createdAt"`
	// Stacks is the number of Stacks of the Pipeline whose code differs from the release before.
	Stacks int32 `json:"stacks"`
	// Stages are the stages that had the release, or have it.
	// +listType=map
	// +listMapKey=name
	// +optional
	Stages []ReleaseStage `json:"stages,omitempty"`
}

// In returns what happened to the release in a stage; nil if the stage never had it.
func (r *Release) In(stage string) *ReleaseStage {
	for i := range r.Stages {
		if r.Stages[i].Name == stage {
			return &r.Stages[i]
		}
	}
	return nil
}

// ReleaseStage is what happened to a release in a stage.
type ReleaseStage struct {
	// Name is the name of the stage.
	Name string `json:"name"`
	// PromotedAt is the last time when the stage got the release.
	PromotedAt metav1.Time `json:"promotedAt"`
	// PromotedBy is the user who promoted it, as the name of a user for RBAC. Unset if the stage promotes
	// automatically.
	// +optional
	PromotedBy string `json:"promotedBy,omitempty"`
	// CompletedAt is the time when the stage completed the release. Unset if it did not since promotedAt.
	// +optional
	CompletedAt *metav1.Time `json:"completedAt,omitempty"`
}

// StageState is what a stage does with its release.
//
// +kubebuilder:validation:Enum=Waiting;Progressing;Failed;Verifying;Soaking;Complete
type StageState string

// What a stage does with its release.
const (
	// StageWaiting: the stage has no release, or no Stack.
	StageWaiting StageState = "Waiting"
	// StageProgressing: an affected Stack has not applied the release.
	StageProgressing StageState = "Progressing"
	// StageFailed: an affected Stack failed, or did not pass the verification. The release continues after a
	// correction.
	StageFailed StageState = "Failed"
	// StageVerifying: all affected Stacks have applied the release, and the verification has no result yet.
	StageVerifying StageState = "Verifying"
	// StageSoaking: all affected Stacks have applied the release, it is verified, and the soak is not over.
	StageSoaking StageState = "Soaking"
	// StageComplete: the next stage can get the release.
	StageComplete StageState = "Complete"
)

// StageStatus is the release of a stage, and what the stage does with it.
type StageStatus struct {
	// Name is the name of the stage.
	Name string `json:"name"`
	// Release is the commit that the Stacks of the stage have. Unset before the first one.
	// +optional
	Release string `json:"release,omitempty"`
	// Promotion counts the promotions of the stage. A Stack reports it with the release that it has.
	// +optional
	Promotion int64 `json:"promotion,omitempty"`
	// State is what the stage does with its release.
	State StageState `json:"state"`
	// Since is the time of the last change of state or release.
	Since metav1.Time `json:"since"`
	// Message describes the state.
	// +optional
	Message string `json:"message,omitempty"`
	// Stacks is the number of Stacks in the stage.
	Stacks int32 `json:"stacks"`
	// Affected is the number of Stacks whose code differs between base and the release, and of those that are not known
	// to have applied base.
	Affected int32 `json:"affected"`
	// Applied is the number of affected Stacks that have applied the release.
	Applied int32 `json:"applied"`
	// AppliedAt is the time when all affected Stacks had applied the release. The soak counts from it if the stage
	// verifies nothing.
	// +optional
	AppliedAt *metav1.Time `json:"appliedAt,omitempty"`
	// VerifiedAt is the time when the release passed the verification. The soak counts from it. Unset if the stage
	// verifies nothing.
	// +optional
	VerifiedAt *metav1.Time `json:"verifiedAt,omitempty"`
	// Base is the release that the stage completed last, with which its release is compared. Unset if there is none, or
	// if the release replaced one that the stage did not complete: all Stacks are affected then.
	// +optional
	Base string `json:"base,omitempty"`
	// Next is the release that the stage can get. Unset if there is none.
	// +optional
	Next string `json:"next,omitempty"`
	// Hold is set after a user promoted an earlier release. The stage gets no release automatically until a user
	// promotes a newer one, or the same one again.
	// +optional
	Hold *PromotionHold `json:"hold,omitempty"`
}

// PromotionHold stops automatic promotion to a stage.
type PromotionHold struct {
	// By is the user who promoted an earlier release, as the name of a user for RBAC.
	By string `json:"by"`
	// At is the time of the promotion.
	At metav1.Time `json:"at"`
}

// StackRelease is the release of the stage that selects a Stack.
type StackRelease struct {
	// Pipeline is the name of the Pipeline, in the namespace of the Stack.
	Pipeline string `json:"pipeline"`
	// UID of the Pipeline.
	UID types.UID `json:"uid"`
	// Stage is the name of the stage.
	Stage string `json:"stage"`
	// Commit is the commit that the stage has. inputsDigest is that of the code of this commit.
	Commit string `json:"commit"`
	// Promotion is that of the stage (status.stages[].promotion of the Pipeline).
	Promotion int64 `json:"promotion"`
}

// Text names the stage: "stage production of Pipeline shop".
func (r *StackRelease) Text() string { return "stage " + r.Stage + " of Pipeline " + r.Pipeline }

// RepositoryKey returns the Repository whose commits are promoted.
func (p *Pipeline) RepositoryKey() types.NamespacedName {
	ref := p.Spec.Repository
	return types.NamespacedName{Namespace: cmp.Or(ref.Namespace, p.Namespace), Name: ref.Name}
}

// Stage returns the status of a stage; nil if it has none.
func (p *Pipeline) Stage(name string) *StageStatus {
	for i := range p.Status.Stages {
		if p.Status.Stages[i].Name == name {
			return &p.Status.Stages[i]
		}
	}
	return nil
}

// Release returns a release and its position, from the newest one; nil and -1 if there is none of the commit.
func (p *Pipeline) Release(commit string) (*Release, int) {
	for i := range p.Status.Releases {
		if p.Status.Releases[i].Commit == commit {
			return &p.Status.Releases[i], i
		}
	}
	return nil, -1
}
