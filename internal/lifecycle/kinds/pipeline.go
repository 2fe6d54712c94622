package kinds

import (
	"cmp"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/userapi"
)

// Pipelines are listed by name.
var Pipelines = &Type[v1alpha1.Pipeline, userapi.Pipeline]{
	Name: Name{Kind: "Pipeline", Plural: "Pipelines"},
	List: func() client.ObjectList { return &v1alpha1.PipelineList{} },
	Row:  pipeline,
	Query: List[userapi.Pipeline]{
		Name:    func(p *userapi.Pipeline) (string, string) { return p.Namespace, p.Name },
		Default: "name",
		Sorts: map[string]func(*userapi.Pipeline) Rank{
			"name":    func(p *userapi.Pipeline) Rank { return Rank{Text: p.Name} },
			"created": func(p *userapi.Pipeline) Rank { return at(&p.Created) },
			"changed": func(p *userapi.Pipeline) Rank { return at(p.Changed) },
		},
		Filters: map[string]func(*userapi.Pipeline) string{
			"namespace":  func(p *userapi.Pipeline) string { return p.Namespace },
			"ready":      func(p *userapi.Pipeline) string { return p.Ready },
			"reason":     func(p *userapi.Pipeline) string { return p.Reason },
			"repository": func(p *userapi.Pipeline) string { return p.Repository },
		},
		Words: func(p *userapi.Pipeline) []string {
			words := []string{p.Namespace + "/" + p.Name, p.Repository, p.Message}
			for _, s := range p.Stages {
				words = append(words, s.Name, s.Release)
			}
			return words
		},
	},
	Columns: []string{"Name", "Ready", "Reason", "Stages", "Age", "+Repository", MessageColumn},
	Cells: func(p *v1alpha1.Pipeline, age Age) []any {
		row := pipeline(p)
		stages := make([]string, len(row.Stages))
		for i, s := range row.Stages {
			stages[i] = s.Name + ": " + cmp.Or(shortCommit(s.Release), "none") + " " + s.State
		}
		return []any{
			p.Name, row.Ready, cmp.Or(row.Reason, newReason), strings.Join(stages, ", "), age(p.CreationTimestamp.Time),
			row.Repository, row.Message,
		}
	},
	Conditions: func(p *v1alpha1.Pipeline) []metav1.Condition { return p.Status.Conditions },
}

// The server lists and shows them, and the operator counts them.
//
// +kubebuilder:rbac:roleName=server,groups=cairn.dev,resources=pipelines,verbs=get;list;watch
// +kubebuilder:rbac:roleName=operator,groups=cairn.dev,resources=pipelines,verbs=list;watch

func pipeline(p *v1alpha1.Pipeline) userapi.Pipeline {
	is := ready(p.Status.Conditions)
	row := userapi.Pipeline{
		Object: ObjectOf(p), Ready: intern(string(is.Status)), Reason: intern(is.Reason), Message: intern(is.Message),
		Changed: when(&is.LastTransitionTime), Repository: p.RepositoryKey().Name, Deleted: p.DeletionTimestamp != nil,
		Stages: make([]userapi.PipelineStage, len(p.Spec.Stages)),
	}
	for i, spec := range p.Spec.Stages {
		row.Stages[i] = userapi.PipelineStage{Name: spec.Name, State: string(v1alpha1.StageWaiting)}
		if s := p.Stage(spec.Name); s != nil {
			row.Stages[i].State, row.Stages[i].Release, row.Stages[i].Next = string(s.State), s.Release, s.Next
		}
	}
	return row
}

func shortCommit(id string) string { return id[:min(len(id), 7)] }
