package snapshot

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/stack/decision"
	"cairn.dev/cairn/internal/lifecycle/variableset"
)

// roundedDigits is how many significant digits a number has at least that the API server has rounded: it stores one
// that is no 64-bit integer as a floating-point number, which has 15 digits or more.
const roundedDigits = 16

// checkNumbers rejects a number in spec.variables, or in a VariableSet, that the API server has rounded: no user would
// see that the engine gets another one.
func checkNumbers(stack *v1alpha1.Stack) *decision.Problem {
	for _, v := range stack.Spec.Variables {
		if v.Value == nil {
			continue
		}
		decoder := json.NewDecoder(bytes.NewReader(v.Value.Raw))
		decoder.UseNumber()
		for {
			token, err := decoder.Token()
			if err != nil {
				break
			}
			if n, ok := token.(json.Number); ok && isRounded(n) {
				return &decision.Problem{Reason: v1alpha1.ReasonVariableInvalid,
					Message: fmt.Sprintf("spec.variables[%s]%s has the number %s, "+
						"which the API server rounded: write a number of more than 18 digits as a string, which the "+
						"engine converts",
						v.Name, ofSet(variableset.VariableFrom(stack, v.Name)), n)}
			}
		}
	}
	return nil
}

func isRounded(n json.Number) bool {
	if _, err := n.Int64(); err == nil {
		return false
	}
	f, err := n.Float64()
	if err != nil || f != math.Trunc(f) || math.Abs(f) < math.MaxInt64 {
		return false
	}
	mantissa, _, _ := strings.Cut(strings.ToLower(n.String()), "e")
	digits := strings.Trim(strings.NewReplacer("-", "", ".", "").Replace(mantissa), "0")
	return len(digits) >= roundedDigits
}
