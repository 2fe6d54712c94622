package runnerapi

// PolicyResult is the result of the policies for a plan.
type PolicyResult struct {
	// Checked is how many were asked.
	Checked int32 `json:"checked"`
	// Findings, those that deny the plan first, 200 at most.
	Findings []Finding `json:"findings,omitempty"`
	// MoreDenied, MoreRequired and MoreWarned are how many others there were.
	MoreDenied   int `json:"moreDenied,omitempty"`
	MoreRequired int `json:"moreRequired,omitempty"`
	MoreWarned   int `json:"moreWarned,omitempty"`
}

// Denied counts the findings that deny the plan.
func (v PolicyResult) Denied() int { return v.MoreDenied + v.count(Deny) }

// ApprovalRequired counts the findings that require an approval of the plan.
func (v PolicyResult) ApprovalRequired() int { return v.MoreRequired + v.count(RequireApproval) }

// Warned counts the findings that only warn.
func (v PolicyResult) Warned() int { return v.MoreWarned + v.count(Warn) }

// Cut keeps at most so many findings, the first ones, and counts the others.
func (v PolicyResult) Cut(most int) PolicyResult {
	kept := min(len(v.Findings), most)
	for _, f := range v.Findings[kept:] {
		switch f.Action {
		case Deny:
			v.MoreDenied++
		case RequireApproval:
			v.MoreRequired++
		default:
			v.MoreWarned++
		}
	}
	v.Findings = v.Findings[:kept:kept]
	return v
}

// More is how many findings there were beside those that are kept.
func (v PolicyResult) More() int { return v.MoreDenied + v.MoreRequired + v.MoreWarned }

func (v PolicyResult) count(action string) int {
	n := 0
	for _, f := range v.Findings {
		if f.Action == action {
			n++
		}
	}
	return n
}

// What a finding does.
const (
	Deny            = "Deny"
	RequireApproval = "RequireApproval"
	Warn            = "Warn"
)

// Finding is one result of a policy.
type Finding struct {
	// Policy that found it. Example: rules/tags.rego.
	Policy string `json:"policy"`
	// Action: Deny, RequireApproval or Warn.
	Action string `json:"action"`
	// Message for the user.
	Message string `json:"message"`
}
