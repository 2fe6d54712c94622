package artifact

import (
	"fmt"

	"cairn.dev/cairn/api/v1alpha1"
)

// plansOf holds the plans of a Run. The operator removes it with the Run.
func PlanFolder(run *v1alpha1.Run) string { return fmt.Sprintf("plans/%s/%s", run.Namespace, run.UID) }

// formKey is where a form of a plan is kept.
func PlanFormKey(plan, form string) string { return plan + "." + form }

func PlanVerdictKey(plan string) string { return plan + ".verdict" }
