package stack

import (
	"errors"
	"reflect"

	"github.com/spf13/cobra"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
)

// addPlanOptions adds the flags for options of a plan.
func addPlanOptions(cmd *cobra.Command, o *v1alpha1.PlanOptions) {
	f := cmd.Flags()
	f.StringArrayVar(&o.Targets, "target", nil, "plan only this `ADDRESS` and what it depends on; can be repeated")
	f.StringArrayVar(&o.Excludes, "exclude", nil,
		"leave out this `ADDRESS` and what depends on it, with OpenTofu; can be repeated")
	f.StringArrayVar(&o.Replace, "replace", nil, "replace the resource of this `ADDRESS`; can be repeated")
	f.BoolVar(&o.RefreshOnly, "refresh-only", false,
		"accept drift: plan only to write to the state what changed outside of Cairn")
}

// planOptions returns the options that were set; nil if none was.
func planOptions(o *v1alpha1.PlanOptions) (*v1alpha1.PlanOptions, error) {
	if reflect.ValueOf(*o).IsZero() {
		return nil, nil
	}
	if wrong := runinfo.InvalidPlanOptions(o); wrong != "" {
		return nil, errors.New(wrong)
	}
	return o, nil
}
