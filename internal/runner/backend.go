package runner

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path"
	"regexp"
	"strings"

	"github.com/google/uuid"

	"cairn.dev/cairn/internal/backend"
	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/store"
)

// A Stack may keep its state in a backend of the engine's own, as spec.backend says. Then the engine reads, writes and locks it there, and the store's state
// follows: the runner reads what the backend has
//
//	before a plan       and puts the store's there, where that is newer and nothing of the backend's is lost by it
//	after an apply      however it ended, with the store's lock held beside the backend's own
//	after a shell       the same
//
// What follows is for the store to decide, which knows what the backend had before.

// mostPuts is how often a state is put into a backend before it is seen that it does not stay there: once, and once more by force for its lineage.
const mostPuts = 2

// backend is where the engine keeps the state.
func (a *attempt) backend() engine.Backend {
	if a.order.Backend == nil {
		return engine.Backend{}
	}
	if a.order.Backend.Type == "" || a.inCode != nil {
		return engine.Backend{FromCode: true}
	}
	return engine.Backend{Type: a.order.Backend.Type}
}

// backendFile writes the backend's arguments to where nobody but the engine reads them, makes what is missing if it is asked for, and gives the file; empty when
// there are none.
func (a *attempt) backendFile(ctx context.Context) (string, error) {
	if !a.backend().Own() {
		return "", nil
	}
	if variable(a.Environ, "TF_ENCRYPTION") != "" {
		return "", &engine.Refused{Reason: "TF_ENCRYPTION has the engine encrypt the state, and Cairn's copy of what is in spec.backend would be in clear: leave one of the two out"}
	}
	config, err := a.backendConfig()
	if err != nil {
		return "", err
	}
	if config, err = a.createBackend(ctx, config); err != nil {
		return "", err
	}
	if len(config.Values)+len(config.Secrets) == 0 {
		return "", nil
	}
	text, err := backend.Render(config)
	if err != nil {
		return "", &engine.Refused{Reason: "spec.backend: " + err.Error()}
	}
	return a.work.backend(), os.WriteFile(a.work.backend(), text, 0o600)
}

// backendConfig reads the arguments, those from Secrets too, which are known as secret by now; so is a password that is a part of one.
func (a *attempt) backendConfig() (backend.Config, error) {
	b := a.order.Backend
	config := backend.Config{Values: b.Config, Secrets: map[string]string{}, Create: b.Create}
	for _, pair := range a.Environ {
		name, _, _ := strings.Cut(pair, "=")
		config.Env = append(config.Env, name)
	}
	if len(b.ConfigDirs) == 0 {
		return config, nil
	}
	inputs, err := a.openInputs()
	if err != nil {
		return config, err
	}
	defer inputs.Close() //nolint:errcheck // only read
	for _, dir := range b.ConfigDirs {
		names, err := listInputs(inputs, dir)
		if err != nil {
			return config, fmt.Errorf("arguments of the backend in %s: %w", dir, err)
		}
		for _, name := range names {
			data, err := readInput(inputs, path.Join(dir, name))
			if err != nil {
				return config, err
			}
			config.Secrets[name] = string(data)
			a.secrets.Add(string(data))
			a.secrets.Add(passwords(string(data))...)
		}
	}
	return config, nil
}

// keyedPassword is how PostgreSQL's other form of a connection has it.
var keyedPassword = regexp.MustCompile(`\bpassword\s*=\s*('[^']*'|\S+)`)

// passwords are those in the address of a server, or in PostgreSQL's list of settings.
func passwords(value string) (found []string) {
	if at, err := url.Parse(value); err == nil && at.User != nil {
		if password, ok := at.User.Password(); ok {
			found = append(found, password, url.QueryEscape(password), url.PathEscape(password))
		}
	}
	for _, match := range keyedPassword.FindAllStringSubmatch(value, -1) {
		found = append(found, strings.Trim(match[1], "'"))
	}
	return found
}

