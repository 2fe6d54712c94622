package alustan

import (
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/version"
	"cairn.dev/cairn/migrate/convert"
	"cairn.dev/cairn/migrate/convert/manifest"
)

// convertScripts are the commands. Without a script to destroy with nothing was ever destroyed.
func convertScripts(o *convert.Object, s *v1alpha1.StackSpec) {
	scripts := o.At("spec", "scripts")
	commands := &v1alpha1.Commands{Apply: convertInlineScript(scripts.At("apply"), "spec.commands.apply"),
		Destroy: convertScript(scripts.At("destroy"), "spec.commands.destroy")}
	if deploy := convertScript(scripts.At("deploy"), "spec.commands.apply"); deploy != nil {
		commands.Apply = deploy
	}
	if commands.Apply == nil {
		o.Note(manifest.ToDo, "spec.scripts", "there is no script to apply with, and alustan did nothing then: the "+
			"engine's own apply is taken; see its plan first")
	}
	if commands.Destroy == nil {
		s.DeletionPolicy = v1alpha1.DeletionOrphan
		o.Note(manifest.Became, "spec.scripts.destroy", "spec.deletionPolicy Orphan: without such a script alustan "+
			"destroyed nothing")
	}
	if commands.Apply != nil || commands.Destroy != nil {
		s.Commands = commands
	}
}

// convertScript is a command of any schema: a map in the first one, a file with its arguments in the others.
func convertScript(f manifest.Field, became string) *v1alpha1.Command {
	if _, file := f.Value.(string); !file {
		return convertInlineScript(f, became)
	}
	words := strings.Fields(f.Text())
	if len(words) == 0 {
		f.NotNeeded("it is empty")
		return nil
	}
	f.Became("%s: the file %s of the code's folder, as alustan ran it", became, words[0])
	return &v1alpha1.Command{Script: runFile(words)}
}

// convertInlineScript is a command of the first schema. Text counts before a ConfigMap.
func convertInlineScript(f manifest.Field, became string) *v1alpha1.Command {
	text, ref := f.At("inline"), f.At("configMapRef")
	if text.Text() != "" {
		text.Became("%s.script", became)
		ref.Ignored("inline is there, and counts")
		return &v1alpha1.Command{Script: text.Text()}
	}
	text.NotNeeded("it is empty")
	name, key := ref.At("name").Text(), ref.At("key").Text()
	if name == "" || key == "" {
		ref.Ignored("it takes a name and a key")
		if f.Exists() && len(f.Fields()) == 0 {
			f.NotNeeded("it is empty")
		}
		return nil
	}
	ref.At("name").Became("%s.configMap.name", became)
	ref.At("key").Became("%s.configMap.key", became)
	return &v1alpha1.Command{ConfigMap: &v1alpha1.KeyRef{Name: name, Key: key}}
}

// runFile is a script that runs a file of the code as alustan did: as an executable, in the code's folder, with
// arguments split at spaces.
func runFile(words []string) string {
	if !strings.HasPrefix(words[0], "./") {
		words[0] = "./" + words[0]
	}
	for i, word := range words {
		words[i] = convert.Quote(word)
	}
	return fmt.Sprintf("chmod +x %s && exec %s\n", words[0], strings.Join(words, " "))
}

// convertPostDeploy is a hook after the apply. Its arguments name variables.
func convertPostDeploy(o *convert.Object, s *v1alpha1.StackSpec) {
	post := o.At("spec", "postDeploy")
	words := strings.Fields(post.At("script").Text())
	if len(words) == 0 {
		post.At("script").NotNeeded("it is empty")
		post.At("args").Ignored("there is no script")
		return
	}
	script := strings.TrimSuffix(runFile(words), "\n")
	for _, f := range post.At("args").Fields() {
		name := scalar(f)
		if convert.Quote(f.Name) != f.Name || !environmentName.MatchString(name) {
			f.Unsupported("alustan put the value of variable %q behind -%s=: write it into the hook", name, f.Name)
			continue
		}
		script += " -" + f.Name + `="${` + name + `?}"`
		f.Became("an argument of the hook: the variable %s", name)
	}
	s.Hooks = append(s.Hooks, v1alpha1.Hook{Step: "apply", When: v1alpha1.HookAfter, Script: script + "\n"})
	post.At("script").Became("a hook after apply; what it prints goes to the log, and not to a status")
	if args := post.At("args"); args.Exists() && len(args.Fields()) == 0 {
		args.NotNeeded("it is empty")
	}
}

