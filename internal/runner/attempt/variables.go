package attempt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/engine/redact"
	"cairn.dev/cairn/internal/runner/workspace"
	"cairn.dev/cairn/internal/runnerapi"
)

// variableFiles are the engine's variable files, in the order in which later ones win.
//
// Their names sort in that order: 000-first.tfvars, 001-second.tfvars, ..., zz-variables.tfvars.json. So when they
// are kept, and a destroy gets them back by name, reading them in the order of their names results in the same
// values.
type variableFiles []variableFile

type variableFile struct {
	name, path string
	// code is where the code has the file; empty for one that is from elsewhere.
	code string
	data []byte
}

// ownVariables is the file with the order's Variables. It sorts after all others.
const ownVariables = "zz-variables.tfvars.json"

// mostVariableFiles is how many files three digits can number.
const mostVariableFiles = 1000

// longestName is how much of the end of a name is used: less than file systems and the keys of a Secret allow.
const longestName = 200

// variables reads the order's variables.
type variables struct{ *job }

// gather collects what the engine gets: the order's variable files and variables or, for a destroy, those of the last
// apply. Files of the code, which may not be unpacked yet, are left to assemble.
func (s *variables) gather(ctx context.Context) (variableFiles, error) {
	if s.order.Destroy {
		return s.gatherKept(ctx)
	}
	return s.gatherInputs(ctx)
}

