package migrate

import (
	"fmt"
	"path"
	"regexp"
	"strings"

	"cairn.dev/cairn/api/v1alpha1"
)

func tofuRunner(o *object, r *runner) {
	spec := o.at("spec")
	if r.ServiceAccountName = spec.at("serviceAccountName").text(); r.ServiceAccountName == "" {
		r.ServiceAccountName = tofuAccount
		o.note(Became, "spec.serviceAccountName", "spec.runner.serviceAccountName %s, as the default there: clouds may know the runner by it. It may read all Secrets of the namespace; Cairn's runners have no use for that, and get no token of it", tofuAccount)
	}
	spec.at("serviceAccountName").became("spec.runner.serviceAccountName")
	template := spec.at("runnerPodTemplate")
	r.meta(template.at("metadata", "labels"), template.at("metadata", "annotations"))
	in := template.at("spec")
	if image := in.at("image"); image.text() != "" {
		r.Image = image.text()
		image.became("spec.runner.image; nothing of tofu-controller needs to be in it")
	}
	for _, name := range []string{"nodeSelector", "affinity", "tolerations", "initContainers", "hostAliases", "priorityClassName"} {
		if in.at(name).there() {
			r.ofPod(in.at(name), name)
		}
	}
	r.volumes(in.at("volumes"))
	for _, name := range []string{"volumeMounts", "securityContext"} {
		if in.at(name).there() {
			r.ofEngine(in.at(name), name)
		}
	}
	in.at("securityContext").todo("the pod has to fit Pod Security restricted, unless the install allows more: where it does not, the Run says why")
	r.environmentFrom(in.at("envFrom"))
	r.environment(in.at("env"))
	r.resources(in.at("resources"))
}

// safePath is a path that needs no care in a script.
var safePath = regexp.MustCompile(`^[A-Za-z0-9._/-]+$`)

// tofuFiles are files of Secrets, beside the code or at home: mounted, and put there by a hook.
func tofuFiles(o *object, s *v1alpha1.StackSpec, r *runner) {
	for i, f := range o.at("spec", "fileMappings").items() {
		secret, key := f.at("secretRef", "name").text(), f.at("secretRef", "key").text()
		to, err := inRepository(f.at("path").text())
		if err != nil || to == "" || !safePath.MatchString(to) {
			f.cannot("its path is not taken: mount the Secret by spec.runner.template")
			continue
		}
		if key == "" {
			key = "value"
		}
		where := to
		if f.at("location").text() == "home" {
			where = `"$HOME"/` + to
		}
		volume := fmt.Sprintf("file-%d", i+1)
		mount := "/migrated/" + volume
		r.mount(volume, secret, key, mount)
		s.Hooks = append(s.Hooks, v1alpha1.Hook{
			Step: "init", When: v1alpha1.HookBefore,
			Script: fmt.Sprintf("mkdir -p %s\ncp %s/file %s\n", path.Dir(where), mount, where),
		})
		f.became("a volume in spec.runner.template and a hook before init that copies it; the image needs /bin/sh")
	}
}

// mount mounts a key of a Secret as a file.
func (r *runner) mount(volume, secret, key, at string) {
	if r.pod == nil {
		r.pod = map[string]any{}
	}
	if r.engine == nil {
		r.engine = map[string]any{}
	}
	volumes, _ := r.pod["volumes"].([]any)
	r.pod["volumes"] = append(volumes, map[string]any{
		"name": volume, "secret": map[string]any{"secretName": secret, "items": []any{map[string]any{"key": key, "path": "file"}}},
	})
	mounts, _ := r.engine["volumeMounts"].([]any)
	r.engine["volumeMounts"] = append(mounts, map[string]any{"name": volume, "mountPath": at, "readOnly": true})
}

func tofuOutputs(o *object, s *v1alpha1.StackSpec) {
	f := o.at("spec", "writeOutputsToSecret")
	name := f.at("name").text()
	if name == "" {
		return
	}
	s.Outputs = &v1alpha1.Outputs{Secret: &v1alpha1.ObjectRef{Name: name}}
	f.at("name").became("spec.outputs.secret; what is no string is JSON, and there are no keys that end in __type")
	f.at("name").todo("that Secret is tofu-controller's, and Cairn leaves alone what it did not make: it goes with the old object, and then Cairn makes it. Until then Ready says so")
	f.at("labels").cannot("Cairn writes its own labels")
	f.at("annotations").cannot("Cairn writes its own annotations")
	for _, item := range f.at("outputs").items() {
		if output, alias, found := strings.Cut(item.text(), ":"); found {
			item.cannot("%s has no other name than the output's: readers of %s have to read %s", output, alias, output)
		} else {
			item.notNeeded("all outputs are written")
		}
	}
}
