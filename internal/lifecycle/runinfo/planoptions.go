package runinfo

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"cairn.dev/cairn/api/v1alpha1"
)

// requested is the value of the annotation cairn.dev/requested-plan-options.
type requested struct {
	RequestedAt string `json:"requestedAt"`
	v1alpha1.PlanOptions
}

// OptionsOfRequest is the value of the annotation cairn.dev/requested-plan-options of a request; empty without options.
func OptionsOfRequest(at string, options *v1alpha1.PlanOptions) string {
	if options == nil {
		return ""
	}
	data, _ := json.Marshal(requested{at, *options}) // strings and bools always can be
	return string(data)
}

// requestedOptions reads the options of a request, or says why it is rejected: a request with options that are not
// understood could apply more than what the user wanted.
func requestedOptions(text string, q Request) (options *v1alpha1.PlanOptions, rejected string) {
	const name = v1alpha1.RequestedPlanOptionsAnnotation
	var r requested
	d := json.NewDecoder(bytes.NewBufferString(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil || d.More() {
		return nil, Clip(fmt.Sprintf("%s is not the JSON of options: %v", name, err), 300)
	}
	switch {
	case r.RequestedAt != q.At:
		return nil, Clip(fmt.Sprintf("%s belongs to the request of %q: remove it, or set its requestedAt to the "+
			"value of %s",
			name, r.RequestedAt, v1alpha1.RequestedAtAnnotation), 300)
	case q.Operation != v1alpha1.OperationApply && q.Operation != v1alpha1.OperationPlan:
		return nil, fmt.Sprintf("%s is for the operations Plan and Apply, and not for %s", name, q.Operation)
	}
	if wrong := InvalidPlanOptions(&r.PlanOptions); wrong != "" {
		return nil, name + ": " + wrong
	}
	return &r.PlanOptions, ""
}

const (
	// mostAddresses is how many addresses each option can have, and longestAddress how many bytes each of them: as the
	// fields of PlanOptions.
	mostAddresses  = 50
	longestAddress = 1024
)

// InvalidPlanOptions is why no Run can have the options; empty if one can. The API server has the same rules for Runs.
func InvalidPlanOptions(o *v1alpha1.PlanOptions) string {
	for _, list := range [][]string{o.Targets, o.Excludes, o.Replace} {
		if len(list) > mostAddresses {
			return fmt.Sprintf("there are %d addresses, and the limit is %d", len(list), mostAddresses)
		}
		if slices.ContainsFunc(list, func(a string) bool { return a == "" || len(a) > longestAddress }) {
			return fmt.Sprintf("an address is empty, or has more than %d bytes", longestAddress)
		}
	}
	switch {
	case len(o.Targets) > 0 && len(o.Excludes) > 0:
		return "targets and excludes cannot both be set"
	case o.RefreshOnly && len(o.Targets)+len(o.Excludes)+len(o.Replace) > 0:
		return "refreshOnly cannot be combined with other options"
	case !o.IsPartial() && len(o.Replace) == 0:
		return "set targets, excludes, replace or refreshOnly"
	}
	return ""
}

// mostNamedOptions is how many addresses PlanOptions names of an option.
const mostNamedOptions = 3

// PlanOptions words options as the engines' command line has them, as in "-target=module.net, -replace=aws_eip.a".
func PlanOptions(o *v1alpha1.PlanOptions) string {
	var parts []string
	if o.RefreshOnly {
		parts = append(parts, "-refresh-only")
	}
	for _, option := range []struct {
		name      string
		addresses []string
	}{{"-target", o.Targets}, {"-exclude", o.Excludes}, {"-replace", o.Replace}} {
		for _, a := range option.addresses[:min(len(option.addresses), mostNamedOptions)] {
			parts = append(parts, option.name+"="+Clip(a, 200))
		}
		if n := len(option.addresses) - mostNamedOptions; n > 0 {
			parts = append(parts, fmt.Sprintf("%d more of %s", n, option.name))
		}
	}
	return strings.Join(parts, ", ")
}

// Partial is why an apply of the Run's plan leaves changes of the code; empty if it has all of them.
func Partial(run *v1alpha1.Run) string {
	switch {
	case run.Status.Plan != nil && run.Status.Plan.Partial != "":
		return run.Status.Plan.Partial
	case run.Spec.PlanOptions.IsPartial():
		return "it was requested with " + PlanOptions(run.Spec.PlanOptions)
	}
	return ""
}
