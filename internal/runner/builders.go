package runner

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/store"
)

// buildPlaces are folders: of the code, of the builder's own files, and of the credentials, if there are any.
type buildPlaces struct{ code, work, push string }

// builder is how an image is built.
type builder struct {
	// commands in order, each with its arguments.
	commands [][]string
	// env is what they get beside the container's.
	env []string
	// digest reads that of the image that was pushed.
	digest func() (string, error)
}

// builderOf gives the commands of the order's builder.
func builderOf(b store.Build, at buildPlaces) (builder, error) {
	made, ok := map[string]func(store.Build, buildPlaces) builder{"Buildah": buildah, "BuildKit": buildKit, "Kaniko": kaniko}[b.Builder]
	if !ok {
		return builder{}, &engine.Refused{Reason: fmt.Sprintf("this runner does not know the builder %q", b.Builder)}
	}
	how := made(b, at)
	if at.push != "" {
		how.env = append(how.env, "DOCKER_CONFIG="+at.push)
	}
	return how, nil
}

func (at buildPlaces) dockerfile(b store.Build) string {
	return filepath.Join(at.code, filepath.FromSlash(b.Dockerfile))
}

func (at buildPlaces) context(b store.Build) string {
	return filepath.Join(at.code, filepath.FromSlash(b.Context))
}

// buildah builds without root and without a daemon; its steps are in a chroot, which takes no more than the pod has.
func buildah(b store.Build, at buildPlaces) builder {
	image, digest := b.Image+":"+b.Tag, filepath.Join(at.work, "digest")
	general := []string{"buildah", "--root", filepath.Join(at.work, "storage"), "--runroot", filepath.Join(at.work, "run")}
	var registry []string
	if b.Insecure {
		registry = append(registry, "--tls-verify=false")
	}
	if at.push != "" {
		registry = append(registry, "--authfile", filepath.Join(at.push, store.DockerConfig))
	}
	build := slices.Concat(general, []string{"build", "--isolation", "chroot", "--layers", "--file", at.dockerfile(b), "--tag", image}, registry)
	if b.Target != "" {
		build = append(build, "--target", b.Target)
	}
	if b.Cache != "" {
		build = append(build, "--cache-from", b.Cache, "--cache-to", b.Cache)
	}
	for _, arg := range b.Args {
		build = append(build, "--build-arg", arg)
	}
	return builder{
		commands: [][]string{
			append(build, at.context(b)),
			slices.Concat(general, []string{"push", "--digestfile", digest}, registry, []string{image, "docker://" + image}),
		},
		digest: func() (string, error) { return readDigest(digest) },
	}
}

// buildKit builds with a daemon that lives as long as the build, which the rootless image of BuildKit starts by itself.
func buildKit(b store.Build, at buildPlaces) builder {
	metadata := filepath.Join(at.work, "metadata.json")
	output := "type=image,name=" + b.Image + ":" + b.Tag + ",push=true"
	insecure := ""
	if b.Insecure {
		insecure = ",registry.insecure=true"
	}
	args := []string{
		"buildctl-daemonless.sh", "build", "--progress", "plain", "--frontend", "dockerfile.v0",
		"--local", "context=" + at.context(b), "--local", "dockerfile=" + filepath.Dir(at.dockerfile(b)), "--opt", "filename=" + filepath.Base(at.dockerfile(b)),
		"--output", output + insecure, "--metadata-file", metadata,
	}
	if b.Target != "" {
		args = append(args, "--opt", "target="+b.Target)
	}
	for _, arg := range b.Args {
		args = append(args, "--opt", "build-arg:"+arg)
	}
	if b.Cache != "" {
		args = append(args, "--import-cache", "type=registry,ref="+b.Cache+insecure, "--export-cache", "type=registry,mode=max,ref="+b.Cache+insecure)
	}
	return builder{
		commands: [][]string{args},
		env:      []string{"BUILDKITD_FLAGS=--oci-worker-no-process-sandbox"}, // which would take more than the pod has
		digest:   func() (string, error) { return readMetadata(metadata) },
	}
}

// kaniko builds in its own container's file system.
func kaniko(b store.Build, at buildPlaces) builder {
	digest := filepath.Join(at.work, "digest")
	args := []string{
		"/kaniko/executor", "--force", "--context", "dir://" + at.context(b), "--dockerfile", at.dockerfile(b), "--destination", b.Image + ":" + b.Tag,
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
	return builder{commands: [][]string{args}, digest: func() (string, error) { return readDigest(digest) }}
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

// readMetadata reads the digest out of what BuildKit tells of a build.
func readMetadata(path string) (string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	var told struct {
		Digest string `json:"containerimage.digest"`
	}
	if err := json.Unmarshal(data, &told); err != nil {
		return "", err
	}
	if !digestPattern.MatchString(told.Digest) {
		return "", fmt.Errorf("it says %.80q", told.Digest)
	}
	return told.Digest, nil
}
