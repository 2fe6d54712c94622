package runnerapi

import (
	"context"
	"time"
)

// LargestOperations is how large the operations of an attempt may be, as lines.
const LargestOperations = 8 << 20

// Operation is a line of JSON in the operations of an apply: an operation on one resource began or ended.
type Operation struct {
	// At is the time, by the clock of the runner.
	At time.Time `json:"at"`
	// Address of the resource, without secrets. Example: module.net.aws_subnet.this["a"].
	Address string `json:"address"`
	// Action as the engine names it: create, update, delete. A replacement is two operations.
	Action string `json:"action"`
	// State of the operation from then on.
	State OperationState `json:"state"`
}

// OperationState is the progress of an operation.
type OperationState string

// States of an operation.
const (
	OperationStarted   OperationState = "Started"
	OperationSucceeded OperationState = "Succeeded"
	OperationFailed    OperationState = "Failed"
)

// AppendOperations appends lines to the operations of the attempt, as AppendLog does to its log.
func (c *Client) AppendOperations(ctx context.Context, offset int64, lines []byte) (next int64, err error) {
	return c.append(ctx, "/v1/operations", offset, lines)
}
