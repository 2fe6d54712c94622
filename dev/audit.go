package dev

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// auditPolicy keeps the writes and nothing else. Reviews and tokens are asked for with a create, but nothing is written.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
rules:
- level: None
  resources:
  - group: authentication.k8s.io
  - group: authorization.k8s.io
  - {group: "", resources: [serviceaccounts/token]}
- level: Metadata
  verbs: [create, update, patch, delete, deletecollection]
`

// Write is a request that would change the API's data, whether it was allowed or not.
type Write struct {
	// User who asked, or on whose behalf.
	User      string
	UserAgent string
	// Verb: create, update, patch, delete, deletecollection.
	Verb        string
	Group       string
	Resource    string
	Subresource string
	Namespace   string
	// Name is empty for a create whose name was in the body only.
	Name string
	// Time it was answered.
	Time time.Time
	// Code of the answer, an HTTP status.
	Code int
}

// Writes lists the writes in an audit log that were answered at or after since, the oldest first, and that match; a nil
// match takes all. A write comes into the log right after its answer, so who has just seen its effect may be a moment early.
func Writes(path string, since time.Time, match func(Write) bool) ([]Write, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read audit log: %w", err)
	}
	defer func() { _ = f.Close() }()
	var writes []Write
	for lines := bufio.NewReader(f); ; {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return writes, nil // what follows the last newline is still being written
		} else if err != nil {
			return nil, fmt.Errorf("read audit log: %w", err)
		}
		w, err := parseWrite(line)
		if err != nil {
			return nil, fmt.Errorf("read audit log %s: %w", path, err)
		}
		if !w.Time.Before(since) && (match == nil || match(w)) {
			writes = append(writes, w)
		}
	}
}

// parseWrite reads one line of the log: an audit.k8s.io/v1 Event.
func parseWrite(line []byte) (Write, error) {
	type user struct {
		Username string `json:"username"`
	}
	var event struct {
		Verb             string    `json:"verb"`
		User             user      `json:"user"`
		ImpersonatedUser *user     `json:"impersonatedUser"`
		UserAgent        string    `json:"userAgent"`
		StageTimestamp   time.Time `json:"stageTimestamp"`
		ObjectRef        struct {
			APIGroup    string `json:"apiGroup"`
			Resource    string `json:"resource"`
			Subresource string `json:"subresource"`
			Namespace   string `json:"namespace"`
			Name        string `json:"name"`
		} `json:"objectRef"`
		ResponseStatus struct {
			Code int `json:"code"`
		} `json:"responseStatus"`
	}
	if err := json.Unmarshal(line, &event); err != nil {
		return Write{}, err
	}
	if event.ImpersonatedUser != nil {
		event.User = *event.ImpersonatedUser
	}
	return Write{
		User:        event.User.Username,
		UserAgent:   event.UserAgent,
		Verb:        event.Verb,
		Group:       event.ObjectRef.APIGroup,
		Resource:    event.ObjectRef.Resource,
		Subresource: event.ObjectRef.Subresource,
		Namespace:   event.ObjectRef.Namespace,
		Name:        event.ObjectRef.Name,
		Time:        event.StageTimestamp,
		Code:        event.ResponseStatus.Code,
	}, nil
}
