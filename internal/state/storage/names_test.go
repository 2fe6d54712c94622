package storage

import (
	"bytes"
	"crypto/rand"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/state/document"
)

func TestNamesOfTheLongestStack(t *testing.T) {
	stack := strings.Repeat("a", 199) + "b"
	v := v1alpha1.StateVersion{Version: 1<<62 - 1, SHA256: document.Digest([]byte("x")), Chunks: 1000}
	for _, name := range secretNames(stack, v) {
		if errs := validation.IsDNS1123Subdomain(name); len(errs) > 0 {
			t.Fatalf("%s: %v", name, errs)
		}
		if !IsSecretName(name) {
			t.Errorf("%s is not the name of a Secret with a state", name)
		}
		if got, ok := versionOf(stack, name); !ok || got != v.Version {
			t.Fatalf("%s is parsed as version %d, %v", name, got, ok)
		}
	}
	for _, name := range []string{stack, "net", strings.Repeat("a", 63), strings.Repeat("a", 64)} {
		if errs := validation.IsValidLabelValue(labelValue(name)); len(errs) > 0 {
			t.Errorf("label of %s: %v", name, errs)
		}
	}
	if labelValue(stack) == labelValue(stack[:199]+"c") {
		t.Error("two Stacks share a label")
	}
}

func TestVersionOfOtherNames(t *testing.T) {
	for _, name := range []string{"net-state-v", "net-state-vx-1-0", "net-state-v1", "net2-state-v1-ab-0",
		"net-state-v-1-ab-0", "net"} {
		if IsSecretName(name) {
			t.Errorf("%s is the name of a Secret with a state", name)
		}
		if v, ok := versionOf("net", name); ok {
			t.Errorf("%s is parsed as version %d", name, v)
		}
	}
}

func TestPackRoundTrip(t *testing.T) {
	random := make([]byte, 3<<20)
	if _, err := rand.Read(random); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"empty": {}, "small": []byte(`{"version":4}`), "incompressible": random} {
		t.Run(name, func(t *testing.T) {
			packed, err := Pack(data)
			if err != nil {
				t.Fatal(err)
			}
			again, _ := Pack(data)
			if !bytes.Equal(packed, again) {
				t.Error("the same state packs to other bytes")
			}
			chunks := split(packed, 900<<10)
			for _, c := range chunks {
				if len(c) > 900<<10 || len(c) == 0 {
					t.Fatalf("a chunk of %d bytes", len(c))
				}
			}
			v := v1alpha1.StateVersion{SHA256: document.Digest(data), Size: int64(len(data))}
			got, err := Unpack(bytes.Join(chunks, nil), v)
			if err != nil || !bytes.Equal(got, data) {
				t.Fatalf("%d bytes were unpacked as %d: %v", len(data), len(got), err)
			}
			v.SHA256 = document.Digest([]byte("other"))
			if _, err := Unpack(packed, v); err == nil {
				t.Error("other bytes than those of the version are accepted")
			}
		})
	}
}

func TestSizeOfAnUnpackedStateIsLimited(t *testing.T) {
	packed, err := Pack(make([]byte, 10<<20))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Unpack(packed, v1alpha1.StateVersion{SHA256: document.Digest(nil), Size: 100}); err == nil {
		t.Fatal("accepted")
	}
}
