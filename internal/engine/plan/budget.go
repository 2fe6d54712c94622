package plan

import (
	"errors"
	"fmt"

	"cairn.dev/cairn/internal/base/jsonsize"
)

// Memory that values take, about, beside their text.
const (
	valueWeight     = 128 // a value of JSON that is decoded, such as an empty object
	attributeWeight = 320
	changeWeight    = 512
)

// budget is how much memory a View may take still.
type budget struct{ left int }

func (b *budget) take(n int) { b.left -= n }

// over is an error when more was taken than there was.
func (b *budget) over() error {
	if b.left < 0 {
		return ErrTooLarge
	}
	return nil
}

// part is a part of JSON where it is, and no copy of it.
type part []byte

// UnmarshalJSON takes it.
func (p *part) UnmarshalJSON(text []byte) error {
	*p = text
	return nil
}

// pieces reads what is in a list or an object one by one, each only if there is memory to decode it. That is free
// again afterwards.
func pieces(data part, start byte, left *budget, read func(name string, piece []byte) error) error {
	if len(data) == 0 {
		return nil
	}
	err := jsonsize.ForEach(data, start, func(quoted, piece []byte) error {
		if jsonsize.HasMoreValues(piece, left.left/valueWeight) {
			return ErrTooLarge
		}
		name, _ := textOf(quoted)
		return read(name, piece)
	})
	if errors.Is(err, jsonsize.ErrKind) {
		return fmt.Errorf("the engine's plan in JSON: not as expected")
	}
	return err
}
