package message

import (
	"encoding/json"

	"cairn.dev/cairn/internal/base/shorten"
)

// object is a JSON object.
type object = map[string]any

// longestHeader is how long the text of a header may be in Slack, which rejects a message with a longer one.
const longestHeader = 150

// Slack returns the body for an incoming webhook of Slack. Texts of others are plain_text, in which nothing is a
// link, a mention or a format.
func Slack(m Message) ([]byte, error) {
	plain := func(text string) object { return object{"type": "plain_text", "text": text, "emoji": false} }
	blocks := []object{{"type": "header", "text": plain(shorten.Line(m.Title(), longestHeader))}}
	if len(m.Stacks) == 0 {
		blocks = append(blocks, object{"type": "section", "text": plain(TestText)})
	}
	for _, s := range m.Stacks {
		name := "*" + s.Key() + "*"
		if url := m.URL(s); url != "" {
			name = "*<" + url + "|" + s.Key() + ">*"
		}
		blocks = append(blocks, object{"type": "section", "text": object{"type": "mrkdwn", "text": name}})
		if text := s.Text(); text != "" { // not a field, which has half of the width
			blocks = append(blocks, object{"type": "section", "text": plain(text)})
		}
	}
	if more := m.More(); more != "" {
		blocks = append(blocks, object{"type": "section", "text": plain(more)})
	}
	// what a notification of the system shows; its only texts of others are names
	return json.Marshal(object{"text": m.Title(), "blocks": blocks})
}

// Teams returns the body for a workflow of Teams: an Adaptive Card. Texts are runs, in which no Markdown is.
func Teams(m Message) ([]byte, error) {
	paragraph := func(runs ...object) object { return object{"type": "RichTextBlock", "inlines": runs} }
	run := func(text string) object { return object{"type": "TextRun", "text": text} }
	title := run(m.Title())
	title["weight"], title["size"] = "Bolder", "Medium"
	body := []object{paragraph(title)}
	if len(m.Stacks) == 0 {
		body = append(body, paragraph(run(TestText)))
	}
	for _, s := range m.Stacks {
		name := run(s.Key())
		name["weight"] = "Bolder"
		if url := m.URL(s); url != "" {
			name["selectAction"] = object{"type": "Action.OpenUrl", "url": url}
		}
		runs := []object{name}
		if text := s.Text(); text != "" {
			runs = append(runs, run(" "+text))
		}
		body = append(body, paragraph(runs...))
	}
	if more := m.More(); more != "" {
		body = append(body, paragraph(run(more)))
	}
	return json.Marshal(object{
		"type": "message",
		"attachments": []object{{
			"contentType": "application/vnd.microsoft.card.adaptive",
			"content": object{
				"$schema": "http://adaptivecards.io/schemas/adaptive-card.json", "type": "AdaptiveCard",
				"version": "1.4", "body": body,
			},
		}},
	})
}
