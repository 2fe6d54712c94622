package planfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/big"

	"github.com/vmihailenco/msgpack/v5"
	"github.com/vmihailenco/msgpack/v5/msgpcode"
)

// deepest is how deep values may lie in one another.
const deepest = 200

// checkDepth rejects a value in which others lie too deep: what reads it calls itself for each level.
func checkDepth(value []byte) error {
	file := msgpack.NewDecoder(bytes.NewReader(value))
	for left := []int{1}; len(left) > 0; { // how many values are left on each level
		if len(left) > deepest {
			return errors.New("its values are nested too deep")
		}
		level := len(left) - 1
		if left[level] <= 0 {
			left = left[:level]
			continue
		}
		left[level]--
		code, err := file.PeekCode()
		if err != nil {
			return err
		}
		n := 0
		switch {
		case isArray(code):
			n, err = file.DecodeArrayLen()
		case isMap(code):
			n, err = file.DecodeMapLen()
			n *= 2
		default:
			err = file.Skip()
		}
		if err != nil {
			return err
		}
		left = append(left, n)
	}
	return nil
}

func isArray(code byte) bool {
	return code == msgpcode.Array16 || code == msgpcode.Array32 || msgpcode.IsFixedArray(code)
}

func isMap(code byte) bool {
	return code == msgpcode.Map16 || code == msgpcode.Map32 || msgpcode.IsFixedMap(code)
}

// errDiffers means that a value in JSON is not that of the plan file.
var errDiffers = errors.New("its value is another one")

// absent is a value that JSON does not have.
type absent struct{}

// sameValue reports whether JSON has the value of a plan file. What is not known before the apply is null or absent in
// JSON, and unknown marks it.
func sameValue(value []byte, shown, unknown any) error {
	return compare(value, shown, unknown, true)
}

// sameKnown is sameValue of a part of JSON that has no marks of what is unknown.
func sameKnown(value []byte, shown any) error { return compare(value, shown, nil, false) }

func compare(value []byte, shown, unknown any, marked bool) error {
	if len(value) == 0 {
		return same(isNothing(shown))
	}
	c := comparison{msgpack.NewDecoder(bytes.NewReader(value)), marked}
	return c.same(shown, unknown)
}

// isKnown reports that all of a value is known before the apply. It stores nothing of the value.
func isKnown(value []byte) bool {
	return nextIsKnown(msgpack.NewDecoder(bytes.NewReader(value)))
}

func nextIsKnown(file *msgpack.Decoder) bool {
	code, err := file.PeekCode()
	n := 0
	switch {
	case err != nil || msgpcode.IsExt(code): // which unknown values are
		return false
	case isArray(code):
		n, err = file.DecodeArrayLen()
	case isMap(code):
		n, err = file.DecodeMapLen()
		n *= 2
	default:
		return file.Skip() == nil
	}
	for range n {
		if !nextIsKnown(file) {
			return false
		}
	}
	return err == nil
}

func same(is bool) error {
	if !is {
		return errDiffers
	}
	return nil
}

func isNothing(shown any) bool { return shown == nil || shown == any(absent{}) }

// comparison reads a value of a plan file beside one in JSON.
type comparison struct {
	file *msgpack.Decoder
	// marked: JSON marks what is unknown.
	marked bool
}

func (c comparison) same(shown, unknown any) error {
	code, err := c.file.PeekCode()
	if err != nil {
		return err
	}
	isUnknown := msgpcode.IsExt(code)
	if isUnknown {
		if err := c.file.Skip(); err != nil {
			return err
		}
		return same(isNothing(shown) && (unknown == true || !c.marked))
	}
	switch {
	case isArray(code):
		return c.list(shown, unknown)
	case unknown == true:
		return errDiffers
	case code == msgpcode.Nil:
		return errors.Join(c.file.DecodeNil(), same(isNothing(shown)))
	case code == msgpcode.True, code == msgpcode.False:
		is, err := c.file.DecodeBool()
		return errors.Join(err, same(shown == any(is)))
	case msgpcode.IsString(code):
		text, err := c.file.DecodeString()
		return errors.Join(err, same(sameText(text, shown)))
	case isMap(code):
		return c.object(shown, unknown)
	case msgpcode.IsBin(code):
		return errors.New("its values are not known here")
	}
	number, err := c.file.DecodeInterface()
	if err != nil {
		return err
	}
	return same(sameNumber(number, shown))
}

// list compares a list, or a value whose type the schema leaves open: that is written as a list of its type, which
// alone is binary, and the value.
func (c comparison) list(shown, unknown any) error {
	n, err := c.file.DecodeArrayLen()
	if err != nil {
		return err
	}
	if n == 2 {
		if code, err := c.file.PeekCode(); err == nil && msgpcode.IsBin(code) {
			if err := c.file.Skip(); err != nil {
				return err
			}
			return c.same(shown, unknown)
		}
	}
	list, ok := shown.([]any)
	if !ok || len(list) != n || unknown == true {
		return errDiffers
	}
	marks, _ := unknown.([]any)
	for i := range list {
		var mark any
		if i < len(marks) {
			mark = marks[i]
		}
		if err := c.same(list[i], mark); err != nil {
			return err
		}
	}
	return nil
}

func (c comparison) object(shown, unknown any) error {
	n, err := c.file.DecodeMapLen()
	if err != nil {
		return err
	}
	object, ok := shown.(map[string]any)
	if !ok {
		return errDiffers
	}
	marks, _ := unknown.(map[string]any)
	read, shownMembers, marked := map[string]bool{}, 0, 0
	for range n {
		name, err := c.file.DecodeString()
		if err != nil {
			return err
		}
		if read[name] {
			return errors.New("its plan has a name twice")
		}
		read[name] = true
		value, there := object[name]
		if !there {
			value = absent{}
		} else {
			shownMembers++
		}
		mark, there := marks[name]
		if there {
			marked++
		}
		if err := c.same(value, mark); err != nil {
			return err
		}
	}
	return same(shownMembers == len(object) && marked == len(marks))
}

// sameText compares a text, or a number that is too long for MessagePack's own.
func sameText(text string, shown any) bool {
	switch s := shown.(type) {
	case string:
		return s == text
	case json.Number:
		return equalNumbers(text, s.String())
	}
	return false
}

func sameNumber(number, shown any) bool {
	s, ok := shown.(json.Number)
	data, err := json.Marshal(number)
	return ok && err == nil && equalNumbers(string(data), s.String())
}

func equalNumbers(a, b string) bool {
	const precision = 512 // that of the engines
	x, _, errX := big.ParseFloat(a, 10, precision, big.ToNearestEven)
	y, _, errY := big.ParseFloat(b, 10, precision, big.ToNearestEven)
	return errX == nil && errY == nil && x.Cmp(y) == 0
}
