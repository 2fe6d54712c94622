//go:build e2e

package e2e

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/test/node"
)

// largeImage has a provider of the size of hashicorp/aws, and packedImage its archive.
const (
	largeImage  = "registry.local/providers:large"
	packedImage = "registry.local/providers:packed"
	largeSize   = 680 << 20
)

// bareInit is a script that initializes code with tofu alone, with the providers in an image at /providers.
const bareInit = `set -e
mkdir -p /tmp/code && cd /tmp/code
cp /code/main.tf /code/.terraform.lock.hcl .
printf 'provider_installation {\n  filesystem_mirror { path = "/providers" }\n}\n' >/tmp/cli.tfrc
export TF_CLI_CONFIG_FILE=/tmp/cli.tfrc
a=$(date +%s%N)
tofu init -input=false >/dev/null
b=$(date +%s%N)
curl -fsS -d $((b-a)) `

// BenchmarkLargeProvider measures the init of a Run whose provider has 700 MB: from the server's mirror, and from an
// image of providers, beside the bare engine with the same image as an unpacked mirror. Goal: with the image at most
// 1.1 times the bare engine.
func BenchmarkLargeProvider(b *testing.B) {
	m := measure(b)
	ballast := filepath.Join(b.TempDir(), "ballast")
	must(b, os.WriteFile(ballast, ballastOf(largeSize), 0o600))
	files := map[string]string{"ballast": ballast}
	loadProviders(b, m.Node, largeImage, files)
	must(b, m.Create(b.Context(),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: m.namespace, Name: "large"}, Data: map[string]string{
			"main.tf": "resource \"time_static\" \"now\" {}\n", ".terraform.lock.hcl": lockFile(b, m.Node.Tools, files),
		}}))
	m.packed(b, files)
	m.upgrade(b, `--set-json=providers={"folder":"/packed","offline":true}`,
		`--set-json=extraVolumes=[{"name":"packed","image":{"reference":"`+packedImage+`"}}]`,
		`--set-json=extraVolumeMounts=[{"name":"packed","mountPath":"/packed"}]`)
	b.Run("init-of-a-large-provider-from-the-mirror", func(b *testing.B) { m.each(b, m.initialized) })
	m.upgrade(b, "--set=providers.images={"+largeImage+"}")
	b.Run("bare-init-of-a-large-provider", func(b *testing.B) { m.each(b, m.bareInit) })
	b.Run("init-of-a-large-provider-from-an-image", func(b *testing.B) { m.each(b, m.initialized) })
}

func (m *meter) upgrade(b *testing.B, values ...string) {
	helm(b, m.cluster, append([]string{"upgrade", "cairn", m.Root + "/charts/cairn", "--namespace=cairn-system",
		"--reuse-values", "--wait", "--timeout=3m"}, values...)...)
}

// packed loads the image with the archive that the server's mirror has.
func (m *meter) packed(b *testing.B, files map[string]string) {
	name := fmt.Sprintf("terraform-provider-time_%s_linux_%s.zip", providerVersion, runtime.GOARCH)
	archive := filepath.Join(b.TempDir(), name)
	file, err := os.Create(archive)
	must(b, err)
	w := zip.NewWriter(file)
	for name, from := range unpacked(m.Node.Tools, files) {
		header := &zip.FileHeader{Name: name, Method: zip.Deflate}
		header.SetMode(0o755)
		part, err := w.CreateHeader(header)
		must(b, err)
		content, err := os.ReadFile(from)
		must(b, err)
		_, err = part.Write(content)
		must(b, err)
	}
	must(b, errors.Join(w.Close(), file.Close()))
	image := filepath.Join(b.TempDir(), "image.tar")
	must(b, node.Image{Ref: packedImage, Files: map[string]string{"/" + providerAddress + "/" + name: archive}}.Write(
		image))
	must(b, m.Load(b.Context(), image))
}

// ballastOf returns bytes that compress about as a program does.
func ballastOf(size int) []byte {
	random := rand.NewChaCha8([32]byte{})
	piece := make([]byte, 1<<20)
	_, _ = random.Read(piece[:1<<18])
	return bytes.Repeat(piece, size>>20)
}

// bareInit measures the init of the bare engine in a pod.
func (m *meter) bareInit(b *testing.B, i int) time.Duration {
	pod := m.pod(fmt.Sprintf("init-%d-%d", b.N, i), bareInit+m.url)
	pod.Spec.Volumes = []corev1.Volume{
		{Name: "providers", VolumeSource: corev1.VolumeSource{Image: &corev1.ImageVolumeSource{Reference: largeImage}}},
		{Name: "code", VolumeSource: corev1.VolumeSource{
			ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{
				Name: "large"}}}},
	}
	pod.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "providers", MountPath: "/providers"},
		{Name: "code", MountPath: "/code"}}
	must(b, m.Create(b.Context(), pod))
	ns, err := strconv.ParseInt(<-m.done, 10, 64)
	must(b, err)
	m.remove(b, pod)
	return time.Duration(ns)
}

// initialized measures the init of a Run.
func (m *meter) initialized(b *testing.B, _ int) time.Duration {
	s := &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Namespace: m.namespace,
		Name: fmt.Sprintf("large-%d", time.Now().UnixMilli())}}
	s.Spec.Apply, s.Spec.DeletionPolicy = v1alpha1.ApplyAutomatic, v1alpha1.DeletionOrphan
	s.Spec.Source.ConfigMap = &v1alpha1.ObjectRef{Name: "large"}
	must(b, m.Create(b.Context(), s))
	m.ready(b, []string{s.Name}, nil)
	run := &v1alpha1.Run{}
	must(b, m.Get(b.Context(), client.ObjectKey{Namespace: m.namespace, Name: s.Name + "-1"}, run))
	var took time.Duration
	for _, step := range run.Status.Attempts[0].Steps {
		if step.Name == "init" {
			took = step.FinishedAt.Sub(step.StartedAt.Time)
		}
	}
	must(b, m.Delete(b.Context(), s))
	m.quiet(b)
	return took
}
