package attacks

import (
	"archive/zip"
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"cairn.dev/cairn/internal/base/download"
	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/engine/plan"
	"cairn.dev/cairn/internal/engine/plan/planfile"
	"cairn.dev/cairn/internal/engine/plan/planfile/planfiletest"
	"cairn.dev/cairn/internal/runnerapi"
	"cairn.dev/cairn/internal/source/gitprovider"
	"cairn.dev/cairn/internal/state/document"
)

func TestMemoryOfAWebhookWithAMillionCommitsIsLimited(t *testing.T) {
	const largest = 25 << 20
	body := []byte(`{"ref":"refs/heads/main","commits":[` + strings.Repeat("{},", (largest-100)/3) + `{}]}`)
	secret := []byte("secret")
	sum := hmac.New(sha256.New, secret)
	sum.Write(body)
	h := http.Header{}
	h.Set("X-GitHub-Event", "push")
	h.Set("X-GitHub-Delivery", "1")
	h.Set("Content-Type", "application/json")
	h.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(sum.Sum(nil)))
	takesAtMost(t, mib(16), func() {
		if event, err := gitprovider.Verify(h, body, [][]byte{secret}, time.Now()); err != nil ||
			event.Ref != "refs/heads/main" {
			t.Errorf("%+v, %v", event, err)
		}
	})
}

// A quarter of the largest plan is tested: the memory grows with the text.
const planSize = runnerapi.LargestPlanJSON / 4