// convertBuild is the image that alustan built with Kaniko, with layers that stay. It wrote a Dockerfile of its own;
// Cairn takes that of the code's folder, and does without an image where there is none: the code and the engine come
// without one.
func convertBuild(o *convert.Object, s *v1alpha1.StackSpec) {
	registry := o.At("spec", "containerRegistry")
	name, secret := registry.At("imageName"), registry.At("secretRef")
	image, remark, _ := strings.Cut(strings.TrimSpace(name.Text()), " ")
	if !imageRepository.MatchString(image) {
		name.Unsupported("it is no repository of images, so none is built: name one in spec.runner.build.image, with " +
			"its registry and without a tag (" + version.Docs + "how-to/image-builds.md)")
		secret.Ignored("nothing is pushed")
		return
	}
	dockerfile := path.Join(s.Source.Git.Path, "Dockerfile")
	s.Runner.Build = &v1alpha1.Build{Image: image, Dockerfile: dockerfile, Optional: true,
		Builder: v1alpha1.BuilderKaniko, Cache: image}
	name.Became("spec.runner.build: where the code has the file %s, Kaniko builds the image from it and keeps its "+
		"layers in the same repository. Without that file none is built: alustan's own Dockerfile contained the code "+
		"and the engine, which Cairn adds itself. The installation has to allow builds ("+version.Docs+
		"how-to/image-builds.md)", dockerfile)
	if remark != "" {
		name.Ignored("what follows the first space is a remark")
	}
	if push := secret.At("name").Text(); push != "" {
		s.Runner.Build.PushSecret = &v1alpha1.ObjectRef{Name: push}
		secret.At("name").Became("spec.runner.build.pushSecret, of type kubernetes.io/dockerconfigjson")
	}
	secret.At("key").Ignored("it read the key .dockerconfigjson, as Cairn does")
}

// imageRepository is what spec.runner.build.image takes.
var imageRepository = regexp.MustCompile(
	`^[a-zA-Z0-9]([-.a-zA-Z0-9]*[a-zA-Z0-9])?(:[0-9]{1,5})?(/[a-z0-9]+([._-]+[a-z0-9]+)*)+$`)

// convertImage is the image that the scripts ran in.
func convertImage(o *convert.Object, s *v1alpha1.StackSpec) {
	registry := o.At("spec", "containerRegistry")
	image := registry.At("imageName").Text()
	version := registry.At("semanticVersion")
	if !version.Exists() {
		if registry.Exists() {
			convertBuild(o, s)
		}
		return
	}
	registry.At("provider").NotNeeded("the image's name contains its registry")
	pull := o.Ref.Name + "-container-secret"
	if exact := strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(version.Text()), "="),
		"v"); exactVersion.MatchString(exact) {
		s.Runner.Image = image + ":" + exact
		// strings always can be
		raw, _ := json.Marshal(
			map[string]any{"spec": map[string]any{"imagePullSecrets": []any{map[string]string{"name": pull}}}})
		s.Runner.Template = &apiextensionsv1.JSON{Raw: raw}
		registry.At("imageName").Became("spec.runner.image, for the tools in it; the code comes from the Repository")
		version.Became("the tag of spec.runner.image; with Secret %s, which alustan created in the "+
			"namespace, to pull it", pull)
		return
	}
	registry.At("imageName").ToDo("spec.runner.image, where scripts need its tools: %s with the tag that ConfigMap "+
		"%s-tagged-image has; with spec.runner.template: {spec: {imagePullSecrets: [{name: %s}]}}", image,
		o.Ref.Name, pull)
	version.Unsupported("Cairn follows no tags of images: new code is a commit of the Repository")
}

var (
	exactVersion    = regexp.MustCompile(`^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`)
	variableName    = regexp.MustCompile(`^[\pL_][\pL\pN_-]*$`)
	environmentName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// scalar is the text that a value has in an environment.
func scalar(f manifest.Field) string {
	switch value := f.Value.(type) {
	case nil:
		return ""
	case string:
		return value
	case bool:
		return strconv.FormatBool(value)
	case map[string]any, []any:
		f.Fail("a string is wanted, and this is %s", manifest.TypeName(value))
		return ""
	}
	data, err := json.Marshal(f.Value)
	if err != nil {
		f.Fail("%w", err)
	}
	return string(data)
}

// namespaceOrDefault is the namespace that kubectl uses.
func namespaceOrDefault(o *convert.Object) string {
	if o.Ref.Namespace == "" {
		return "default"
	}
	return o.Ref.Namespace
}
