package migrate

import (
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
)

// alustanScripts are the commands. Without a script to destroy with nothing was ever destroyed.
func (o *object) alustanScripts(s *v1alpha1.StackSpec) {
	scripts := o.at("spec", "scripts")
	commands := &v1alpha1.Commands{Apply: scripts.at("apply").inlineOrKey("spec.commands.apply"), Destroy: scripts.at("destroy").script("spec.commands.destroy")}
	if deploy := scripts.at("deploy").script("spec.commands.apply"); deploy != nil {
		commands.Apply = deploy
	}
	if commands.Apply == nil {
		o.note(Todo, "spec.scripts", "there is no script to apply with, and alustan did nothing then: the engine's own apply is taken; see its plan first")
	}
	if commands.Destroy == nil {
		s.DeletionPolicy = v1alpha1.DeletionOrphan
		o.note(Became, "spec.scripts.destroy", "spec.deletionPolicy Orphan: without such a script alustan destroyed nothing")
	}
	if commands.Apply != nil || commands.Destroy != nil {
		s.Commands = commands
	}
}

// script is a command of any schema: a map in the first one, a file with its arguments in the others.
func (f field) script(became string) *v1alpha1.Command {
	if _, file := f.value.(string); !file {
		return f.inlineOrKey(became)
	}
	words := strings.Fields(f.text())
	if len(words) == 0 {
		f.notNeeded("it is empty")
		return nil
	}
	f.became("%s: the file %s of the code's folder, as alustan ran it", became, words[0])
	return &v1alpha1.Command{Script: runFile(words)}
}

// inlineOrKey is a command of the first schema. Text counts before a ConfigMap.
func (f field) inlineOrKey(became string) *v1alpha1.Command {
	text, ref := f.at("inline"), f.at("configMapRef")
	if text.text() != "" {
		text.became("%s.script", became)
		ref.ignored("inline is there, and counts")
		return &v1alpha1.Command{Script: text.text()}
	}
	text.notNeeded("it is empty")
	name, key := ref.at("name").text(), ref.at("key").text()
	if name == "" || key == "" {
		ref.ignored("it takes a name and a key")
		if f.there() && len(f.fields()) == 0 {
			f.notNeeded("it is empty")
		}
		return nil
	}
	ref.at("name").became("%s.configMap.name", became)
	ref.at("key").became("%s.configMap.key", became)
	return &v1alpha1.Command{ConfigMap: &v1alpha1.KeyRef{Name: name, Key: key}}
}

