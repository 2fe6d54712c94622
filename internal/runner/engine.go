package runner

import (
	"bytes"
	"context"
	"fmt"

	"cairn.dev/cairn/internal/engine"
)

// checkEngine makes sure that the image's engine meets the order's constraint. It is done only when there is one,
// because it costs a launch.
func (a *attempt) checkEngine(ctx context.Context) (result, error) {
	var answer bytes.Buffer
	ended, err := a.launch(ctx, a.engine.Version(), &limited{&answer, largestAnswer})
	if err != nil {
		return result{}, err
	}
	if ended.code != 0 {
		return result{}, &engineError{class: engine.Transient, message: explain(a.engine.Name(), ended, engine.Events{}), exitCode: ended.code}
	}
	version, err := engine.ParseVersion(answer.Bytes())
	if err != nil {
		return result{}, err
	}
	meets, err := engine.Meets(version, a.order.EngineVersion)
	if err != nil {
		return result{}, &engine.Refused{Reason: err.Error()}
	}
	if !meets {
		return result{}, &engine.Refused{Reason: fmt.Sprintf("this image has %s %s, and the Stack asks for %s", a.engine.Name(), version, a.order.EngineVersion)}
	}
	return result{message: a.engine.Name() + " " + version, exitCode: &ended.code}, nil
}

// initialize makes the code ready: modules, providers and the way to the state. With a saved plan it takes the very
// providers that the plan was made with.
func (a *attempt) initialize(ctx context.Context, withPlan bool) (result, error) {
	locked := false
	if withPlan {
		var err error
		if locked, err = a.pinProviders(); err != nil {
			return result{}, err
		}
	}
	args := a.engine.Init(engine.Init{Events: a.work.events(), VariableFiles: a.files.paths(), Locked: locked})
	code, _, err := a.run(ctx, engine.StepInit, args)
	return result{exitCode: &code}, err
}

// largestAnswer is how much of an answer of the engine is read.
const largestAnswer = 64 << 20

// limited takes so much and no more.
type limited struct {
	to   *bytes.Buffer
	left int
}

func (l *limited) Write(p []byte) (int, error) {
	if l.left -= len(p); l.left < 0 {
		return 0, fmt.Errorf("the engine's answer is too large")
	}
	return l.to.Write(p)
}
