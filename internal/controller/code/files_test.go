package code

import (
	"bytes"
	"context"
	"io"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/inputs"
)

func TestFilesOfABuildContext(t *testing.T) {
	for name, tt := range map[string]struct{ folder, dockerfile, want string }{
		"all": {".", "Dockerfile",
			"Dockerfile,Dockerfile.dockerignore,image/Dockerfile,image/a,image2,main.tf"},
		"a folder": {"image", "image/Dockerfile", "image/Dockerfile,image/a"},
		"a Dockerfile outside of the context": {"image", "Dockerfile",
			"Dockerfile,Dockerfile.dockerignore,image/Dockerfile,image/a"},
		"a Dockerfile that does not exist": {".", "Other", ""},
	} {
		all := bytesOf(map[string]string{"main.tf": "", "Dockerfile": "", "Dockerfile.dockerignore": "",
			"image/Dockerfile": "", "image/a": "", "image2": ""})
		chosen, _ := within(all, inputs.NewBuild(&v1alpha1.Build{Dockerfile: tt.dockerfile, Context: tt.folder}))
		var names []string
		for _, n := range []string{"Dockerfile", "Dockerfile.dockerignore", "image/Dockerfile", "image/a", "image2",
			"main.tf"} {
			if _, ok := chosen[n]; ok {
				names = append(names, n)
			}
		}
		if got := strings.Join(names, ","); got != tt.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestCheck(t *testing.T) {
	for name, tt := range map[string]struct {
		files map[string][]byte
		want  string
	}{
		"plain code":           {files: map[string][]byte{"main.tf": nil}},
		"code of OpenTofu":     {files: map[string][]byte{"main.tofu": nil}},
		"a module in a folder": {files: map[string][]byte{"main.tf": nil, "modules/net/main.tf": nil}},
		"a path to the parent": {files: map[string][]byte{"main.tf": nil, "../main.tf": nil},
			want: "SourceInvalid"},
		"a path to a parent in the middle": {files: map[string][]byte{"main.tf": nil, "a/../../main.tf": nil},
			want: "SourceInvalid"},
		"an absolute path": {files: map[string][]byte{"main.tf": nil, "/etc/passwd": nil}, want: "SourceInvalid"},
		"a backslash":      {files: map[string][]byte{"main.tf": nil, `..\main.tf`: nil}, want: "SourceInvalid"},
		"no code":          {files: map[string][]byte{"README": nil}, want: "SourceInvalid"},
		"no files":         {want: "SourceInvalid"},
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
	packed := func() []byte {
		var archive bytes.Buffer
		if err := pack(files, &archive); err != nil {
			t.Fatal(err)
		}
		return archive.Bytes()
	}
	first := packed()
	for range 20 {
		if !bytes.Equal(first, packed()) {
			t.Fatal("two archives of the same files differ")
		}
	}
	files["main.tf"] = []byte("other")
	if bytes.Equal(first, packed()) {
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
		if err := pack(files, io.Discard); err != nil {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	// 800 KiB without a pool; with the race detector a pool drops one of four
	if each := (after.TotalAlloc - before.TotalAlloc) / times; each > 300<<10 {
		t.Errorf("%d bytes each", each)
	}
}

// TestArchiveIsOfTheVersionInItsKey checks a ConfigMap that changes after its version was read: other bytes under the
// key of the earlier version would be the code of a Stack that goes back to it.
func TestArchiveIsOfTheVersionInItsKey(t *testing.T) {
	s, loaded := NewSources(nil, nil, nil), "1"
	f := files{version: "1", load: func(context.Context) (map[string][]byte, string, error) {
		return map[string][]byte{"main.tf": []byte("# " + loaded)}, loaded, nil
	}}
	for range 2 { // the second one knows what the code requires, and does not load it
		found, problem, err := s.inMemory(t.Context(), &v1alpha1.Stack{}, f)
		if problem != nil || err != nil || found.Archive.Key != "1" {
			t.Fatal(found.Archive.Key, problem, err)
		}
		if err := found.Archive.Write(t.Context(), io.Discard); (err == nil) != (loaded == "1") {
			t.Errorf("archive of version %s with key 1: %v", loaded, err)
		}
		loaded = "2"
	}
}

// TestEachSourceOfTheAPIHasAKind checks the list of kinds against the fields of spec.source.
func TestEachSourceOfTheAPIHasAKind(t *testing.T) {
	fields := reflect.TypeFor[v1alpha1.Source]()
	if n := fields.NumField(); n != len(kinds) {
		t.Errorf("spec.source has %d fields, and there are %d kinds", n, len(kinds))
	}
	for i := range fields.NumField() {
		var source v1alpha1.Source
		field := reflect.ValueOf(&source).Elem().Field(i)
		if field.Kind() == reflect.Map {
			field.Set(reflect.MakeMap(field.Type()))
		} else {
			field.Set(reflect.New(field.Type().Elem()))
		}
		matches := 0
		for _, k := range kinds {
			if k.is(&source) {
				matches++
			}
		}
		if matches != 1 {
			t.Errorf("%d kinds are spec.source.%s", matches, fields.Field(i).Name)
		}
	}
}
