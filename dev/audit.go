package dev

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

// AuditPolicy keeps the writes and nothing else, as Writes reads them. Reviews and tokens are asked for with a create,
// but nothing is written; and the heartbeats of a node are not of interest.
const AuditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
rules:
- level: None
  resources:
  - group: authentication.k8s.io
  - group: authorization.k8s.io
  - {group: "", resources: [serviceaccounts/token]}
- level: None
  namespaces: [kube-node-lease]
- level: Metadata
  verbs: [create, update, patch, delete, deletecollection]
`

// auditPolicyOfAll keeps every request. One that watches is kept when it begins, since it may never end.
const auditPolicyOfAll = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
`

// Write is a request that would change the API's data.
type Write = Request

// Request is a request to the API server, whether it was allowed or not.
type Request struct {
	// User who asked, or on whose behalf.
	User      string
	UserAgent string
	// Verb: create, update, patch, delete, deletecollection; get, list and watch are no Writes.
	Verb        string
	Group       string
	Resource    string
	Subresource string
	Namespace   string
	// Name is empty for a create whose name was in the body only, and for what is about many objects.
	Name string
	// Path of the URL.
	Path string
	// Time it was answered.
	Time time.Time
	// Code of the answer, an HTTP status.
	Code int
}

// Writes lists the writes in an audit log that were answered at or after since, the oldest first, and that match; a nil
// match takes all. A write comes into the log right after its answer, so who has just seen its effect may be a moment
// early.
func Writes(path string, since time.Time, match func(Write) bool) ([]Write, error) {
	return Requests(path, since, func(r Request) bool { return r.Writes() && (match == nil || match(r)) })
}

// Writes reports whether a request would change data. Reviews and tokens are asked for with a create, but nothing is
// written.
func (r Request) Writes() bool {
	if r.Group == "authentication.k8s.io" || r.Group == "authorization.k8s.io" || r.Subresource == "token" {
		return false
	}
	return slices.Contains([]string{"create", "update", "patch", "delete", "deletecollection"}, r.Verb)
}

// Requests is Writes for all that is in an audit log.
func Requests(path string, since time.Time, match func(Request) bool) ([]Request, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read audit log: %w", err)
	}
	defer func() { _ = f.Close() }()
	var requests []Request
	for lines := bufio.NewReader(f); ; {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return requests, nil // what follows the last newline is still being written
		} else if err != nil {
			return nil, fmt.Errorf("read audit log: %w", err)
		}
		r, err := parseRequest(line)
		if err != nil {
			return nil, fmt.Errorf("read audit log %s: %w", path, err)
		}
		if !r.Time.Before(since) && (match == nil || match(r)) {
			requests = append(requests, r)
		}
	}
}

// parseRequest reads one line of the log: an audit.k8s.io/v1 Event.
func parseRequest(line []byte) (Request, error) {
	var event auditv1.Event
	if err := json.Unmarshal(line, &event); err != nil {
		return Request{}, err
	}
	user, object, response := event.User, auditv1.ObjectReference{}, metav1.Status{}
	if event.ImpersonatedUser != nil {
		user = *event.ImpersonatedUser
	}
	if event.ObjectRef != nil {
		object = *event.ObjectRef
	}
	if event.ResponseStatus != nil {
		response = *event.ResponseStatus
	}
	path, _, _ := strings.Cut(event.RequestURI, "?")
	return Request{
		User: user.Username, UserAgent: event.UserAgent, Verb: event.Verb,
		Group: object.APIGroup, Resource: object.Resource, Subresource: object.Subresource,
		Namespace: object.Namespace, Name: object.Name,
		Path: path, Time: event.StageTimestamp.Time, Code: int(response.Code),
	}, nil
}
