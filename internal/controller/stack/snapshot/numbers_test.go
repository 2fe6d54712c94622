package snapshot

import (
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"cairn.dev/cairn/api/v1alpha1"
)

// The values are as the API server stores them.
func TestANumberThatTheAPIServerRoundedIsRejected(t *testing.T) {
	for value, rejected := range map[string]bool{
		`12345678901234567000`: true, `1.8446744073709552e+19`: true, `{"a": [-12345678901234567000]}`: true,
		`1.2345678901234567e+30`: true,
		`123456789012345678`:     false, `9223372036854775807`: false, `1e+30`: false, `20000000000000000000`: false,
		`0.12345678901234568`:    false,
		`"12345678901234567890"`: false, `null`: false, `true`: false,
	} {
		p := checkNumbers(&v1alpha1.Stack{Spec: v1alpha1.StackSpec{Variables: []v1alpha1.Variable{
			{Name: "account", Value: &apiextensionsv1.JSON{Raw: []byte(value)}}, {Name: "other"},
		}}})
		if (p != nil) != rejected || p != nil && (p.Reason != v1alpha1.ReasonVariableInvalid ||
			!strings.Contains(p.Message, "spec.variables[account]")) {
			t.Errorf("%s: %+v", value, p)
		}
	}
}
