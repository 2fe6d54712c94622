package session

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Ask asks the person at the terminal, and says whether the answer is exactly the one that is wanted. Where nobody is there
// to be asked it is not.
func (s *Session) Ask(ctx context.Context, question, want string) (bool, error) {
	if !s.TTY {
		return false, nil
	}
	fmt.Fprintf(s.ErrOut, "\n%s ", question)
	type answer struct {
		line string
		err  error
	}
	answers := make(chan answer, 1)
	go func() { // it ends with the answer, or with the process: a terminal's read cannot be taken back
		line, err := bufio.NewReader(s.In).ReadString('\n')
		answers <- answer{line, err}
	}()
	select {
	case <-ctx.Done():
		fmt.Fprintln(s.ErrOut)
		return false, context.Cause(ctx)
	case a := <-answers:
		if a.err == io.EOF { //nolint:errorlint // bufio.Reader gives io.EOF itself, never wrapped
			fmt.Fprintln(s.ErrOut)
		} else if a.err != nil {
			return false, a.err
		}
		return strings.TrimSpace(a.line) == want, nil
	}
}

// ReadInput reads standard input to its end, or up to most bytes. An interrupt ends the wait: nothing else would, where a terminal or a pipe is open and
// says nothing.
func (s *Session) ReadInput(ctx context.Context, most int64) ([]byte, error) {
	type text struct {
		all []byte
		err error
	}
	read := make(chan text, 1)
	go func() { // it ends with the input, or with the process: such a read cannot be taken back
		all, err := io.ReadAll(io.LimitReader(s.In, most))
		read <- text{all, err}
	}()
	select {
	case <-ctx.Done():
		return nil, Interrupted("interrupted: nothing was done")
	case t := <-read:
		return t.all, t.err
	}
}

// Confirm asks whether to go on, unless that was said already. Without an answer nothing is done.
func (s *Session) Confirm(ctx context.Context, said, canAsk bool, question string) error {
	switch {
	case said:
		return nil
	case !canAsk || !s.TTY:
		return errors.New("nothing was done, since nobody is there to be asked: look at what is said above, and add --yes")
	}
	yes, err := s.Ask(ctx, question+" Only 'yes' does it:", "yes")
	switch {
	case ctx.Err() != nil:
		return Interrupted("interrupted: nothing was done")
	case err == nil && !yes:
		return errors.New("nothing was done")
	}
	return err
}
