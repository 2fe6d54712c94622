// Package message writes the messages of Notifications as their destinations expect them. It is pure.
package message

import (
	"fmt"
	"strings"
	"time"

	"cairn.dev/cairn/api/v1alpha1"
)

// Message is what a destination gets.
type Message struct {
	// ID is the same each time that the message is sent.
	ID    string
	Event v1alpha1.NotificationEvent
	Time  time.Time
	// Notification is the namespace and the name of the Notification. Example: shop/chat.
	Notification string
	// Web is the address of the web UI; empty for no links.
	Web string
	// Stacks are the events that are described, and Count is the number of all.
	Stacks []Stack
	Count  int
}

// Stack is an event of a Stack, or of a namespace, which has no name. The texts are of users, engines and other
// servers.
type Stack struct {
	Namespace, Name string
	Event           v1alpha1.NotificationEvent
	// Reason, Run and Message may be empty.
	Reason, Run, Message string
}

// Of returns the pending message of a Notification, with at most a number of events.
func Of(n *v1alpha1.Notification, web string, most int) Message {
	pending := n.Status.Pending
	m := Message{
		ID: pending.ID, Event: pending.Event, Time: pending.Since.Time, Notification: n.Namespace + "/" + n.Name,
		Web: strings.TrimSuffix(web, "/"),
	}
	for _, r := range n.Status.Reported {
		if !r.Pending {
			continue
		}
		if m.Count++; len(m.Stacks) == most {
			continue
		}
		stack := Stack{Namespace: n.Namespace, Name: r.Stack, Event: r.Event, Reason: r.Reason, Run: r.Run,
			Message: r.Message}
		if namespace, name, elsewhere := strings.Cut(r.Stack, "/"); elsewhere {
			stack.Namespace, stack.Name = namespace, name
		}
		m.Stacks = append(m.Stacks, stack)
	}
	return m
}

// Title is the message in one sentence.
func (m Message) Title() string {
	if m.Event == v1alpha1.NotifyTest {
		return "Test of Notification " + m.Notification
	}
	var found, gone int
	for _, s := range m.Stacks {
		switch s.Event {
		case v1alpha1.NotifyDriftFound:
			found++
		case v1alpha1.NotifyDriftGone:
			gone++
		}
	}
	if found > 0 && gone > 0 {
		return fmt.Sprintf("Drift of %s found or gone", stacks(m.Count))
	}
	if m.Count == 1 && len(m.Stacks) == 1 {
		return m.Stacks[0].Title()
	}
	if m.Event == v1alpha1.NotifyMassDrift {
		return title(m.Event, fmt.Sprintf("%d namespaces", m.Count), m.Count)
	}
	return title(m.Event, stacks(m.Count), m.Count)
}

// Title is the event in one sentence.
func (s Stack) Title() string {
	if s.Name == "" {
		return title(s.Event, "namespace "+s.Namespace, 1)
	}
	return title(s.Event, "Stack "+s.Key(), 1)
}

// Key is the namespace and the name of the Stack, or the namespace.
func (s Stack) Key() string {
	if s.Name == "" {
		return s.Namespace
	}
	return s.Namespace + "/" + s.Name
}

func title(event v1alpha1.NotificationEvent, subject string, n int) string {
	verb := func(one, many string) string {
		if n == 1 {
			return one
		}
		return many
	}
	switch event {
	case v1alpha1.NotifyApprovalNeeded:
		return subject + verb(" waits", " wait") + " for an approval"
	case v1alpha1.NotifyFailed:
		return subject + " failed"
	case v1alpha1.NotifyRecovered:
		return subject + verb(" is", " are") + " Ready again"
	case v1alpha1.NotifyDriftFound:
		return subject + verb(" has", " have") + " drifted"
	case v1alpha1.NotifyDriftGone:
		return subject + verb(" has", " have") + " no drift any longer"
	case v1alpha1.NotifyMassDrift:
		return "MassDrift: no drift is corrected in " + subject
	case v1alpha1.NotifyContended:
		return subject + verb(" has", " have") + " two writers"
	case v1alpha1.NotifyApplied:
		return subject + verb(" was", " were") + " applied"
	case v1alpha1.NotifyDestroyed:
		return subject + verb(" was", " were") + " destroyed"
	}
	return subject + ": " + string(event)
}

func stacks(n int) string {
	if n == 1 {
		return "1 Stack"
	}
	return fmt.Sprintf("%d Stacks", n)
}

// URL is the page of the Run in the web UI, else that of the Stack; empty without a web UI.
func (m Message) URL(s Stack) string {
	switch {
	case m.Web == "":
		return ""
	case s.Name == "":
		return m.Web + "/driftpauses/" + s.Namespace + "/" + v1alpha1.DriftPauseName
	case s.Run != "":
		return m.Web + "/runs/" + s.Namespace + "/" + s.Run
	}
	return m.Web + "/stacks/" + s.Namespace + "/" + s.Name
}

// Text describes the event, and what to do.
func (s Stack) Text() string {
	text := s.Message
	if s.Event == v1alpha1.NotifyDriftGone {
		return "no drift any longer"
	}
	if s.Event == v1alpha1.NotifyFailed && s.Reason != "" {
		text = s.Reason + ": " + text
	}
	if s.Event == v1alpha1.NotifyApprovalNeeded && s.Run != "" {
		text += fmt.Sprintf(" (cairn approve %s -n %s)", s.Run, s.Namespace)
	}
	return text
}

// More is the sentence about the events that are not described; empty if all are.
func (m Message) More() string {
	if n := m.Count - len(m.Stacks); n > 0 {
		return "and " + stacks(n) + " more"
	}
	return ""
}

// TestText is the text of a test.
const TestText = "Cairn sends messages about Stacks here."
