package runnerapi

import (
	"bytes"
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
var ErrTooLarge = errors.New("the store's answer is too large")

// Order asks what to do next, after an attempt that is done.
func (c *Client) Order(ctx context.Context, after int32) (Order, error) {
	var order Order
	err := c.do(ctx, call{
		method: http.MethodGet, path: "/v1/order", query: url.Values{"after": {strconv.FormatInt(int64(after), 10)}},
		take: into(&order),
	})
	return order, err
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
	return call{method: http.MethodGet, path: path, take: func(body io.Reader) error {
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
// has one. An *Error is the store's answer to the engine.
func (c *Client) State(ctx context.Context, method, lockID string, body []byte) ([]byte, error) {
	r := call{method: method, path: "/v1/state", body: bytes.NewReader(body), size: int64(len(body))}
	if lockID != "" {
		r.query = url.Values{"ID": {lockID}}
	}
	var answer []byte
	r.take = func(body io.Reader) (err error) {
		answer, err = readAll(body, LargestState)
		return err
	}
	err := c.do(ctx, r)
	return answer, err
}

// Follow reports what the Stack's own backend has; nothing when it has no state.
func (c *Client) Follow(ctx context.Context, backend string, state []byte) (Followed, error) {
	var followed Followed
	err := c.do(ctx, call{
		method: http.MethodPut, path: "/v1/backend", query: url.Values{"type": {backend}}, body: bytes.NewReader(state), size: int64(len(state)),
		take: into(&followed),
	})
	return followed, err
}

// PutPlan keeps a saved plan.
func (c *Client) PutPlan(ctx context.Context, plan io.ReaderAt, size int64) (PlanKept, error) {
	var kept PlanKept
	err := c.do(ctx, call{method: http.MethodPut, path: "/v1/plan", body: plan, size: size, take: into(&kept)})
	return kept, err
}

// Forms of a plan for users; they contain no secrets.
const (
	// PlanJSON is the engine's JSON of it.
	PlanJSON = "json"
	// PlanText is the engine's own text.
	PlanText = "text"
)

// How large a form may be.
const (
	LargestPlanJSON = 32 << 20
	LargestPlanText = 16 << 20
)

// KeepPlanForm keeps a form of a plan that is kept.
func (c *Client) KeepPlanForm(ctx context.Context, digest, form string, body io.ReaderAt, size int64) error {
	path := "/v1/plan/" + url.PathEscape(digest) + "/" + url.PathEscape(form)
	return c.do(ctx, call{method: http.MethodPut, path: path, body: body, size: size})
}

// PlanForm writes a form of a plan into file, which then holds nothing else. An *Error of code 404 means that there is none.
func (c *Client) PlanForm(ctx context.Context, digest, form string, file *os.File, limit int64) error {
	return c.download(ctx, "/v1/plan/"+url.PathEscape(digest)+"/"+url.PathEscape(form), file, limit)
}

// CheckPolicy asks the policies about a plan whose json is kept.
func (c *Client) CheckPolicy(ctx context.Context, digest string) (PolicyResult, error) {
	var verdict PolicyResult
	err := c.do(ctx, call{method: http.MethodPost, path: "/v1/policy/" + url.PathEscape(digest), take: into(&verdict)})
	return verdict, err
}

// Interrupt waits until the attempt is to stop, or until the store has held the request long enough: then it is nil.
func (c *Client) Interrupt(ctx context.Context) (*Interrupt, error) {
	var interrupt *Interrupt
	err := c.do(ctx, call{method: http.MethodGet, path: "/v1/interrupt", take: func(body io.Reader) error {
		data, err := readAll(body, largestAnswer)
		if err != nil || len(data) == 0 {
			return err
		}
		return json.Unmarshal(data, &interrupt)
	}})
	return interrupt, err
}

// PutInputs keeps the variable files that an apply is about to use.
func (c *Client) PutInputs(ctx context.Context, inputs InputsKept) error {
	return c.sendJSON(ctx, http.MethodPut, "/v1/inputs", inputs)
}

// Inputs returns the variable files that were kept for the inputs of the Run.
func (c *Client) Inputs(ctx context.Context) (InputsKept, error) {
	var kept InputsKept
	err := c.do(ctx, call{method: http.MethodGet, path: "/v1/inputs", take: into(&kept)})
	return kept, err
}

// StackOutput returns an output of another Stack that a variable of the Run takes its value from. An *Error of code 409 means
// that it is no longer what the Run was created for.
func (c *Client) StackOutput(ctx context.Context, stack, output string) (Output, error) {
	var o Output
	path := "/v1/outputs/" + url.PathEscape(stack) + "/" + url.PathEscape(output)
	err := c.do(ctx, call{method: http.MethodGet, path: path, take: into(&o)})
	return o, err
}

// Rescue keeps a state that could not be written. base is the SHA256 of the version that it continues; empty for none.
func (c *Client) Rescue(ctx context.Context, base string, state []byte) (Rescued, error) {
	r := call{method: http.MethodPut, path: "/v1/rescue", body: bytes.NewReader(state), size: int64(len(state))}
	if base != "" {
		r.query = url.Values{"base": {base}}
	}
	var data []byte
	r.take = func(body io.Reader) (err error) {
		data, err = readAll(body, largestAnswer)
		return err
	}
	var rescued Rescued
	err := c.do(ctx, r)
	if err == nil && len(data) > 0 {
		err = json.Unmarshal(data, &rescued)
	}
	return rescued, err
}

// WriteOutputs writes all outputs of the code to where the Stack wants them.
func (c *Client) WriteOutputs(ctx context.Context, outputs Outputs) error {
	if outputs == nil {
		outputs = Outputs{}
	}
	return c.sendJSON(ctx, http.MethodPost, "/v1/outputs", outputs)
}

// Report reports what the attempt has done so far.
func (c *Client) Report(ctx context.Context, report Report) error {
	return c.sendJSON(ctx, http.MethodPost, "/v1/steps", report)
}

// AppendLog appends to the attempt's log and returns the offset at which it continues. That is not the end of data when the
// store has more of the log already, or less, than offset.
func (c *Client) AppendLog(ctx context.Context, offset int64, data []byte) (next int64, err error) {
	err = c.do(ctx, call{
		method: http.MethodPost, path: "/v1/logs", query: url.Values{"offset": {strconv.FormatInt(offset, 10)}},
		body: bytes.NewReader(data), size: int64(len(data)),
	})
	var refused *Error
	if errors.As(err, &refused) && refused.Code == http.StatusConflict {
		if wanted, bad := strconv.ParseInt(refused.Message, 10, 64); bad == nil && wanted >= 0 {
			return wanted, nil
		}
	}
	return offset + int64(len(data)), err
}

func (c *Client) sendJSON(ctx context.Context, method, path string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return c.do(ctx, call{method: method, path: path, body: bytes.NewReader(data), size: int64(len(data))})
}

// into reads an answer as JSON.
func into(v any) func(io.Reader) error {
	return func(body io.Reader) error {
		data, err := readAll(body, largestAnswer)
		if err != nil {
			return err
		}
		if err := json.Unmarshal(data, v); err != nil {
			return fmt.Errorf("read the store's answer: %w", err)
		}
		return nil
	}
}

func readAll(body io.Reader, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(body, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = ErrTooLarge
	}
	return data, err
}
