package message

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
)

var update = flag.Bool("update", false, "write the golden files")

var at = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// pending is a Notification with a pending message about Stacks.
func pending(event v1alpha1.NotificationEvent, events ...v1alpha1.ReportedEvent) *v1alpha1.Notification {
	n := &v1alpha1.Notification{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "chat"}}
	n.Status.Pending = &v1alpha1.PendingMessage{ID: "0d1f", Event: event, Since: metav1.Time{Time: at}}
	n.Status.Reported = []v1alpha1.ReportedEvent{{Stack: "earlier", Event: event}}
	for _, e := range events {
		e.Pending = true
		n.Status.Reported = append(n.Status.Reported, e)
	}
	return n
}

// hostile is a text of an engine that tries to be more than text.
const hostile = `<!channel> <https://evil.example|click> *bold* [click](https://evil.example) @everyone "}],"x":1`

var messages = map[string]Message{
	"failed": Of(pending(v1alpha1.NotifyFailed,
		v1alpha1.ReportedEvent{Stack: "net", Event: v1alpha1.NotifyFailed, Reason: "RunFailed", Run: "net-7",
			Message: hostile},
		v1alpha1.ReportedEvent{Stack: "prod/dns", Event: v1alpha1.NotifyFailed, Reason: "SecretNotFound",
			Message: "Secret keys was not found"},
		v1alpha1.ReportedEvent{Stack: "third", Event: v1alpha1.NotifyFailed},
	), "https://cairn.example.com/", 2),
	"approval": Of(pending(v1alpha1.NotifyApprovalNeeded,
		v1alpha1.ReportedEvent{Stack: "net", Event: v1alpha1.NotifyApprovalNeeded, Reason: "AwaitingApproval",
			Run: "net-7", Message: "1 to add"},
	), "", 20),
	"drift": Of(pending(v1alpha1.NotifyDriftFound,
		v1alpha1.ReportedEvent{Stack: "a", Event: v1alpha1.NotifyDriftFound, Run: "a-3", Message: "1 to change"},
		v1alpha1.ReportedEvent{Stack: "b", Event: v1alpha1.NotifyDriftGone},
	), "https://cairn.example.com", 20),
	"massdrift": Of(pending(v1alpha1.NotifyMassDrift,
		v1alpha1.ReportedEvent{Event: v1alpha1.NotifyMassDrift, Reason: "MassDrift",
			Message: "12 of 40 Stacks; then cairn drift resume -n shop"},
	), "https://cairn.example.com", 20),
	"contended": Of(pending(v1alpha1.NotifyContended,
		v1alpha1.ReportedEvent{Stack: "net", Event: v1alpha1.NotifyContended, Reason: "TwoWriters",
			Message: "Run net-3 writes, and another writer"},
	), "https://cairn.example.com", 20),
	"test": Of(pending(v1alpha1.NotifyTest), "https://cairn.example.com", 20),
}

