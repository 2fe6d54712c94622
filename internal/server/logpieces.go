package server

import (
	"strconv"
	"unicode/utf8"

	"cairn.dev/cairn/internal/people"
)

// logPieces send a log as server-sent events: "log", a people.LogPiece, whose ID is the offset that it leads to, and "end" when there
// is no more to come. Characters are whole.
type logPieces struct {
	events *eventStream
	// at is the offset of what is sent next; rest is the beginning of a character.
	at   int64
	rest []byte
}

func (p *logPieces) send(data []byte) error {
	if len(data) == 0 {
		return p.events.beat()
	}
	data = append(p.rest, data...)
	whole := wholeCharacters(data)
	p.rest = append([]byte(nil), data[whole:]...)
	if whole == 0 {
		return nil
	}
	return p.piece(data[:whole])
}

func (p *logPieces) piece(data []byte) error {
	p.at += int64(len(data))
	return p.events.send(strconv.FormatInt(p.at, 10), "log", people.LogPiece{Text: string(data)})
}

// end sends what is left, be it whole or not, and that there is no more.
func (p *logPieces) end() error {
	if len(p.rest) > 0 {
		if err := p.piece(p.rest); err != nil {
			return err
		}
	}
	return p.events.send("", "end", struct{}{})
}

// wholeCharacters is how many bytes come before a character that is cut off at the end.
func wholeCharacters(data []byte) int {
	for n := len(data) - 1; n >= 0 && n >= len(data)-utf8.UTFMax; n-- {
		if utf8.RuneStart(data[n]) {
			if utf8.FullRune(data[n:]) {
				return len(data)
			}
			return n
		}
	}
	return len(data)
}