// createBackend creates what is missing where the state is kept, if the Stack asks for it, and gives the arguments for
// the engine: those that the code's own block leaves out.
func (a *attempt) createBackend(ctx context.Context, config backend.Config) (backend.Config, error) {
	kind := a.order.Backend.Type
	switch {
	case kind == "": // with the block of the code, whatever it is
		return config, nil
	case a.inCode != nil && a.inCode.Type != kind: // spec.backend is about something else
		return backend.Config{}, nil
	}
	plugin := backend.Of(kind)
	if err := plugin.Validate(config); err != nil {
		return config, &engine.Refused{Reason: "spec.backend: " + err.Error()}
	}
	whole, rest := config, config
	if a.inCode != nil {
		whole, rest = config.Beside(plugin, a.inCode.Arguments)
		if config.Create && !whole.Create {
			fmt.Fprintf(a.text, "spec.backend.create: nothing is created, since %s has arguments that are not literals\n",
				a.clean(a.inCode.At))
		}
	}
	if !whole.Create {
		return rest, nil
	}
	made, err := plugin.Ensure(ctx, whole, a.Environ)
	for _, what := range made {
		fmt.Fprintf(a.text, "backend %s: %s\n", plugin.Name(), a.clean(what))
	}
	var said *backend.Error
	if errors.As(err, &said) && said.ForAPerson() {
		return rest, &engine.Refused{Reason: fmt.Sprintf("spec.backend.create: %s", a.clean(said.Error()))}
	}
	if err != nil {
		return rest, fmt.Errorf("spec.backend.create: %w", err)
	}
	return rest, nil
}

// followBackend has the store's state follow the backend, before anything is planned on it.
func (a *attempt) followBackend(ctx context.Context) (result, error) {
	data, followed, err := a.follow(ctx)
	if err != nil {
		return result{}, err
	}
	for tries := 0; followed.Push; tries++ {
		if tries == mostPuts {
			return result{}, &engine.Refused{Reason: fmt.Sprintf("backend %s took the state, and has another one all the same: look what it keeps", a.backendType)}
		}
		if data, followed, err = a.putThere(ctx, followed.Force); err != nil {
			return result{}, err
		}
	}
	if followed.Moved != "" {
		fmt.Fprintf(a.text, "the state was put into backend %s, as %s wanted\n", a.backendType, a.clean(followed.Moved))
	}
	return result{message: a.sawBackend(data)}, nil
}

// sawBackend says what a backend has.
func (a *attempt) sawBackend(data []byte) string {
	state, err := engine.ParseState(data)
	if err != nil || len(data) == 0 {
		return fmt.Sprintf("backend %s has no state yet", a.backendType)
	}
	return fmt.Sprintf("backend %s has serial %d", a.backendType, state.Serial)
}

// follow reads what the backend has and tells the store.
func (a *attempt) follow(ctx context.Context) ([]byte, store.Followed, error) {
	data, err := a.pullState(ctx)
	if err != nil {
		return nil, store.Followed{}, err
	}
	followed, err := a.client.Follow(ctx, a.backendType, data)
	var said *store.Error
	if errors.As(err, &said) && (said.Code == http.StatusConflict || said.Code == http.StatusBadRequest || said.Code == http.StatusForbidden) {
		return nil, followed, &engine.Refused{Reason: strings.ReplaceAll(said.Message, "<stack>", a.order.Stack)}
	}
	if err != nil {
		return nil, followed, fmt.Errorf("tell the store what backend %s has: %w", a.backendType, err)
	}
	a.proxy.saw(data)
	return data, followed, nil
}

// putThere puts the store's state into the backend, and reads it back.
func (a *attempt) putThere(ctx context.Context, force bool) ([]byte, store.Followed, error) {
	state, err := a.proxy.current(ctx)
	if err != nil {
		return nil, store.Followed{}, err
	}
	if err := os.WriteFile(a.work.moving(), state, 0o600); err != nil {
		return nil, store.Followed{}, err
	}
	defer os.Remove(a.work.moving()) //nolint:errcheck // the next attempt clears what is left
	if !force {
		fmt.Fprintf(a.text, "the store's state is newer than what backend %s has: it is put there\n", a.backendType)
	}
	if _, err := a.ask(ctx, a.engine.Push(engine.Push{VariableFiles: a.files.paths(), State: a.work.moving(), Force: force})); err != nil {
		return nil, store.Followed{}, fmt.Errorf("put the state into backend %s: %w", a.backendType, err)
	}
	return a.follow(ctx)
}