// TestMessages compares each message with its golden file.
func TestMessages(t *testing.T) {
	for format, write := range map[string]func(Message) ([]byte, error){"slack": Slack, "teams": Teams,
		"cloudevent": CloudEvent} {
		for name, m := range messages {
			body, err := write(m)
			if err != nil {
				t.Fatal(err)
			}
			var got bytes.Buffer
			if err := json.Indent(&got, append(body, '\n'), "", "  "); err != nil {
				t.Fatalf("%s of %s is not JSON: %v", format, name, err)
			}
			file := filepath.Join("testdata", name+"."+format+".json")
			if *update {
				if err := os.WriteFile(file, got.Bytes(), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil || !bytes.Equal(got.Bytes(), want) {
				t.Errorf("%s (%v): got\n%s", file, err, got.Bytes())
			}
		}
	}
}

// TestTextsOfOthersAreLiteral checks that no text of an engine is in a field in which it would have a format, a link or
// a mention.
func TestTextsOfOthersAreLiteral(t *testing.T) {
	slack, _ := Slack(messages["failed"])
	teams, _ := Teams(messages["failed"])
	for name, body := range map[string][]byte{"Slack": slack, "Teams": teams} {
		var v any
		if err := json.Unmarshal(body, &v); err != nil {
			t.Fatal(err)
		}
		found := 0
		walk(v, func(o map[string]any) {
			if text, ok := o["text"].(string); ok && strings.Contains(text, "channel") {
				if found++; o["type"] != "plain_text" && o["type"] != "TextRun" {
					t.Errorf("%s: the text is in %v", name, o["type"])
				}
			}
		})
		if found != 1 {
			t.Errorf("%s has the text %d times", name, found)
		}
	}
}

func walk(v any, visit func(map[string]any)) {
	switch v := v.(type) {
	case map[string]any:
		visit(v)
		for _, inner := range v {
			walk(inner, visit)
		}
	case []any:
		for _, inner := range v {
			walk(inner, visit)
		}
	}
}

func TestTitles(t *testing.T) {
	for event, want := range map[v1alpha1.NotificationEvent][2]string{
		v1alpha1.NotifyApprovalNeeded: {"Stack shop/net waits for an approval", "3 Stacks wait for an approval"},
		v1alpha1.NotifyFailed:         {"Stack shop/net failed", "3 Stacks failed"},
		v1alpha1.NotifyRecovered:      {"Stack shop/net is Ready again", "3 Stacks are Ready again"},
		v1alpha1.NotifyDriftFound:     {"Stack shop/net has drifted", "3 Stacks have drifted"},
		v1alpha1.NotifyDriftGone:      {"Stack shop/net has no drift any longer", "3 Stacks have no drift any longer"},
		v1alpha1.NotifyApplied:        {"Stack shop/net was applied", "3 Stacks were applied"},
		v1alpha1.NotifyContended:      {"Stack shop/net has two writers", "3 Stacks have two writers"},
		v1alpha1.NotifyMassDrift: {"MassDrift: no drift is corrected in Stack shop/net",
			"MassDrift: no drift is corrected in 3 namespaces"},
		v1alpha1.NotifyDestroyed: {"Stack shop/net was destroyed", "3 Stacks were destroyed"},
	} {
		e := v1alpha1.ReportedEvent{Stack: "net", Event: event}
		got := [2]string{Of(pending(event, e), "", 20).Title(), Of(pending(event, e, e, e), "", 2).Title()}
		if got != want {
			t.Errorf("%s: %q, expected %q", event, got, want)
		}
	}
}

// TestSlackAcceptsTheLongestMessage checks the limits of Slack's blocks: 50 of them, and 150 characters in a header.
func TestSlackAcceptsTheLongestMessage(t *testing.T) {
	e := v1alpha1.ReportedEvent{Stack: strings.Repeat("n", 253), Event: v1alpha1.NotifyFailed, Message: "text"}
	for count, events := range map[int][]v1alpha1.ReportedEvent{1: {e},
		30: slices.Repeat([]v1alpha1.ReportedEvent{e}, 30)} {
		body, err := Slack(Of(pending(v1alpha1.NotifyFailed, events...), "", 20))
		if err != nil {
			t.Fatal(err)
		}
		var sent struct {
			Blocks []struct{ Text struct{ Text string } }
		}
		if err := json.Unmarshal(body, &sent); err != nil || len(sent.Blocks) > 50 ||
			len(sent.Blocks[0].Text.Text) > 150 {
			t.Errorf("%d Stacks: %v, %d blocks, header %q", count, err, len(sent.Blocks), sent.Blocks[0].Text.Text)
		}
	}
}

// TestKeys are those that Standard Webhooks recommends, and no shorter ones.
func TestKeys(t *testing.T) {
	for text, want := range map[string]string{
		"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw": "1\xf2\x90\xf6\xbf\x06)\x8a\xabO\x08\xd4<?\x08," +
			"\xf6H\xa3b\xda-\xa4\xb0",
		"a text of at least 24 bytes\n": "a text of at least 24 bytes",
		"whsec_c2hvcnQ=":                "",
		"whsec_?":                       "",
		"short":                         "",
		"":                              "",
	} {
		if got, err := Key(text); string(got) != want || (err != nil) != (want == "") {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
}

// TestSignature is the example of the specification of Standard Webhooks.
func TestSignature(t *testing.T) {
	key, err := Key("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	if err != nil {
		t.Fatal(err)
	}
	headers := Headers("msg_p5jXN8AQM9LWM0D4loKWxJek", time.Unix(1614265330, 0), []byte(`{"test": 2432232314}`), key,
		[]byte("other"))
	first, second, _ := strings.Cut(headers["Webhook-Signature"], " ")
	if first != "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=" || !strings.HasPrefix(second, "v1,") {
		t.Errorf("signatures %q, %q", first, second)
	}
}

// TestDocumentedVerification runs the examples of the documentation in their languages.
func TestDocumentedVerification(t *testing.T) {
	page, err := os.ReadFile("../../../../docs/how-to/notifications-webhook.md")
	if err != nil {
		t.Fatal(err)
	}
	const key, body = "a key of at least 24 bytes", `{"id":"x"}`
	headers := Headers("x", at, []byte(body), []byte("the next key, 24 bytes long"), []byte(key))
	lower := map[string]string{}
	for name, value := range headers {
		lower[strings.ToLower(name)] = value
	}
	given, err := json.Marshal(lower)
	if err != nil {
		t.Fatal(err)
	}
	for language, run := range map[string]struct {
		suffix, program, main string
	}{
		"python": {".py", "python3", `
import json, sys
headers, body, key, now = json.loads(sys.argv[1]), sys.argv[2].encode(), sys.argv[3], float(sys.argv[4])
print("true" if verify(headers, body, key, lambda: now) else "false")
`},
		"js": {".mjs", "node", `
const [headers, body, key, now] = process.argv.slice(2)
console.log(verify(JSON.parse(headers), body, key, Number(now)))
`},
	} {
		example := regexp.MustCompile("(?s)```" + language + "\n(.*?)```").FindSubmatch(page)
		if example == nil {
			t.Fatalf("the page has no example in %s", language)
		}
		file := filepath.Join(t.TempDir(), "verify"+run.suffix)
		if err := os.WriteFile(file, append(example[1], run.main...), 0o600); err != nil {
			t.Fatal(err)
		}
		for name, c := range map[string]struct {
			args []string
			want string
		}{
			"the message":    {[]string{string(given), body, key, "1796040060"}, "true"},
			"another body":   {[]string{string(given), body + " ", key, "1796040060"}, "false"},
			"another key":    {[]string{string(given), body, key + "s", "1796040060"}, "false"},
			"an old message": {[]string{string(given), body, key, "1796040400"}, "false"},
		} {
			out, err := exec.CommandContext(t.Context(), run.program, slices.Insert(c.args, 0, file)...).
				CombinedOutput()
			if err != nil || strings.TrimSpace(string(out)) != c.want {
				t.Errorf("%s, %s: %s, %v", language, name, out, err)
			}
		}
	}
}
