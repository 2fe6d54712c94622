package attacks

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/egress/egresstest"
	"cairn.dev/cairn/internal/base/sigverify"
	"cairn.dev/cairn/internal/controller/inputs"
	"cairn.dev/cairn/internal/controller/run/decision"
	"cairn.dev/cairn/internal/controller/run/diagnosis"
	"cairn.dev/cairn/internal/controller/run/podspec"
	"cairn.dev/cairn/internal/controller/run/runtest"
	"cairn.dev/cairn/internal/engine/release"
	"cairn.dev/cairn/test/releases"
)

// An attacker who can change the files of a mirror replaces a release and removes its signature. The installation
// accepts one old release without a signature.
func TestReleaseWithoutASignatureIsRejected(t *testing.T) {
	program := func(product, version string) releases.Release {
		return releases.Release{Product: product, Version: version, OS: "linux", Arch: "amd64",
			Program: []byte("program")}
	}
	m := releases.New(t, program("Terragrunt", "0.90.0"), program("Terragrunt", "1.1.3"), program("OpenTofu", "1.12.6"))
	m.Remove("terragrunt/0.90.0/SHA256SUMS.gpgsig")
	engines := enginesOf(t, m, func(o *release.Options) {
		sum := sha256.Sum256(m.Read("terragrunt/0.90.0/SHA256SUMS"))
		o.Unsigned = map[release.Product]map[string]string{
			release.Terragrunt: {"0.90.0": fmt.Sprintf("sha256:%x", sum)}}
	})
	if p, err := engines.Get(t.Context(), release.Terragrunt, "0.90.0", "linux", "amd64"); err != nil || !p.Unsigned {
		t.Fatalf("the old release: %+v, %v", p, err)
	}
	evil := []byte("evil")
	m.Write("terragrunt/1.1.3/terragrunt_linux_amd64", evil)
	m.Write("terragrunt/1.1.3/SHA256SUMS", fmt.Appendf(nil, "%x  terragrunt_linux_amd64\n", sha256.Sum256(evil)))
	m.Remove("terragrunt/1.1.3/SHA256SUMS.gpgsig")
	m.Remove("opentofu/1.12.6/tofu_1.12.6_SHA256SUMS.gpgsig")
	for product, version := range map[release.Product]string{release.Terragrunt: "1.1.3", release.OpenTofu: "1.12.6"} {
		if p, err := engines.Get(t.Context(), product, version, "linux", "amd64"); !errors.Is(err,
			sigverify.ErrSignature) {
			t.Errorf("%s %s: %+v, %v", product, version, p, err)
		}
	}
}

// A mirror serves the files of an old release, signed by its publisher, for a new version. For Terragrunt, whose list
// of checksums names no version, the runner detects it: TestOldTerragruntIsNotAcceptedAsANewOne.
func TestOldReleaseUnderANewVersionIsRejected(t *testing.T) {
	for product, files := range map[release.Product]string{
		release.OpenTofu:  "opentofu/%s/tofu_%[1]s",
		release.Terraform: "terraform/%s/terraform_%[1]s",
	} {
		m := releases.New(t,
			releases.Release{Product: string(product), Version: "1.5.0", OS: "linux", Arch: "amd64",
				Program: []byte("vulnerable")},
			releases.Release{Product: string(product), Version: "1.5.7", OS: "linux", Arch: "amd64",
				Program: []byte("fixed")})
		signature := map[release.Product]string{release.OpenTofu: ".gpgsig",
			release.Terraform: ".72D7468F.sig"}[product]
		for _, file := range []string{"_SHA256SUMS", "_SHA256SUMS" + signature, "_linux_amd64.zip"} {
			m.Write(fmt.Sprintf(files, "1.5.7")+file, m.Read(fmt.Sprintf(files, "1.5.0")+file))
		}
		if p, err := enginesOf(t, m).Get(t.Context(), product, "1.5.7", "linux", "amd64"); !errors.Is(err,
			release.ErrNoVersion) {
			t.Errorf("%s: %+v, %v", product, p, err)
		}
	}
}

// enginesOf are the engines of a mirror, whose key is trusted.
func enginesOf(t *testing.T, m *releases.Mirror, change ...func(*release.Options)) *release.Releases {
	t.Helper()
	o := release.Options{
		Egress: egresstest.Loopback(), Dir: t.TempDir(), Mirrors: map[release.Product]string{},
		Keys: map[release.Product][]string{},
	}
	for _, p := range []release.Product{release.OpenTofu, release.Terraform, release.Terragrunt} {
		o.Mirrors[p], o.Keys[p] = m.URL, []string{m.Key}
	}
	for _, c := range change {
		c(&o)
	}
	engines, err := release.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := engines.Close(); err != nil {
			t.Error(err)
		}
	})
	return engines
}

// A user who can push to a registry moves the tag of an image after the plan was approved, so that other code applies
// it.
func TestMovedImageTagDoesNotChangeTheApply(t *testing.T) {
	const mine, digest = "registry.example.com/acme/terraform:1.5", runtest.ImageDigest
	stacks := map[string]inputs.Document{"the Stack's image": {Image: mine}, "the image of the installation": {}}
	for name, doc := range stacks {
		t.Run(name, func(t *testing.T) {
			set := podspec.Settings{CABundle: func() []byte { return nil },
				EngineImage: "ghcr.io/cairn-dev/cairn-tools:1.2.0", RunnerImage: "cairn:1", EngineHasRunner: true}
			w := decision.Snapshot{Now: runtest.Now, Stack: runtest.Stack(), Run: runtest.Run(runtest.Planned)}
			w.Stack.Spec.Apply = v1alpha1.ApplyManual
			planned, err := podspec.New(w.Run, w.Stack, doc, v1alpha1.AttemptPlan, 1, set)
			if err != nil {
				t.Fatal(err)
			}
			asked := planned.Spec.Containers[0].Image
			planned.Status = corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{
				{Name: "engine", Image: asked, ImageID: "mirror.example.com/other@" + digest},
			}}
			w.Pod = diagnosis.Observe(planned, false, true)
			w.Run.Status, _ = decision.Settle(w) // it waits for an approval, and the pod ends

			set.EngineImage = "ghcr.io/cairn-dev/cairn-tools:1.3.0" // an upgrade of the installation meanwhile
			applies, err := podspec.New(w.Run, w.Stack, doc, v1alpha1.AttemptApply, 2, set)
			if err != nil {
				t.Fatal(err)
			}
			// Policies of the cluster that compare the beginning of the reference, or all of it but the digest, still
			// hold.
			if got := applies.Spec.Containers[0].Image; got != asked+"@"+digest {
				t.Errorf("it is applied in %s, and was planned in %s@%s", got, asked, digest)
			}
			if len(applies.Spec.InitContainers) != 1 || applies.Spec.InitContainers[0].Image != set.RunnerImage {
				t.Errorf("the runner is the one of the old image: %+v", applies.Spec.InitContainers)
			}
		})
	}
}
