package store

// Verdict is what the policies say of a plan.
type Verdict struct {
	// Checked is how many were asked.
	Checked int32 `json:"checked"`
	// Findings, those that refuse the plan first. There are no more than 200.
	Findings []Finding `json:"findings,omitempty"`
	// MoreDenied and MoreWarned are how many others there were.
	MoreDenied int `json:"moreDenied,omitempty"`
	MoreWarned int `json:"moreWarned,omitempty"`
}

// Denied counts the findings that refuse the plan.
func (v Verdict) Denied() int { return v.MoreDenied + v.count(Deny) }

// Warned counts the findings that only warn.
func (v Verdict) Warned() int { return v.MoreWarned + v.count(Warn) }

func (v Verdict) count(action string) int {
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
	Deny = "Deny"
	Warn = "Warn"
)

// Finding is one thing that a policy has to say.
type Finding struct {
	// Policy that says it. Example: rules/tags.rego.
	Policy string `json:"policy"`
	// Action: Deny or Warn.
	Action string `json:"action"`
	// Message for a person.
	Message string `json:"message"`
}
