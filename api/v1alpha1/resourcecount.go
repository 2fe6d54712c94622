package v1alpha1

import (
	"encoding/json"
	"strconv"
)

// ResourceCount is the number of resources in a state. In JSON it is a number, or the text "unknown" for
// ResourcesUnknown.
//
// +kubebuilder:validation:Type=""
// +kubebuilder:validation:Format=""
// +kubebuilder:validation:XIntOrString
// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 0 : self == 'unknown'",message="a number of at least 0, or unknown"
type ResourceCount int32

// ResourcesUnknown is the count of a state that the engine encrypts. It is less than zero: an unknown count is never
// taken for none.
const ResourcesUnknown ResourceCount = -1

const unknownText = "unknown"

// String returns the number, or "unknown".
func (c ResourceCount) String() string {
	if c < 0 {
		return unknownText
	}
	return strconv.Itoa(int(c))
}

// MarshalJSON writes the number, or "unknown".
func (c ResourceCount) MarshalJSON() ([]byte, error) {
	if c < 0 {
		return json.Marshal(unknownText)
	}
	return json.Marshal(int32(c))
}

// UnmarshalJSON reads a number. Anything else is ResourcesUnknown: an error would keep a client from decoding a list.
func (c *ResourceCount) UnmarshalJSON(data []byte) error {
	var n int32
	if json.Unmarshal(data, &n) != nil || n < 0 {
		n = int32(ResourcesUnknown)
	}
	*c = ResourceCount(n)
	return nil
}
