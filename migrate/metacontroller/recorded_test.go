package metacontroller

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files")

// compositeResponse and decoratorResponse are metacontroller's own types, field by field as its version 4.17.2 has
// them. With responseUnMarshallMode strict, the default of hooks of version v2, it rejects any other key.
type compositeResponse struct {
	Status             map[string]any   `json:"status"`
	Children           []map[string]any `json:"children"`
	ResyncAfterSeconds float64          `json:"resyncAfterSeconds"`
	Finalized          bool             `json:"finalized"`
}

type decoratorResponse struct {
	Labels             map[string]*string `json:"labels"`
	Annotations        map[string]*string `json:"annotations"`
	Status             map[string]any     `json:"status"`
	Attachments        []map[string]any   `json:"attachments"`
	ResyncAfterSeconds float64            `json:"resyncAfterSeconds"`
	Finalized          bool               `json:"finalized"`
}

// strictly decodes an answer as metacontroller does.
func strictly(t testing.TB, answer []byte, to any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(answer))
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		t.Errorf("metacontroller rejects the answer: %v\n%s", err, answer)
	}
}

// recorded are requests that metacontroller 4.17.2 sent to Cairn, beside a real API server, in the lifecycle of a
// Terraform and of a ConfigMap: created, running, applied, changed, suspended by a user, changed to an invalid spec,
// deleted, being destroyed, and without a finalizer. The Stacks in them were edited where the conversion has changed
// since: their spec and the last response.
func recorded(t testing.TB, hook string) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob("testdata/recorded/" + hook + "/*.json")
	if err != nil {
		t.Fatal(err)
	}
	requests := map[string][]byte{}
	for _, file := range files {
		if !strings.HasSuffix(file, ".golden.json") {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			requests[strings.TrimSuffix(file, ".json")] = data
		}
	}
	if len(requests) < 6 {
		t.Fatalf("%d requests of %s", len(requests), hook)
	}
	return requests
}

func compositeTo(body []byte) ([]byte, error) { return respond(body, "Automatic", Composite) }
func decoratorTo(body []byte) ([]byte, error) { return respond(body, "Automatic", Decorator) }

func TestResponsesToRecordedRequests(t *testing.T) {
	for hook, answer := range map[string]func([]byte) ([]byte, error){"composite": compositeTo,
		"decorator": decoratorTo} {
		for name, request := range recorded(t, hook) {
			t.Run(name, func(t *testing.T) {
				got, err := answer(request)
				again, _ := answer(request)
				if !bytes.Equal(got, again) {
					t.Error("the second response differs")
				}
				if err != nil {
					golden(t, name+".golden.json", []byte(err.Error()+"\n"))
					return
				}
				if hook == "composite" {
					strictly(t, got, &compositeResponse{})
				} else {
					strictly(t, got, &decoratorResponse{})
				}
				var lines bytes.Buffer
				if err := json.Indent(&lines, got, "", "  "); err != nil {
					t.Fatal(err)
				}
				golden(t, name+".golden.json", lines.Bytes())
			})
		}
	}
}

func golden(t *testing.T, file string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, got, 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-update writes it):\n%s", file, diff)
	}
}