// runFile is a script that runs a file of the code as alustan did: made executable, from the code's folder, its arguments apart at spaces.
func runFile(words []string) string {
	if !strings.HasPrefix(words[0], "./") {
		words[0] = "./" + words[0]
	}
	for i, word := range words {
		words[i] = shellWord(word)
	}
	return fmt.Sprintf("chmod +x %s && exec %s\n", words[0], strings.Join(words, " "))
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./:=@%+,-]+$`)

// shellWord is a word that a shell takes as it is.
func shellWord(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// alustanPostDeploy is a hook after the apply. Its arguments name variables.
func (o *object) alustanPostDeploy(s *v1alpha1.StackSpec) {
	post := o.at("spec", "postDeploy")
	words := strings.Fields(post.at("script").text())
	if len(words) == 0 {
		post.at("script").notNeeded("it is empty")
		post.at("args").ignored("there is no script")
		return
	}
	script := strings.TrimSuffix(runFile(words), "\n")
	for _, f := range post.at("args").fields() {
		name := f.scalar()
		if !plainWord.MatchString(f.name) || !environmentName.MatchString(name) {
			f.cannot("alustan put the value of variable %q behind -%s=: write it into the hook", name, f.name)
			continue
		}
		script += " -" + f.name + `="${` + name + `?}"`
		f.became("an argument of the hook: the variable %s", name)
	}
	s.Hooks = append(s.Hooks, v1alpha1.Hook{Step: "apply", When: v1alpha1.HookAfter, Script: script + "\n"})
	post.at("script").became("a hook after apply; what it prints goes to the log, and not to a status")
	if args := post.at("args"); args.there() && len(args.fields()) == 0 {
		args.notNeeded("it is empty")
	}
}

// alustanBuild is the image that alustan built with Kaniko, with layers that stay. It wrote a Dockerfile of its own;
// Cairn takes that of the code's folder, and does without an image where there is none: the code and the engine come
// without one.
func (o *object) alustanBuild(s *v1alpha1.StackSpec) {
	registry := o.at("spec", "containerRegistry")
	name, secret := registry.at("imageName"), registry.at("secretRef")
	image, remark, _ := strings.Cut(strings.TrimSpace(name.text()), " ")
	if !imageRepository.MatchString(image) {
		name.cannot("it is no repository of images, so none is built: name one in spec.runner.build.image, with its registry and without a tag (docs/images.md)")
		secret.ignored("nothing is pushed")
		return
	}
	dockerfile := path.Join(s.Source.Git.Path, "Dockerfile")
	s.Runner.Build = &v1alpha1.Build{Image: image, Dockerfile: dockerfile, Optional: true, Builder: v1alpha1.BuilderKaniko, Cache: image}
	name.became("spec.runner.build: where the code has the file %s, Kaniko builds the image from it and keeps its layers in the same repository. Without that file "+
		"none is built: alustan's own Dockerfile brought the code and the engine, which Cairn brings itself. The installation has to allow builds (docs/images.md)", dockerfile)
	if remark != "" {
		name.ignored("what follows the first space is a remark")
	}
	if push := secret.at("name").text(); push != "" {
		s.Runner.Build.PushSecret = &v1alpha1.ObjectRef{Name: push}
		secret.at("name").became("spec.runner.build.pushSecret, of type kubernetes.io/dockerconfigjson")
	}
	secret.at("key").ignored("it read the key .dockerconfigjson, as Cairn does")
}

// imageRepository is what spec.runner.build.image takes.
var imageRepository = regexp.MustCompile(`^[a-zA-Z0-9]([-.a-zA-Z0-9]*[a-zA-Z0-9])?(:[0-9]{1,5})?(/[a-z0-9]+([._-]+[a-z0-9]+)*)+$`)

// alustanImage is the image that the scripts ran in.
func (o *object) alustanImage(s *v1alpha1.StackSpec) {
	registry := o.at("spec", "containerRegistry")
	image := registry.at("imageName").text()
	version := registry.at("semanticVersion")
	if !version.there() {
		if registry.there() {
			o.alustanBuild(s)
		}
		return
	}
	registry.at("provider").notNeeded("the image's name says where it is")
	pull := o.ref.Name + "-container-secret"
	if exact := strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(version.text()), "="), "v"); exactVersion.MatchString(exact) {
		s.Runner.Image = image + ":" + exact
		s.Runner.Template = template(pull)
		registry.at("imageName").became("spec.runner.image, for the tools in it; the code comes from the Repository")
		version.became("the tag of spec.runner.image; with Secret %s, which alustan made in the namespace, to pull it", pull)
		return
	}
	registry.at("imageName").todo("spec.runner.image, where scripts need its tools: %s with the tag that ConfigMap %s-tagged-image has; with "+
		"spec.runner.template: {spec: {imagePullSecrets: [{name: %s}]}}", image, o.ref.Name, pull)
	version.cannot("Cairn follows no tags of images: new code is a commit of the Repository")
}

// template is the overlay of a pod that pulls its images with a Secret.
func template(secret string) *apiextensionsv1.JSON {
	raw := fmt.Appendf(nil, `{"spec":{"imagePullSecrets":[{"name":%s}]}}`, quoted(secret))
	return &apiextensionsv1.JSON{Raw: raw}
}

var (
	exactVersion    = regexp.MustCompile(`^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`)
	variableName    = regexp.MustCompile(`^[\pL_][\pL\pN_-]*$`)
	environmentName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// scalar is the text that a value has in an environment.
func (f field) scalar() string {
	switch value := f.value.(type) {
	case nil:
		return ""
	case string:
		return value
	case bool:
		return strconv.FormatBool(value)
	case map[string]any, []any:
		f.fail("a string is wanted, and this is %s", inWords(value))
		return ""
	}
	data, err := json.Marshal(f.value)
	if err != nil {
		f.fail("%w", err)
	}
	return string(data)
}

// quoted is a text as JSON.
func quoted(text string) []byte {
	data, _ := json.Marshal(text) // a string always can be
	return data
}

// namespace is where kubectl looks.
func (o *object) namespace() string {
	if o.ref.Namespace == "" {
		return "default"
	}
	return o.ref.Namespace
}

func hours(n int) *metav1.Duration { return &metav1.Duration{Duration: time.Duration(n) * time.Hour} }
