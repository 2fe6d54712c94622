package message

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"
)

// CloudEventType is the media type of CloudEvent.
const CloudEventType = "application/cloudevents+json; charset=utf-8"

// cloudEvent is an event in the JSON format of CloudEvents 1.0.
type cloudEvent struct {
	SpecVersion     string    `json:"specversion"`
	ID              string    `json:"id"`
	Source          string    `json:"source"`
	Type            string    `json:"type"`
	Subject         string    `json:"subject"`
	Time            time.Time `json:"time"`
	DataContentType string    `json:"datacontenttype"`
	Data            data      `json:"data"`
}

// data is the content of an event.
type data struct {
	Title  string      `json:"title"`
	Count  int         `json:"count"`
	Stacks []stackData `json:"stacks"`
}

type stackData struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Event     string `json:"event"`
	Reason    string `json:"reason,omitempty"`
	Run       string `json:"run,omitempty"`
	Message   string `json:"message,omitempty"`
	URL       string `json:"url,omitempty"`
}

// CloudEvent returns the message as a CloudEvent. Its id is that of the message, by which a receiver recognizes one
// that it has.
func CloudEvent(m Message) ([]byte, error) {
	e := cloudEvent{
		SpecVersion: "1.0", ID: m.ID, Source: cmp.Or(m.Web, "/cairn"), Type: "dev.cairn." + string(m.Event),
		Subject: m.Notification, Time: m.Time.UTC(), DataContentType: "application/json",
		Data: data{Title: m.Title(), Count: m.Count, Stacks: []stackData{}},
	}
	for _, s := range m.Stacks {
		e.Data.Stacks = append(e.Data.Stacks, stackData{
			Namespace: s.Namespace, Name: s.Name, Event: string(s.Event), Reason: s.Reason, Run: s.Run,
			Message: s.Message, URL: m.URL(s),
		})
	}
	return json.Marshal(e)
}

// shortestKey is how many bytes a key has at least, as Standard Webhooks recommends.
const shortestKey = 24

// Key returns the bytes of a key as a Secret has it: base64 after whsec_, else the text.
func Key(text string) ([]byte, error) {
	text = strings.TrimSpace(text)
	key := []byte(text)
	if encoded, ok := strings.CutPrefix(text, "whsec_"); ok {
		decoded, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil {
			return nil, errors.New("what follows whsec_ is not base64")
		}
		key = decoded
	}
	if len(key) < shortestKey {
		return nil, errors.New("it must have at least 24 bytes; create one with: openssl rand -base64 32")
	}
	return key, nil
}

// Headers returns the headers of Standard Webhooks 1.0.0: a signature of the ID, the time and the body by each key.
func Headers(id string, now time.Time, body []byte, keys ...[]byte) map[string]string {
	at := strconv.FormatInt(now.Unix(), 10)
	var signatures []string
	for _, key := range keys {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(id + "." + at + "."))
		mac.Write(body)
		signatures = append(signatures, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	}
	return map[string]string{
		"Webhook-Id": id, "Webhook-Timestamp": at, "Webhook-Signature": strings.Join(signatures, " "),
	}
}
