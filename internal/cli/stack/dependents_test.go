package stack

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
)

func TestDestroyedFirst(t *testing.T) {
	for name, tt := range map[string]struct{ stacks, want string }{
		"nothing depends on it":                      {"net app", ""},
		"what depends on it is first":                {"net app:net", "app"},
		"through others too, in reverse":             {"net cluster:net app:cluster", "app cluster"},
		"each once, after all that depends on it":    {"net a:net,b b:net c:b,a", "c a b"},
		"not what it depends on":                     {"net:vpc vpc other:vpc", ""},
		"not what is destroyed, nor what is on that": {"net cluster!:net app:cluster dns:net", "dns"},
		"what a destroy has left resources of":       {"net cluster+:net", "cluster"},
		"not what depends on each other":             {"net:app app:net dns:net", "dns"},
		"a circle above it counts once":              {"net a:net,b b:a", "a"},
		"without the Stack itself in the list":       {"app:net", "app"},
	} {
		t.Run(name, func(t *testing.T) {
			var stacks []v1alpha1.Stack
			for _, text := range strings.Fields(tt.stacks) {
				name, on, _ := strings.Cut(text, ":")
				name, destroyed := strings.CutSuffix(name, "!")
				name, left := strings.CutSuffix(name, "+")
				s := v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Name: name}}
				if destroyed || left {
					s.Status.DestroyedByRun = name + "-2"
				}
				if left {
					s.Status.Resources = 3
				}
				for d := range strings.SplitSeq(on, ",") {
					if d != "" {
						s.Spec.DependsOn = append(s.Spec.DependsOn, v1alpha1.Dependency{Name: d})
					}
				}
				stacks = append(stacks, s)
			}
			var got []string
			for _, first := range destroyedFirst("net", stacks) {
				got = append(got, first.Name)
			}
			if got := strings.Join(got, " "); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}
