package source

import (
	"bytes"
	"runtime"
	"testing"
)

func TestCheck(t *testing.T) {
	for name, tt := range map[string]struct {
		files map[string][]byte
		want  string
	}{
		"plain code":                       {files: map[string][]byte{"main.tf": nil}},
		"code of OpenTofu":                 {files: map[string][]byte{"main.tofu": nil}},
		"a module in a folder":             {files: map[string][]byte{"main.tf": nil, "modules/net/main.tf": nil}},
		"a path to the parent":             {files: map[string][]byte{"main.tf": nil, "../main.tf": nil}, want: "SourceInvalid"},
		"a path to a parent in the middle": {files: map[string][]byte{"main.tf": nil, "a/../../main.tf": nil}, want: "SourceInvalid"},
		"an absolute path":                 {files: map[string][]byte{"main.tf": nil, "/etc/passwd": nil}, want: "SourceInvalid"},
		"a backslash":                      {files: map[string][]byte{"main.tf": nil, `..\main.tf`: nil}, want: "SourceInvalid"},
		"no code":                          {files: map[string][]byte{"README": nil}, want: "SourceInvalid"},
		"no files":                         {want: "SourceInvalid"},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			if p := check(tt.files); p != nil {
				got = p.Reason
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestPackIsReproducible(t *testing.T) {
	files := map[string][]byte{"main.tf": []byte("a"), "b.tf": []byte("b"), "modules/c/main.tf": []byte("c")}
	first, err := pack(files)
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if again, _ := pack(files); !bytes.Equal(first, again) {
			t.Fatal("two archives of the same files differ")
		}
	}
	files["main.tf"] = []byte("other")
	if other, _ := pack(files); bytes.Equal(first, other) {
		t.Error("archives of other files are the same")
	}
}

// TestMemoryOfPackIsBounded checks that the compressors are reused: after a start each Stack is packed once.
func TestMemoryOfPackIsBounded(t *testing.T) {
	files := map[string][]byte{"main.tf": []byte("# code")}
	var before, after runtime.MemStats
	const times = 100
	runtime.ReadMemStats(&before)
	for range times {
		if _, err := pack(files); err != nil {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / times; each > 300<<10 { // 800 KiB without a pool; with the race detector a pool drops one of four
		t.Errorf("%d bytes each", each)
	}
}
