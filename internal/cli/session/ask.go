package session

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Ask asks the user and returns whether the answer is the wanted one. Without a terminal it returns false.
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
	go func() { // ends with the answer or with the process: a read of a terminal cannot be canceled
		line, err := bufio.NewReader(s.In).ReadString('\n')
		answers <- answer{line, err}
	}()
	select {
	case <-ctx.Done():
		fmt.Fprintln(s.ErrOut)
		return false, context.Cause(ctx)
	case a := <-answers:
		if a.err == io.EOF { //nolint:errorlint // bufio.Reader returns io.EOF itself, never wrapped
			fmt.Fprintln(s.ErrOut)
		} else if a.err != nil {
			return false, a.err
		}
		return strings.TrimSpace(a.line) == want, nil
	}
}

// ReadInput reads standard input to its end, or up to a limit in bytes. An interrupt ends the wait for a terminal or a
// pipe without input.
func (s *Session) ReadInput(ctx context.Context, limit int64) ([]byte, error) {
	type text struct {
		all []byte
		err error
	}
	read := make(chan text, 1)
	go func() { // ends with the input or with the process: such a read cannot be canceled
		all, err := io.ReadAll(io.LimitReader(s.In, limit))
		read <- text{all, err}
	}()
	select {
	case <-ctx.Done():
		return nil, Interrupted(interruptedBefore)
	case t := <-read:
		return t.all, t.err
	}
}

// interruptedBefore is the message of a command that the user interrupted at a question.
const interruptedBefore = "interrupted: nothing was done"

// Confirm asks the user to confirm an action, unless the flag --yes did. It returns an error if the user does not.
func (s *Session) Confirm(ctx context.Context, yes, canAsk bool, question string) error {
	switch {
	case yes:
		return nil
	case !canAsk || !s.TTY:
		return errors.New("nothing was done: this command needs a confirmation and is not run in a " +
			"terminal; check the output above, and add --yes")
	}
	confirmed, err := s.Ask(ctx, question+" Enter 'yes' to confirm:", "yes")
	switch {
	case ctx.Err() != nil:
		return Interrupted(interruptedBefore)
	case err == nil && !confirmed:
		return errors.New("nothing was done")
	}
	return err
}
