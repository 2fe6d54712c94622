package userapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"cairn.dev/cairn/internal/engine/plan"
)

// Client sends requests as a user.
type Client struct {
	base string
	http *http.Client
	// shown is the version of a state that writes are for; 0 is any.
	shown int64
}

// New creates a Client for the server at a URL. The transport trusts the server's certificate and has the user's
// credentials.
func New(base string, transport http.RoundTripper) *Client {
	return &Client{
		base: strings.TrimSuffix(base, "/"),
		http: &http.Client{
			Transport: transport,
			// The user's credentials must not follow a redirect to another server.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// At returns a Client whose pushes and rollbacks are rejected unless that version of the state is still the current
// one. It is the one that the user saw; 0 accepts any.
func (c *Client) At(version int64) *Client {
	at := *c
	at.shown = version
	return &at
}

// Me returns the user of the client, as the server authenticates it.
func (c *Client) Me(ctx context.Context) (Me, error) {
	return decode[Me](ctx, c, call{path: "/api/v1/me"}, largestMessage)
}

// Build returns the build of the server. A server before this request answers 404.
func (c *Client) Build(ctx context.Context) (Build, error) {
	return decode[Build](ctx, c, call{path: "/api/v1/version"}, largestMessage)
}

// Plan returns what a Run would do. A plan without changes is an empty View.
func (c *Client) Plan(ctx context.Context, namespace, run string) (plan.View, error) {
	return decode[plan.View](ctx, c, planCall(namespace, run, FormView), LargestPlan)
}

// PlanForm returns a form of a Run's plan: FormText without escape codes, or FormJSON as its engine prints
// it. The caller closes it.
func (c *Client) PlanForm(ctx context.Context, namespace, run, form string) (io.ReadCloser, error) {
	return c.open(ctx, planCall(namespace, run, form))
}

func planCall(namespace, run, form string) call {
	return call{path: runPath(namespace, run, "plan"), query: url.Values{"format": {form}}}
}

// Logs returns the log of a Run. The caller closes it. It ends with io.EOF at the end of the log; any other error is
// that the connection was cut off, also when the server stops: to continue, request the log again from the offset that
// was reached.
func (c *Client) Logs(ctx context.Context, namespace, run string, o LogOptions) (io.ReadCloser, error) {
	query := url.Values{}
	if o.Attempt > 0 {
		query.Set("attempt", strconv.FormatInt(int64(o.Attempt), 10))
	}
	if o.Offset > 0 {
		query.Set("offset", strconv.FormatInt(o.Offset, 10))
	}
	if o.Follow {
		query.Set("follow", "true")
	}
	return c.open(ctx, call{path: runPath(namespace, run, "logs"), query: query})
}

// RescuedState returns the state that an attempt could not save, while it is no version.
func (c *Client) RescuedState(ctx context.Context, namespace, name string) ([]byte, error) {
	return c.get(ctx, call{path: statePath(namespace, name, "versions/"+Rescued)}, LargestState)
}

// State returns a version of a state; 0 is the current one.
func (c *Client) State(ctx context.Context, namespace, name string, version int64) ([]byte, error) {
	which := Current
	if version != 0 {
		which = strconv.FormatInt(version, 10)
	}
	return c.get(ctx, call{path: statePath(namespace, name, "versions/"+which)}, LargestState)
}

// Resources returns a page of the resources in the states of a namespace; of all namespaces if it is empty.
func (c *Client) Resources(ctx context.Context, namespace string, query url.Values) (Resources, error) {
	path := "/api/v1/resources"
	if namespace != "" {
		path = "/api/v1/namespaces/" + url.PathEscape(namespace) + "/resources"
	}
	return decode[Resources](ctx, c, call{path: path, query: query}, largestList)
}

// Journal returns the journal of a state.
func (c *Client) Journal(ctx context.Context, namespace, name string) (Journal, error) {
	return decode[Journal](ctx, c, call{path: statePath(namespace, name, "journal")}, LargestJournal)
}

// PushState stores data as the next version of a state. Force accepts one with another lineage, or whose serial does
// not follow.
func (c *Client) PushState(ctx context.Context, namespace, name string, data []byte, force bool) (StateVersion, error) {
	r := post(statePath(namespace, name, "versions"), data)
	r.query = c.current()
	if force {
		r.query.Set("force", "true")
	}
	return decode[StateVersion](ctx, c, r, largestMessage)
}

// Rollback creates a new version with the content of an older one.
func (c *Client) Rollback(ctx context.Context, namespace, name string, version int64) (StateVersion, error) {
	r := postJSON(statePath(namespace, name, "rollback"), Rollback{Version: version})
	r.query = c.current()
	return decode[StateVersion](ctx, c, r, largestMessage)
}

// RestoreState takes the backup of a state, or forgets it.
func (c *Client) RestoreState(ctx context.Context, namespace, name string, forget bool) (StateVersion, error) {
	r := postJSON(statePath(namespace, name, "restore"), Restore{Forget: forget})
	return decode[StateVersion](ctx, c, r, largestMessage)
}

// MoveState lets a state move to the current backend of its Stack.
func (c *Client) MoveState(ctx context.Context, namespace, name string) (StateMove, error) {
	r := call{method: http.MethodPost, path: statePath(namespace, name, "migrate"), query: c.current()}
	return decode[StateMove](ctx, c, r, largestMessage)
}

// current sets which version a write is for.
func (c *Client) current() url.Values {
	query := url.Values{}
	if c.shown > 0 {
		query.Set("current", strconv.FormatInt(c.shown, 10))
	}
	return query
}

// Unlock ends the lock of that ID, whose holder is over.
func (c *Client) Unlock(ctx context.Context, namespace, name, id string) error {
	answer, err := c.open(ctx, postJSON(statePath(namespace, name, "unlock"), Unlock{ID: id}))
	if err != nil {
		return err
	}
	return answer.Close()
}

// Recover puts the state back that a pod printed to its log, encrypted, since it could be sent nowhere. All of the log
// is read, and of it only what is encrypted is sent.
func (c *Client) Recover(ctx context.Context, namespace, name string, log io.Reader) (StateVersion, error) {
	sealed, err := Sealed(log)
	if err != nil {
		return StateVersion{}, err
	}
	return decode[StateVersion](ctx, c, post(statePath(namespace, name, "recover"), sealed), largestMessage)
}

func runPath(namespace, run, what string) string {
	return "/api/v1/namespaces/" + url.PathEscape(namespace) + "/runs/" + url.PathEscape(run) + "/" + what
}

func statePath(namespace, name, what string) string {
	return "/api/v1/namespaces/" + url.PathEscape(namespace) + "/states/" + url.PathEscape(name) + "/" + what
}

// StateBackend is the address of the http backend for engines of a state, at a server.
func StateBackend(server, namespace, name string) string {
	return strings.TrimSuffix(server, "/") + statePath(namespace, name, "backend")
}

// call is one request.
type call struct {
	// method is GET when it is empty.
	method, path string
	query        url.Values
	body         *bytes.Reader
}

func post(path string, body []byte) call {
	return call{method: http.MethodPost, path: path, body: bytes.NewReader(body)}
}

func postJSON(path string, body any) call {
	data, _ := json.Marshal(body) // strings, numbers and bools always can be
	return post(path, data)
}

// decode sends a request, and reads the answer as JSON.
func decode[T any](ctx context.Context, c *Client, r call, limit int64) (answer T, err error) {
	data, err := c.get(ctx, r, limit)
	if err != nil {
		return answer, err
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return answer, fmt.Errorf("read the server's answer: %w", err)
	}
	return answer, nil
}

// get sends a request and reads the answer whole.
func (c *Client) get(ctx context.Context, r call, limit int64) ([]byte, error) {
	answer, err := c.open(ctx, r)
	if err != nil {
		return nil, err
	}
	defer answer.Close()
	data, err := io.ReadAll(io.LimitReader(answer, limit+1))
	if err != nil {
		return nil, fmt.Errorf("read the server's answer: %w", err)
	}
	if int64(len(data)) > limit {
		return nil, tooLarge("the server's answer", limit)
	}
	return data, nil
}

// tries is how often a read is sent to a server that answers 503, such as one that has just started.
const tries = 5

// open sends a request and returns the response to read, if it is no error.
func (c *Client) open(ctx context.Context, r call) (io.ReadCloser, error) {
	for try := 1; ; try++ {
		answer, err := c.send(ctx, r)
		var no *Error
		if !errors.As(err, &no) || no.Code != http.StatusServiceUnavailable || r.method != "" || try == tries {
			return answer, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(100 * time.Millisecond << try):
		}
	}
}

func (c *Client) send(ctx context.Context, r call) (io.ReadCloser, error) {
	address := c.base + r.path
	if len(r.query) > 0 {
		address += "?" + r.query.Encode()
	}
	var body io.Reader
	if r.body != nil {
		body = r.body // or a nil *bytes.Reader would be a body
	}
	request, err := http.NewRequestWithContext(ctx, r.method, address, body)
	if err != nil {
		return nil, err
	}
	answer, err := c.http.Do(request)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode >= 200 && answer.StatusCode <= 299 {
		return answer.Body, nil
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(answer.Body, largestMessage))
	no := &Error{Code: answer.StatusCode, Message: strings.TrimSpace(string(text))}
	var problem Problem
	if json.Unmarshal(text, &problem) == nil { // what is on the way to the server may answer in another way
		no.Message = problem.Detail
	}
	if no.Message == "" {
		no.Message = fmt.Sprintf("the server answered %d %s", no.Code, http.StatusText(no.Code))
	}
	return nil, no
}
