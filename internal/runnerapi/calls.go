package runnerapi

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
)

// LargestState is how large a state may be, and a rescued one.
const LargestState = 256 << 20

// largestAnswer is how large any answer may be that is not a state or a file.
const largestAnswer = 16 << 20

// ErrTooLarge is an answer that is larger than it may be.
var ErrTooLarge = errors.New("the server's answer is too large")

// Order asks what to do next, after an attempt that is done.
func (c *Client) Order(ctx context.Context, after int32) (Order, error) {
	query := url.Values{"after": {strconv.FormatInt(int64(after), 10)}}
	return ask[Order](ctx, c.do, call{method: http.MethodGet, path: "/v1/order", query: query})
}

// Source writes the archive of the code into file, which then holds nothing else.
func (c *Client) Source(ctx context.Context, digest string, file *os.File, limit int64) error {
	return c.download(ctx, "/v1/sources/"+url.PathEscape(digest), file, limit)
}

// Plan writes a saved plan into file, which then holds nothing else.
func (c *Client) Plan(ctx context.Context, digest string, file *os.File, limit int64) error {
	return c.download(ctx, "/v1/plan/"+url.PathEscape(digest), file, limit)
}

func (c *Client) download(ctx context.Context, path string, file *os.File, limit int64) error {
	return c.do(ctx, fileCall(path, file, limit))
}

// fileCall asks for what is written into a file, which then holds nothing else.
func fileCall(path string, file *os.File, limit int64) call {
	return call{method: http.MethodGet, path: path, take: func(body *reader) error {
		if err := file.Truncate(0); err != nil {
			return err
		}
		if _, err := file.Seek(0, io.SeekStart); err != nil {
			return err
		}
		n, err := io.Copy(file, io.LimitReader(body, limit+1))
		if err == nil && n > limit {
			err = fmt.Errorf("%s: %w", path, ErrTooLarge)
		}
		return err
	}}
}

// State passes a request of the engine's http backend on: GET, POST, DELETE, LOCK or UNLOCK, with the lock's ID if it
// has one. An *Error is the server's answer to the engine.
func (c *Client) State(ctx context.Context, method, lockID string, body []byte) ([]byte, error) {
	r := call{method: method, path: "/v1/state", data: body}
	if lockID != "" {
		r.query = url.Values{"ID": {lockID}}
	}
	var answer []byte
	r.take = func(body *reader) (err error) {
		answer, err = readAll(body, LargestState)
		return err
	}
	err := c.do(ctx, r)
	return answer, err
}

// Follow reports what the Stack's own backend has; nothing when it has no state.
func (c *Client) Follow(ctx context.Context, backend string, state []byte) (Followed, error) {
	query := url.Values{"type": {backend}}
	return ask[Followed](ctx, c.do, call{method: http.MethodPut, path: "/v1/backend", query: query, data: state})
}

// PutPlan keeps a saved plan.
func (c *Client) PutPlan(ctx context.Context, plan io.ReaderAt, size int64) (PlanKept, error) {
	return ask[PlanKept](ctx, c.do, call{method: http.MethodPut, path: "/v1/plan", body: plan, size: size})
}

// LargestPlanJSON is how large the engine's JSON of a plan may be.
const LargestPlanJSON = 32 << 20

// LargestPlanDocument is how large a PlanDocument may be.
const LargestPlanDocument = LargestPlanJSON + 8<<20

// PlanDocument is what an engine prints of a plan, and what of it users may not see.
type PlanDocument struct {
	// Secrets are the secret values in the plan that the engine has not marked as sensitive, in the form in which they
	// are there.
	Secrets []string `json:"secrets"`
	// Plan is the engine's JSON of the plan, with all values: the server compares it with the plan file, which has them
	// too.
	Plan json.RawMessage `json:"plan"`
}

// PutPlanDocument stores the PlanDocument of a plan that is stored. An *Error of code 422 means that it does not
// describe the plan file, 409 that another one is stored.
func (c *Client) PutPlanDocument(ctx context.Context, digest string, body io.ReaderAt, size int64) error {
	path := "/v1/plan/" + url.PathEscape(digest) + "/document"
	return c.do(ctx, call{method: http.MethodPut, path: path, body: body, size: size})
}

// PlanJSON writes the JSON of a plan, without secrets, into file, which then holds nothing else. An *Error of code 404
// means that there is none.
func (c *Client) PlanJSON(ctx context.Context, digest string, file *os.File) error {
	return c.download(ctx, "/v1/plan/"+url.PathEscape(digest)+"/json", file, LargestPlanJSON)
}

