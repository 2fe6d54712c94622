//go:build envtest

package repository

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/test/apiserver"
)

func TestEventsEnqueueTheRepositoriesThatTheyConcern(t *testing.T) {
	bySecret := apiserver.Index{Of: &v1alpha1.Repository{}, Field: SecretIndex, Values: IndexSecret}
	r, elsewhere := apiserver.New(t, bySecret), apiserver.New(t, bySecret)
	repo := &v1alpha1.Repository{ObjectMeta: metav1.ObjectMeta{Name: "infra"}, Spec: v1alpha1.RepositorySpec{
		URL:         "https://git.example.com/infra.git",
		Credentials: &v1alpha1.SecretSource{Secret: v1alpha1.ObjectRef{Name: "git"}},
	}}
	open := &v1alpha1.Repository{ObjectMeta: metav1.ObjectMeta{Name: "open"},
		Spec: v1alpha1.RepositorySpec{URL: repo.Spec.URL}}
	r.Make(repo, open)
	reads := &v1alpha1.Stack{Spec: v1alpha1.StackSpec{Source: v1alpha1.Source{
		Git: &v1alpha1.GitSource{Repository: v1alpha1.RepositoryRef{Namespace: r.Namespace, Name: "infra"}},
	}}}
	reconciler := &Reconciler{Client: r.Client}
	infra := []reconcile.Request{{NamespacedName: client.ObjectKeyFromObject(repo)}}
	for name, tt := range map[string]struct{ got, want []reconcile.Request }{
		"a Stack reconciles the Repository that it reads from": {repositoryOf(t.Context(), reads), infra},
		"a Stack without one reconciles none": {
			repositoryOf(t.Context(), &v1alpha1.Stack{}), nil},
		"a Secret reconciles the Repositories that read their credentials": {
			reconciler.repositoriesOf(t.Context(), apiserver.Metadata("Secret", r.Namespace, "git")), infra},
		"a Secret of the same name in another namespace reconciles none": {
			reconciler.repositoriesOf(t.Context(), apiserver.Metadata("Secret", elsewhere.Namespace, "git")), nil},
		"the end of a fetch reconciles its Repository": {fetched(t.Context(), client.ObjectKeyFromObject(repo)), infra},
	} {
		if !equality.Semantic.DeepEqual(tt.got, tt.want) {
			t.Errorf("%s: %v", name, tt.got)
		}
	}
}
