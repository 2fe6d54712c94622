package userapi

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"errors"
	"io"

	"filippo.io/age/armor"
)

// armorLine is the length of all lines of an armored text but the last.
const armorLine = 64

// largestSealed is more than a state is when it is encrypted and armored.
const largestSealed = LargestState + LargestState/2

// ErrNotSealed is returned for a log that has no encrypted state in it.
var ErrNotSealed = errors.New("there is no encrypted state in this log, or not all of it: it begins with " +
	armor.Header)

// Sealed finds the state that a runner printed to a pod's log, encrypted and armored: the last one, if there are
// several. Lines may begin with a time or with a name, as log viewers print them, and lines of others may be in
// between.
func Sealed(log io.Reader) ([]byte, error) { return sealed(log, largestSealed) }

func sealed(log io.Reader, most int) ([]byte, error) {
	lines := bufio.NewReaderSize(&bounded{from: log, left: LargestLog}, 64<<10)
	var found, open, short []byte
	inside, prefixed := false, false
	for {
		line, err := readLine(lines)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		switch {
		case bytes.HasSuffix(line, []byte(armor.Header)):
			inside, prefixed = true, len(line) > len(armor.Header)
			open, short = append(open[:0:0], armor.Header+"\n"...), nil
		case !inside:
		case bytes.HasSuffix(line, []byte(armor.Footer)):
			if len(short) > 0 {
				open = append(append(open, short...), '\n')
			}
			open = append(open, armor.Footer+"\n"...)
			found, inside = open, false
		default:
			text, ok := armored(line, prefixed)
			switch {
			case !ok:
			case len(text) == armorLine:
				open, short = append(append(open, text...), '\n'), nil
			default:
				short = bytes.Clone(text) // the last one, if the end follows
			}
			if len(open) > most {
				return nil, tooLarge("the encrypted state", int64(most))
			}
		}
		if err != nil {
			break
		}
	}
	if found == nil {
		return nil, ErrNotSealed
	}
	return found, nil
}

// armored returns the part of a line that may be armored text.
func armored(line []byte, prefixed bool) ([]byte, bool) {
	if i := bytes.LastIndexAny(line, " \t"); i >= 0 {
		if !prefixed {
			return nil, false
		}
		line = line[i+1:]
	}
	if len(line) == 0 || len(line) > armorLine || len(line)%4 != 0 {
		return nil, false
	}
	_, err := base64.StdEncoding.Strict().Decode(make([]byte, armorLine), line)
	return line, err == nil
}

// readLine returns a line without its end, valid until the next one. One that is longer than any that matters here
// comes in pieces.
func readLine(r *bufio.Reader) ([]byte, error) {
	line, err := r.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		err = nil
	}
	return bytes.TrimRight(line, "\r\n"), err
}

// bounded is a reader that fails past its bound.
type bounded struct {
	from io.Reader
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.from.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, tooLarge("the log", LargestLog)
	}
	return n, err
}