func TestMemoryOfAPlanWithMillionsOfValuesIsLimited(t *testing.T) {
	for name, text := range map[string]string{
		"resources":         `{"format_version":"1.2","resource_changes":[` + repeat("{},") + `{}]}`,
		"values of changes": `{"format_version":"1.2","resource_changes":[{"mode":"managed","change":{"actions":["create"],"after":[` + repeat("{},") + `{}]}}]}`,
		"configuration":     `{"format_version":"1.2","configuration":[` + repeat("{},") + `{}]}`,
		"outputs":           `{"format_version":"1.2","output_changes":{` + repeat(`"":{},`) + `"":{}}}`,
		"actions": `{"format_version":"1.2","resource_changes":[{"mode":"managed","change":{"actions":[` +
			repeat(`"",`) + `"create"]}}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			takesAtMost(t, 8*planSize, func() {
				_, _ = plan.ParseWithin([]byte(text), planSize) // some are too large, and some are no plan
			})
		})
	}
}

// repeat is a text nearly as long as planSize.
func repeat(part string) string {
	return strings.Repeat(part, (planSize-200)/len(part))
}

// Each change is a few bytes in the file.
func TestMemoryOfAPlanFileWithMillionsOfChangesIsLimited(t *testing.T) {
	message := func(field byte, data string) string { return string([]byte{field<<3 | 2, byte(len(data))}) + data }
	for name, part := range map[string]string{
		"changes":   message(3, message(9, message(2, ""))),
		"drift":     message(18, ""),
		"outputs":   message(4, message(2, message(2, ""))),
		"variables": message(2, ""),
	} {
		t.Run(name, func(t *testing.T) {
			data := planfiletest.Zip(t, []byte(strings.Repeat(part, (planfile.Largest-len(part))/len(part))))
			takesAtMost(t, 4*planfile.Largest, func() {
				if _, err := planfile.Read(data); !errors.Is(err, planfile.ErrUnreadable) {
					t.Error(err)
				}
			})
			takesAtMost(t, 4*planfile.Largest, func() {
				if _, err := planfile.ReadChanges(data); !errors.Is(err, planfile.ErrUnreadable) {
					t.Error(err)
				}
			})
		})
	}
}

// Plans with large values are read without them.
func TestMemoryOfTheChangesOfALargePlanIsLimited(t *testing.T) {
	// a text of 1 MiB
	value := planfiletest.Message(nil, 1, append([]byte{0xdb, 0, 0x10, 0, 0}, make([]byte, 1<<20)...))
	change := planfiletest.Message(planfiletest.Number(nil, 1, planfiletest.Create), 2, value)
	resource := planfiletest.Message(planfiletest.Message(nil, 9, change), 13, []byte("a.b"))
	message := planfiletest.Number(nil, 1, 3)
	for i := range 300 {
		deposed := planfiletest.Message(resource, 7, fmt.Append(nil, i)) // another object of the same address
		message = planfiletest.Message(message, 3, deposed)
	}
	data := planfiletest.Zip(t, message)
	takesAtMost(t, 4*planfile.Largest, func() {
		if _, err := planfile.ReadChanges(data); err != nil {
			t.Error(err)
		}
	})
}

func TestMemoryOfComparedPlanJSONIsLimited(t *testing.T) {
	file, err := planfile.Read(
		planfiletest.Plan{{Address: "a.b", Action: planfiletest.Create, After: map[string]any{}}}.File(t))
	if err != nil {
		t.Fatal(err)
	}
	for name, part := range map[string][2]string{
		"changes":       {`{"terraform_version":"1.12.6","resource_changes":[`, "{},"},
		"values":        {`{"terraform_version":"1.12.6","resource_changes":[{"address":"a.b","mode":"managed","type":"a","name":"b","provider_name":"` + planfiletest.Provider + `","change":{"actions":["create"],"after":[`, "{},"},
		"planned":       {`{"terraform_version":"1.12.6","planned_values":{"root_module":{"resources":[`, "{},"},
		"child modules": {`{"terraform_version":"1.12.6","planned_values":{"root_module":{"child_modules":[`, "{},"},
		"outputs":       {`{"terraform_version":"1.12.6","output_changes":{`, `"":{},`},
	} {
		t.Run(name, func(t *testing.T) {
			text := part[0] + strings.Repeat(part[1], 990_000) // each is two values
			text = strings.TrimSuffix(text, ",")
			for i := len(part[0]) - 1; i >= 0; i-- { // close what the beginning opens
				switch part[0][i] {
				case '{':
					text += "}"
				case '[':
					text += "]"
				case ']':
					i = strings.LastIndexByte(part[0][:i], '[')
				}
			}
			takesAtMost(t, 8*runnerapi.LargestPlanJSON, func() {
				if _, err := file.Document([]byte(text)); err == nil {
					t.Error("it describes another plan")
				}
			})
			if _, err := file.Document([]byte(strings.Repeat(text, 2))); !errors.Is(err, planfile.ErrTooManyValues) {
				t.Errorf("twice as many: %v", err)
			}
		})
	}
}

// A state may have 256 MiB, a sixteenth is tested: the memory grows with the text.
func TestMemoryOfAStateWithMillionsOfValuesIsLimited(t *testing.T) {
	const size = document.MaxSize / 16
	head := `{"version":4,"serial":1,"lineage":"a","terraform_version":"1.9.0",`
	for name, text := range map[string]string{
		"resources": head + `"resources":[` + strings.Repeat("{},", size/3) + `{}]}`,
		"outputs":   head + `"outputs":{` + strings.Repeat(`"":{},`, size/6) + `"":{}}}`,
		"values":    head + `"a":[` + strings.Repeat("1,", size/2) + `1]}`,
	} {
		t.Run("parsed when it is written: "+name, func(t *testing.T) {
			data := []byte(text)
			takesAtMost(t, size, func() { _, _ = document.Parse(data) })
		})
		t.Run("read for its resources: "+name, func(t *testing.T) {
			data := []byte(text)
			takesAtMost(t, mib(16), func() {
				var rejected *engine.Rejection
				if _, err := engine.ReadInstances(data); !errors.As(err, &rejected) && name != "outputs" {
					t.Errorf("got %v", err)
				}
			})
		})
	}
}

func TestMemoryOfAProviderArchiveWithManyFilesIsLimited(t *testing.T) {
	var data bytes.Buffer
	w := zip.NewWriter(&data)
	for range 200_000 {
		if _, err := w.CreateHeader(&zip.FileHeader{Name: "a", Method: zip.Store}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	takesAtMost(t, mib(24), func() {
		if _, err := download.OpenZip(bytes.NewReader(data.Bytes()), int64(data.Len())); !errors.Is(err,
			download.ErrDirectory) {
			t.Errorf("got %v", err)
		}
	})
}