// pullState reads what the backend has; nothing when it has no state.
func (a *attempt) pullState(ctx context.Context) ([]byte, error) {
	data, err := a.ask(ctx, a.engine.Pull(a.files.paths()))
	if err != nil {
		return nil, fmt.Errorf("read the state in backend %s: %w", a.backendType, err)
	}
	return stateIn(data), nil
}

// stateIn is the state that an engine printed, byte for byte as its backend has it; nil when it has none. Before it may be warnings, as of a CLI configuration that
// is not there, and after it is a line's end.
func stateIn(data []byte) []byte {
	if !bytes.HasPrefix(data, []byte("{")) {
		at := bytes.Index(data, []byte("\n{"))
		if at < 0 {
			return bytes.TrimSpace(data) // nothing, or what the store refuses to take for a state
		}
		data = data[at+1:]
	}
	data = bytes.TrimSuffix(data, []byte("\n"))
	var none struct {
		Serial    int64
		Lineage   string
		Resources []json.RawMessage
	}
	if err := json.Unmarshal(data, &none); err == nil && none.Lineage == "" && none.Serial == 0 && len(none.Resources) == 0 {
		return nil // so OpenTofu shows that there is none
	}
	return data
}

// ask runs a command of the engine that tells no events, and gives its answer.
func (a *attempt) ask(ctx context.Context, args []string) ([]byte, error) {
	var answer bytes.Buffer
	ended, err := a.launch(ctx, call{args: args, answer: &limited{&answer, store.LargestState}})
	if err != nil {
		return nil, err
	}
	if ended.code != 0 {
		events := engine.Events{Errors: engine.ReadErrors(ended.last)}
		a.tellLock(events.Errors)
		return nil, &programError{
			class: engine.Classify(engine.StepInit, int(ended.code), events.Errors), message: explain(a.engine.Name(), ended, events), exitCode: ended.code,
		}
	}
	return answer.Bytes(), nil
}

// lockInfo is how engines describe a lock.
type lockInfo struct {
	ID, Operation, Info, Who string
}

// lockState takes the store's lock for an engine that locks its own backend alone: one writer, whoever else may write there.
func (a *attempt) lockState(ctx context.Context) error {
	if !a.backend().Own() {
		return nil
	}
	lock, err := json.Marshal(lockInfo{ID: uuid.NewString(), Operation: "Cairn", Who: a.order.Run})
	if err != nil {
		return err
	}
	said, err := a.client.State(ctx, "LOCK", "", lock)
	var refused *store.Error
	if errors.As(err, &refused) {
		var holder lockInfo
		if json.Unmarshal([]byte(refused.Message), &holder) == nil && holder.Info != "" {
			err = errors.New(holder.Info)
		}
		return fmt.Errorf("lock the state: %w", err)
	}
	if err != nil {
		return fmt.Errorf("lock the state: %w: %s", err, said)
	}
	a.held = lock
	a.proxy.startsFrom(said)
	return nil
}

// followAfter has the store's state follow what the engine did to the backend's, however that ended: well is what it says itself.
func (a *attempt) followAfter(process context.Context, well bool) error {
	if a.held == nil {
		return nil
	}
	ctx, cancel := outlive(process)
	defer cancel()
	return a.step(ctx, "state", func(ctx context.Context) (result, error) {
		data, followed, err := a.follow(ctx)
		if err != nil {
			return result{}, err
		}
		if a.followed = followed.Wrote; well {
			err = a.checkWrote()
		}
		return result{message: a.sawBackend(data)}, err
	})
}

// unlockState gives the store's lock back. One that stays is taken over once this pod is gone.
func (a *attempt) unlockState(process context.Context) {
	if a.held == nil {
		return
	}
	ctx, cancel := outlive(process)
	defer cancel()
	if _, err := a.client.State(ctx, "UNLOCK", "", a.held); err != nil {
		a.Log.Error("lock not given back", "error", err)
	}
	a.held = nil
}

// finishedElsewhere says that an engine with a backend of its own wrote the state and came to its end by itself.
func (a *attempt) finishedElsewhere() bool {
	return a.followed && a.exited != nil && (*a.exited == 0 || *a.exited == 1)
}
