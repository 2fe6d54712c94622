// Package imagebuild knows the commands of the image builders, and reads what they print and write.
package imagebuild

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/runnerapi"
)

// Paths are folders: of the code, of the builder's own files, and of the credentials for the registry; the last is
// empty when there are none.
type Paths struct{ Code, Work, Credentials string }

// Builder is how an image is built.
type Builder struct {
	// Commands in order, each with its arguments.
	Commands [][]string
	// Env is what they get beside the container's environment.
	Env []string
	// Digest reads that of the image that was pushed.
	Digest func() (string, error)
}

// New returns the builder that an order names.
func New(b runnerapi.Build, at Paths) (Builder, error) {
	create, ok := map[string]func(runnerapi.Build, Paths) Builder{"Buildah": buildah, "BuildKit": buildKit,
		"Kaniko": kaniko}[b.Builder]
	if !ok {
		return Builder{}, &engine.Rejection{Reason: fmt.Sprintf("this runner does not know the builder %q", b.Builder)}
	}
	builder := create(b, at)
	if at.Credentials != "" {
		builder.Env = append(builder.Env, "DOCKER_CONFIG="+at.Credentials)
	}
	return builder, nil
}

func (at Paths) dockerfile(b runnerapi.Build) string {
	return filepath.Join(at.Code, filepath.FromSlash(b.Dockerfile))
}

func (at Paths) context(b runnerapi.Build) string {
	return filepath.Join(at.Code, filepath.FromSlash(b.Context))
}

// buildah builds without root and without a daemon; its steps are in a chroot, which needs nothing beyond what the
// pod has.
func buildah(b runnerapi.Build, at Paths) Builder {
	image, digest := b.Image+":"+b.Tag, filepath.Join(at.Work, "digest")
	general := []string{"buildah", "--root", filepath.Join(at.Work, "storage"), "--runroot",
		filepath.Join(at.Work, "run")}
	var registry []string
	if b.Insecure {
		registry = append(registry, "--tls-verify=false")
	}
	if at.Credentials != "" {
		registry = append(registry, "--authfile", filepath.Join(at.Credentials, runnerapi.DockerConfig))
	}
	build := slices.Concat(general, []string{"build", "--isolation", "chroot", "--layers", "--file", at.dockerfile(b),
		"--tag", image}, registry)
	if b.Target != "" {
		build = append(build, "--target", b.Target)
	}
	if b.Cache != "" {
		build = append(build, "--cache-from", b.Cache, "--cache-to", b.Cache)
	}
	for _, arg := range b.Args {
		build = append(build, "--build-arg", arg)
	}
	return Builder{
		Commands: [][]string{
			append(build, at.context(b)),
			slices.Concat(general, []string{"push", "--digestfile", digest}, registry,
				[]string{image, "docker://" + image}),
		},
		Digest: func() (string, error) { return readDigest(digest) },
	}
}

// buildKit builds with a daemon that lives as long as the build, which the rootless image of BuildKit starts by itself.
func buildKit(b runnerapi.Build, at Paths) Builder {
	metadata := filepath.Join(at.Work, "metadata.json")
	output := "type=image,name=" + b.Image + ":" + b.Tag + ",push=true"
	insecure := ""
	if b.Insecure {
		insecure = ",registry.insecure=true"
	}
	args := []string{
		"buildctl-daemonless.sh", "build", "--progress", "plain", "--frontend", "dockerfile.v0",
		"--local", "context=" + at.context(b), "--local", "dockerfile=" + filepath.Dir(at.dockerfile(b)), "--opt",
		"filename=" + filepath.Base(at.dockerfile(b)),
		"--output", output + insecure, "--metadata-file", metadata,
	}
	if b.Target != "" {
		args = append(args, "--opt", "target="+b.Target)
	}
	for _, arg := range b.Args {
		args = append(args, "--opt", "build-arg:"+arg)
	}
	if b.Cache != "" {
		args = append(args, "--import-cache", "type=registry,ref="+b.Cache+insecure, "--export-cache",
			"type=registry,mode=max,ref="+b.Cache+insecure)
	}
	return Builder{
		Commands: [][]string{args},
		Env:      []string{"BUILDKITD_FLAGS=--oci-worker-no-process-sandbox"}, // which would take more than the pod has
		Digest:   func() (string, error) { return readMetadata(metadata) },
	}
}

// kaniko builds in its own container's file system.
func kaniko(b runnerapi.Build, at Paths) Builder {
	digest := filepath.Join(at.Work, "digest")
	args := []string{
		"/kaniko/executor", "--force", "--context", "dir://" + at.context(b), "--dockerfile", at.dockerfile(b),
		"--destination", b.Image + ":" + b.Tag,
		"--digest-file", digest, "--ignore-path", "/cairn",
	}
	if b.Target != "" {
		args = append(args, "--target", b.Target)
	}
	for _, arg := range b.Args {
		args = append(args, "--build-arg", arg)
	}
	if b.Cache != "" {
		args = append(args, "--cache=true", "--cache-repo", b.Cache)
	}
	if b.Insecure {
		args = append(args, "--insecure", "--insecure-pull", "--skip-tls-verify", "--skip-tls-verify-pull")
	}
	return Builder{Commands: [][]string{args}, Digest: func() (string, error) { return readDigest(digest) }}
}

var digestPattern = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

func readDigest(path string) (string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	digest := strings.TrimSpace(string(data))
	if !digestPattern.MatchString(digest) {
		return "", fmt.Errorf("it says %.80q", digest)
	}
	return digest, nil
}

// readMetadata reads the digest from what BuildKit writes about a build.
func readMetadata(path string) (string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	var metadata struct {
		Digest string `json:"containerimage.digest"`
	}
	if err := json.Unmarshal(data, &metadata); err != nil {
		return "", err
	}
	if !digestPattern.MatchString(metadata.Digest) {
		return "", fmt.Errorf("it says %.80q", metadata.Digest)
	}
	return metadata.Digest, nil
}
