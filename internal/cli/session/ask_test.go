package session

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"
)

func TestAsk(t *testing.T) {
	for name, tt := range map[string]struct {
		answer string
		tty    bool
		want   bool
	}{
		"the answer that is wanted":    {"yes\n", true, true},
		"spaces around it":             {" yes \n", true, true},
		"another one":                  {"y\n", true, false},
		"none":                         {"", true, false},
		"no terminal":                  {"yes\n", false, false},
		"an answer without a line end": {"yes", true, true},
	} {
		t.Run(name, func(t *testing.T) {
			s, _, _ := quietSession()
			s.TTY, s.In = tt.tty, strings.NewReader(tt.answer)
			got, err := s.Ask(t.Context(), "Really?", "yes")
			if err != nil || got != tt.want {
				t.Errorf("%v, %v", got, err)
			}
		})
	}
	t.Run("an interrupt ends it", func(t *testing.T) {
		s, _, _ := quietSession()
		reader, writer := io.Pipe()
		defer writer.Close()
		s.TTY, s.In = true, reader
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if ok, err := s.Ask(ctx, "Really?", "yes"); ok || !errors.Is(err, context.Canceled) {
			t.Errorf("%v, %v", ok, err)
		}
	})
}

func TestConfirm(t *testing.T) {
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		ctx                    context.Context
		confirmed, canAsk, tty bool
		answer                 string
		done                   bool
	}{
		"answered by a flag":           {confirmed: true, done: true},
		"no terminal":                  {canAsk: true, answer: "yes\n"},
		"a terminal, but no questions": {tty: true, answer: "yes\n"},
		"yes":                          {canAsk: true, tty: true, answer: "yes\n", done: true},
		"no":                           {canAsk: true, tty: true, answer: "no\n"},
		"y is not yes":                 {canAsk: true, tty: true, answer: "y\n"},
		"no answer":                    {canAsk: true, tty: true},
		"interrupted":                  {ctx: canceled, canAsk: true, tty: true, answer: "no\n"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.ctx == nil {
				c.ctx = t.Context()
			}
			streams, in, _, _ := genericiooptions.NewTestIOStreams()
			in.WriteString(c.answer)
			err := (&Session{IOStreams: streams, TTY: c.tty}).Confirm(c.ctx, c.confirmed, c.canAsk, "Do it?")
			if (err == nil) != c.done {
				t.Error(err)
			}
			var exit ExitError
			if interrupted := errors.As(err, &exit) &&
				exit.Code == ExitInterrupted; interrupted != (c.ctx.Err() != nil) {
				t.Error(err)
			}
		})
	}
}