// CheckPolicy asks the policies about a plan whose json is kept.
func (c *Client) CheckPolicy(ctx context.Context, digest string) (PolicyResult, error) {
	return ask[PolicyResult](ctx, c.do, call{method: http.MethodPost, path: "/v1/policy/" + url.PathEscape(digest)})
}

// Interrupt waits until the attempt is to stop, or until the server has held the request long enough: then it is nil.
func (c *Client) Interrupt(ctx context.Context) (*Interrupt, error) {
	return ask[*Interrupt](ctx, c.do, call{method: http.MethodGet, path: "/v1/interrupt", mayBeEmpty: true})
}

// PutInputs keeps the variable files that an apply is about to use.
func (c *Client) PutInputs(ctx context.Context, inputs InputsKept) error {
	return c.sendJSON(ctx, call{method: http.MethodPut, path: "/v1/inputs"}, inputs)
}

// Inputs returns the variable files that were kept for the inputs of the Run.
func (c *Client) Inputs(ctx context.Context) (InputsKept, error) {
	return ask[InputsKept](ctx, c.do, call{method: http.MethodGet, path: "/v1/inputs"})
}

// StackOutput returns an output of another Stack that a variable of the Run takes its value from. An *Error of code 409
// means that it is no longer what the Run was created for.
func (c *Client) StackOutput(ctx context.Context, stack, output string) (Output, error) {
	path := "/v1/outputs/" + url.PathEscape(stack) + "/" + url.PathEscape(output)
	return ask[Output](ctx, c.do, call{method: http.MethodGet, path: path})
}

// Rescue keeps a state that could not be written. base is the SHA256 of the version that it continues; empty for none.
func (c *Client) Rescue(ctx context.Context, base string, state []byte) (Rescued, error) {
	r := call{method: http.MethodPut, path: "/v1/rescue", data: state, mayBeEmpty: true}
	if base != "" {
		r.query = url.Values{"base": {base}}
	}
	return ask[Rescued](ctx, c.do, r)
}

// WriteOutputs writes all outputs of the code to where the Stack wants them.
func (c *Client) WriteOutputs(ctx context.Context, outputs Outputs) error {
	if outputs == nil {
		outputs = Outputs{}
	}
	return c.sendJSON(ctx, call{method: http.MethodPost, path: "/v1/outputs"}, outputs)
}

// Report reports what the attempt has done so far.
func (c *Client) Report(ctx context.Context, report Report) error {
	return c.sendJSON(ctx, call{method: http.MethodPost, path: "/v1/steps"}, report)
}

// AppendLog appends to the attempt's log and returns the offset at which it continues. That is not the end of data when
// the server has more of the log already, or less, than offset.
func (c *Client) AppendLog(ctx context.Context, offset int64, data []byte) (next int64, err error) {
	return c.append(ctx, "/v1/logs", offset, data)
}

func (c *Client) append(ctx context.Context, path string, offset int64, data []byte) (next int64, err error) {
	query := url.Values{"offset": {strconv.FormatInt(offset, 10)}}
	err = c.do(ctx, call{method: http.MethodPost, path: path, query: query, data: data})
	if refused, ok := errors.AsType[*Error](err); ok && refused.Code == http.StatusConflict {
		if wanted, bad := strconv.ParseInt(refused.Message, 10, 64); bad == nil && wanted >= 0 {
			return wanted, nil
		}
	}
	return offset + int64(len(data)), err
}

// sendJSON sends a request whose body is a value as JSON.
func (c *Client) sendJSON(ctx context.Context, r call, v any) (err error) {
	if r.data, err = json.Marshal(v); err != nil {
		return err
	}
	return c.do(ctx, r)
}

// ask has a request sent, and reads its answer as JSON. One that is empty, where it may be, is the zero value.
func ask[T any](ctx context.Context, send func(context.Context, call) error, r call) (T, error) {
	var answer T
	r.take = func(body *reader) error {
		data, err := readAll(body, cmp.Or(r.largest, largestAnswer))
		if err != nil || r.mayBeEmpty && len(data) == 0 {
			return err
		}
		return decode(data, &answer)
	}
	err := send(ctx, r)
	return answer, err
}

func decode(data []byte, v any) error {
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("read the server's answer: %w", err)
	}
	return nil
}

// readAll reads an answer into one piece of memory, if its size is known.
func readAll(body *reader, limit int64) ([]byte, error) {
	var data bytes.Buffer
	data.Grow(int(min(max(body.size, 0), limit)) + bytes.MinRead)
	_, err := data.ReadFrom(io.LimitReader(body, limit+1))
	if err == nil && int64(data.Len()) > limit {
		err = ErrTooLarge
	}
	return data.Bytes(), err
}
