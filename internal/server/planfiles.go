package server

import (
	"fmt"

	"cairn.dev/cairn/api/v1alpha1"
)

// plansOf holds the plans of a Run. The operator removes it with the Run.
func plansOf(run *v1alpha1.Run) string { return fmt.Sprintf("plans/%s/%s", run.Namespace, run.UID) }

// formKey is where a form of a plan is kept.
func formKey(plan, form string) string { return plan + "." + form }

func verdictKey(plan string) string { return plan + ".verdict" }
