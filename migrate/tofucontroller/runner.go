package tofucontroller

import (
	"fmt"
	"path"
	"regexp"
	"strings"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/migrate/convert"
	"cairn.dev/cairn/migrate/convert/manifest"
	"cairn.dev/cairn/migrate/pod"
)

func convertRunner(o *convert.Object, r *pod.Runner) {
	spec := o.At("spec")
	if r.ServiceAccountName = spec.At("serviceAccountName").Text(); r.ServiceAccountName == "" {
		r.ServiceAccountName = defaultServiceAccount
		o.Note(manifest.Became, "spec.serviceAccountName", "spec.runner.serviceAccountName %s, as the default there: "+
			"clouds may know the runner by it. It may read all Secrets of the namespace; Cairn's runners have no use "+
			"for that, and get no token of it", defaultServiceAccount)
	}
	spec.At("serviceAccountName").Became("spec.runner.serviceAccountName")
	template := spec.At("runnerPodTemplate")
	r.AddMetadata(template.At("metadata", "labels"), template.At("metadata", "annotations"))
	in := template.At("spec")
	if image := in.At("image"); image.Text() != "" {
		r.Image = image.Text()
		image.Became("spec.runner.image; nothing of tofu-controller needs to be in it")
	}
	for _, name := range []string{"nodeSelector", "affinity", "tolerations", "initContainers", "hostAliases",
		"priorityClassName"} {
		if in.At(name).Exists() {
			r.AddToPod(in.At(name), name)
		}
	}
	r.AddVolumes(in.At("volumes"))
	for _, name := range []string{"volumeMounts", "securityContext"} {
		if in.At(name).Exists() {
			r.AddToContainer(in.At(name), name)
		}
	}
	in.At("securityContext").ToDo("the pod has to meet Pod Security restricted, unless the installation allows more: " +
		"otherwise the Run reports why it does not start")
	r.AddEnvironmentFrom(in.At("envFrom"))
	r.AddEnvironment(in.At("env"))
	r.AddResources(in.At("resources"))
}

// safePath is a path that needs no care in a script.
var safePath = regexp.MustCompile(`^[A-Za-z0-9._/-]+$`)

// convertFiles are files of Secrets, beside the code or at home: mounted, and put there by a hook.
func convertFiles(o *convert.Object, s *v1alpha1.StackSpec, r *pod.Runner) {
	for i, f := range o.At("spec", "fileMappings").Items() {
		secret, key := f.At("secretRef", "name").Text(), f.At("secretRef", "key").Text()
		to, err := convert.PathInRepository(f.At("path").Text())
		if err != nil || to == "" || !safePath.MatchString(to) {
			f.Unsupported("its path is not taken: mount the Secret by spec.runner.template")
			continue
		}
		if key == "" {
			key = "value"
		}
		where := to
		if f.At("location").Text() == "home" {
			where = `"$HOME"/` + to
		}
		volume := fmt.Sprintf("file-%d", i+1)
		mount := "/migrated/" + volume
		r.MountSecret(volume, secret, key, mount)
		s.Hooks = append(s.Hooks, v1alpha1.Hook{
			Step: "init", When: v1alpha1.HookBefore,
			Script: fmt.Sprintf("mkdir -p %s\ncp %s/file %s\n", path.Dir(where), mount, where),
		})
		f.Became("a volume in spec.runner.template and a hook before init that copies it; the image needs /bin/sh")
	}
}

func convertOutputs(o *convert.Object, s *v1alpha1.StackSpec) {
	f := o.At("spec", "writeOutputsToSecret")
	name := f.At("name").Text()
	if name == "" {
		return
	}
	s.Outputs = &v1alpha1.Outputs{Secret: &v1alpha1.ObjectRef{Name: name}}
	f.At("name").Became("spec.outputs.secret; what is no string is JSON, and there are no keys that end in __type")
	f.At("name").ToDo("that Secret is tofu-controller's, and Cairn does not change it. Once it is deleted with the " +
		"old object, Cairn creates it; until then the condition Ready reports the conflict")
	f.At("labels").Unsupported("Cairn writes its own labels")
	f.At("annotations").Unsupported("Cairn writes its own annotations")
	for _, item := range f.At("outputs").Items() {
		if output, alias, found := strings.Cut(item.Text(), ":"); found {
			item.Unsupported("%s has no other name than the output's: readers of %s have to read %s", output,
				alias, output)
		} else {
			item.NotNeeded("all outputs are written")
		}
	}
}
