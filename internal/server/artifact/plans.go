package artifact

import (
	"fmt"

	"cairn.dev/cairn/api/v1alpha1"
)

// PlanFolder returns the folder with the plans of a Run. The operator deletes it with the Run.
func PlanFolder(run *v1alpha1.Run) string { return fmt.Sprintf("plans/%s/%s", run.Namespace, run.UID) }

// PlanFormKey returns the key of a form of a plan.
func PlanFormKey(plan, form string) string { return plan + "." + form }

// PlanVerdictKey returns the key of the result of the policies on a plan.
func PlanVerdictKey(plan string) string { return plan + ".verdict" }