// assemble writes what was gathered to where the engine reads it, with the files of the code, which is unpacked by now.
func (s *variables) assemble(files variableFiles) (variableFiles, error) {
	code, err := os.OpenRoot(s.code())
	if err != nil {
		return nil, err
	}
	defer code.Close() //nolint:errcheck // only read
	for i, file := range files {
		if file.code != "" {
			if file.data, err = workspace.Read(code, file.code); errors.Is(err, fs.ErrNotExist) {
				return nil, &engine.Rejection{Reason: fmt.Sprintf("there is no variable file %s in the code",
					file.code)}
			}
			if err != nil {
				return nil, fmt.Errorf("variable file %s of the code: %w", file.code, err)
			}
			files[i].data = file.data
		}
		files[i].path = filepath.Join(s.work.VariableFiles(), file.name)
		if err := os.WriteFile(files[i].path, file.data, 0o600); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// gatherKept fetches the variable files that were stored. Which of them were secret is not stored: all are.
func (s *variables) gatherKept(ctx context.Context) (variableFiles, error) {
	kept, err := s.client.Inputs(ctx)
	if err != nil {
		return nil, fmt.Errorf("fetch the variables of the last apply: %w", err)
	}
	var files variableFiles
	for _, name := range slices.Sorted(maps.Keys(kept.Files)) {
		if name != filepath.Base(name) {
			return nil, fmt.Errorf("the variables of the last apply have a file %q", name)
		}
		s.secrets.Add(redact.Values(name, kept.Files[name])...)
		files = append(files, variableFile{name: name, data: kept.Files[name]})
	}
	return files, nil
}

// gatherInputs reads the order's variable files and variables, and adds the secret ones to the redactor.
func (s *variables) gatherInputs(ctx context.Context) (variableFiles, error) {
	inputs, err := s.work.OpenInputs(s.Inputs)
	if err != nil {
		return nil, err
	}
	defer inputs.Close() //nolint:errcheck // only read
	var files variableFiles
	for _, from := range s.order.VariableFiles {
		if from.Path != "" {
			files = append(files, variableFile{name: files.next(path.Base(from.Path)), code: from.Path})
			continue
		}
		names, err := workspace.List(inputs, from.Dir)
		if err != nil {
			return nil, fmt.Errorf("variable files in %s: %w", from.Dir, err)
		}
		for _, name := range names {
			if !strings.HasSuffix(name, ".tfvars") && !strings.HasSuffix(name, ".tfvars.json") {
				continue
			}
			data, err := workspace.Read(inputs, path.Join(from.Dir, name))
			if err != nil {
				return nil, err
			}
			if from.Secret {
				s.secrets.Add(redact.Values(name, data)...)
			}
			files = append(files, variableFile{name: files.next(name), data: data})
		}
	}
	if len(files) > mostVariableFiles {
		return nil, fmt.Errorf("%d variable files are too many", len(files))
	}
	own, err := s.ownVariables(ctx, inputs)
	if own != nil {
		files = append(files, variableFile{name: ownVariables, data: own})
	}
	return files, err
}

// ownVariables returns the order's Variables as a variable file, or nil when there are none.
func (s *variables) ownVariables(ctx context.Context, inputs *os.Root) ([]byte, error) {
	if len(s.order.Variables) == 0 {
		return nil, nil
	}
	outputs, err := s.fetchOutputs(ctx)
	if err != nil {
		return nil, err
	}
	values := map[string]json.RawMessage{}
	for _, variable := range s.order.Variables {
		value := variable.Value
		switch {
		case variable.Stack != "":
			value = *outputs[outputOf(variable)]
		case variable.File != "":
			data, err := workspace.Read(inputs, variable.File)
			if errors.Is(err, fs.ErrNotExist) {
				return nil, &engine.Rejection{Reason: fmt.Sprintf("variable %s: there is no %s", variable.Name,
					variable.From)}
			}
			if err != nil {
				return nil, fmt.Errorf("variable %s: %w", variable.Name, err)
			}
			if !utf8.Valid(data) { // marks would replace its bytes, and the redactor could not find it
				return nil, &engine.Rejection{Reason: fmt.Sprintf(
					"variable %s: %s is not UTF-8, and the engine knows no other text: keep it there in base64, and "+
						"let the code decode it", variable.Name, variable.From)}
			}
			if variable.Secret {
				s.secrets.Add(string(data))
			}
			if value, err = json.Marshal(string(data)); err != nil {
				return nil, fmt.Errorf("variable %s: %w", variable.Name, err)
			}
		case variable.Secret:
			s.secrets.Add(redact.JSONValues(value)...)
		}
		values[variable.Name] = value
	}
	return json.Marshal(values)
}

// checkDeclared rejects values of spec.variables for which the code has no variable: a user would not see why a
// misspelled name changes nothing. Files may have more than the code needs, and a destroy uses the variables of an
// apply.
func (s *planStep) checkDeclared(undeclared []engine.Undeclared) error {
	for _, u := range undeclared {
		if u.File == ownVariables && !s.order.Destroy {
			return &engine.Rejection{Reason: fmt.Sprintf(
				"spec.variables has %q, and the code declares no variable of that name: correct the name, declare it, "+
					"or, where only a script reads it, write it as TF_VAR_%s into spec.env",
				u.Variable, u.Variable)}
		}
	}
	return nil
}

// next returns the name of the next file, with its own name in it where it has one.
func (files variableFiles) next(name string) string {
	return fmt.Sprintf("%03d-%s", len(files), name[max(0, len(name)-longestName):])
}

func (files variableFiles) paths() []string {
	var paths []string
	for _, file := range files {
		paths = append(paths, file.path)
	}
	return paths
}

// arguments returns the files as arguments of a command of the engine in its TF_CLI_ARGS.
func (files variableFiles) arguments() []string {
	var args []string
	for _, path := range files.paths() {
		args = append(args, "'-var-file="+path+"'")
	}
	return args
}

func (files variableFiles) kept() runnerapi.InputsKept {
	kept := runnerapi.InputsKept{Files: map[string][]byte{}}
	for _, file := range files {
		kept.Files[file.name] = file.data
	}
	return kept
}

// outputsAtOnce is how many outputs are fetched at the same time: for each one the server reads a whole state.
const outputsAtOnce = 8

// outputRef is an output of another Stack.
type outputRef struct{ stack, output string }

func outputOf(v runnerapi.Variable) outputRef { return outputRef{v.Stack, v.Output} }

// fetchOutputs fetches the outputs of other Stacks that the order's Variables take their values from, each of them
// once.
func (s *variables) fetchOutputs(ctx context.Context) (map[outputRef]*json.RawMessage, error) {
	values := map[outputRef]*json.RawMessage{}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(outputsAtOnce)
	for _, variable := range s.order.Variables {
		ref := outputOf(variable)
		if variable.Stack == "" || values[ref] != nil {
			continue
		}
		value := new(json.RawMessage)
		values[ref] = value
		group.Go(func() (err error) {
			*value, err = s.fetchOutput(ctx, ref)
			return err
		})
	}
	return values, group.Wait()
}

// fetchOutput fetches one output. A sensitive one is added to the redactor before anything else is done with it. One
// that changed since the Run was created is a transient failure: the next Run is created for the new value.
func (s *variables) fetchOutput(ctx context.Context, ref outputRef) (json.RawMessage, error) {
	output, err := s.client.StackOutput(ctx, ref.stack, ref.output)
	if refused, ok := errors.AsType[*runnerapi.Error](err); ok {
		switch refused.Code {
		case http.StatusConflict:
			return nil, errors.New(refused.Message)
		case http.StatusUnprocessableEntity:
			return nil, &engine.Rejection{Reason: refused.Message}
		}
	}
	if err != nil {
		return nil, fmt.Errorf("output %s of Stack %s: %w", ref.output, ref.stack, err)
	}
	if output.Sensitive {
		s.secrets.Add(redact.JSONValues(output.Value)...)
	}
	return output.Value, nil
}
