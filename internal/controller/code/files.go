package code

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/inputs"
	"cairn.dev/cairn/internal/controller/stack/decision"
)

// files is code that is small enough for memory, as that of a ConfigMap. It is loaded when it is needed.
type files struct {
	// version of the code: another one has other files.
	version string
	// load returns the files by path, and the version that they are of.
	load func(context.Context) (map[string][]byte, string, error)
}

// inMemory is the code that a Stack has in files.
func (s *Sources) inMemory(ctx context.Context, stack *v1alpha1.Stack, f files) (Code, *decision.Problem, error) {
	code := Code{Facts: decision.Code{CodeRead: true}}
	terragrunt := stack.Spec.Engine.Name == v1alpha1.EngineTerragrunt
	versions, ok := s.facts.Get(factsKey(f.version, terragrunt))
	if !ok {
		all, version, err := f.load(ctx)
		if err != nil {
			return code, nil, err
		}
		f = files{version, func(context.Context) (map[string][]byte, string, error) { return all, version, nil }}
		if problem := check(all); problem != nil {
			return code, problem, nil
		}
		if versions, err = s.closures.Engine(ctx, all, terragrunt); err != nil {
			return code, &decision.Problem{
				Reason: v1alpha1.ReasonSourceTooLarge, Message: "spec.source: " + err.Error(),
			}, nil
		}
		s.facts.Add(factsKey(version, terragrunt), versions)
	}
	code.Versions = versions
	code.Archive = f.archive("", func(all map[string][]byte) (map[string][]byte, error) { return all, nil })
	code.image = func(build *inputs.Build) (Archive, error) {
		return f.archive("/image/"+build.Spec.Context+"/"+build.Spec.Dockerfile,
			func(all map[string][]byte) (map[string][]byte, error) { return within(all, build) }), nil
	}
	return code, nil, nil
}

// factsKey is by whom the code is read, too: Terragrunt's own file counts for Terragrunt only.
func factsKey(version string, terragrunt bool) string {
	return fmt.Sprintf("%s %t", version, terragrunt)
}

// errOtherVersion: the event of the change comes too, and ends a retry.
var errOtherVersion = errors.New("the code of spec.source changed while it was read")

// archive is the one of some files, with a suffix for its key.
func (f files) archive(suffix string, choose func(map[string][]byte) (map[string][]byte, error)) Archive {
	return Archive{Key: f.version + suffix, Versioned: true, Write: func(ctx context.Context, w io.Writer) error {
		all, version, err := f.load(ctx)
		if err == nil && version != f.version {
			err = errOtherVersion
		}
		if err == nil {
			all, err = choose(all)
		}
		if err != nil {
			return err
		}
		return pack(all, w)
	}}
}

// within returns those files that are below the context's folder, the Dockerfile and what is read beside it.
func within(all map[string][]byte, build *inputs.Build) (map[string][]byte, error) {
	if _, ok := all[build.Spec.Dockerfile]; !ok {
		return nil, fmt.Errorf("%w: %s (spec.runner.build.dockerfile)", ErrNoDockerfile, build.Spec.Dockerfile)
	}
	chosen := maps.Clone(all)
	if folder := build.Spec.Context; folder != "." {
		kept := append(build.IgnoreFiles(), build.Spec.Dockerfile)
		maps.DeleteFunc(chosen, func(name string, _ []byte) bool {
			return !slices.Contains(kept, name) && !strings.HasPrefix(path.Clean(name), folder+"/")
		})
	}
	return chosen, nil
}

func bytesOf(texts map[string]string) map[string][]byte {
	files := make(map[string][]byte, len(texts))
	for name, text := range texts {
		files[name] = []byte(text)
	}
	return files
}

// check rejects files that could end up outside the root module, and a source without code.
func check(files map[string][]byte) *decision.Problem {
	code := false
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if !fs.ValidPath(name) || name == "." || strings.ContainsAny(name, "\\\x00") || len(name) > 500 {
			return &decision.Problem{Reason: v1alpha1.ReasonSourceInvalid, Message: fmt.Sprintf("%q cannot be a file "+
				"of the code: a path is relative, without . and .. in it", name)}
		}
		for _, suffix := range []string{".tf", ".tofu", ".tf.json", ".tofu.json"} {
			code = code || strings.HasSuffix(name, suffix)
		}
	}
	if !code {
		return &decision.Problem{Reason: v1alpha1.ReasonSourceInvalid, Message: "there is no code: none of the files " +
			"ends in .tf, .tofu, .tf.json or .tofu.json"}
	}
	return nil
}

// zips are used again: one is a megabyte, and after a start all Stacks are packed.
var zips = sync.Pool{New: func() any { return gzip.NewWriter(io.Discard) }}

// pack writes the same archive of the same files, always.
func pack(files map[string][]byte, w io.Writer) error {
	zip := zips.Get().(*gzip.Writer)
	defer zips.Put(zip)
	zip.Reset(w)
	archive := tar.NewWriter(zip)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		header := &tar.Header{
			Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(files[name])), Format: tar.FormatPAX,
		}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		if _, err := archive.Write(files[name]); err != nil {
			return err
		}
	}
	if err := archive.Close(); err != nil {
		return err
	}
	return zip.Close()
}
