package burrito

import (
	"k8s.io/apimachinery/pkg/api/equality"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/migrate/convert"
	"cairn.dev/cairn/migrate/convert/manifest"
)

// burrito's engine is that of the layer, or else of its repository, flag by flag: opentofu or terraform, and terragrunt
// over it. So it is in Cairn: the engine of the repository is spec.engine of the Repository, and a Stack has only what
// differs.

// engineFields are the settings that an engine consists of.
var engineFields = [][]string{
	{"terraform", "enabled"}, {"terraform", "version"}, {"terraform", "terragrunt", "enabled"},
	{"terraform", "terragrunt", "version"},
	{"opentofu", "enabled"}, {"opentofu", "version"}, {"terragrunt", "enabled"}, {"terragrunt", "version"},
}

// defaultEngine is the engine that a repository has for its layers; nil where it enables none.
func defaultEngine(spec manifest.Field, name string) *v1alpha1.Engine {
	l := layerSettings{layer: spec}
	e, below, ok := l.chosen()
	for _, names := range engineFields {
		f := spec.At(names...)
		switch {
		case !ok:
			f.Became("the default of each TerraformLayer of this repository: see there")
		case l.counts(e, below, names):
			f.Became("Repository %s: spec.engine", name)
		case names[len(names)-1] == "enabled" && !f.Bool():
			f.Became("Repository %s: spec.engine, which is %s", name, e.Name)
		default:
			f.Became("the default of each TerraformLayer of this repository: see there")
		}
	}
	if !ok {
		return nil
	}
	l.noteOldTerragrunt(e)
	return &e
}

// noteOldTerragrunt reports a version of Terragrunt that Cairn does not run.
func (l layerSettings) noteOldTerragrunt(e v1alpha1.Engine) {
	if meets, err := engine.Meets(e.Version, ">= 1.0"); e.Name == v1alpha1.EngineTerragrunt && err == nil && !meets {
		l.layer.At(l.grunt("version")...).ToDo("Cairn runs Terragrunt 1.0 or later: try the code with it, then write " +
			"that version into spec.engine.version")
	}
}

// isV04 returns true for a layer of burrito 0.2 to 0.4: Terragrunt is below terraform, and the engine is Terraform
// always.
func (l layerSettings) isV04() bool {
	return l.pick("terraform", "terragrunt").Exists() && !l.pick("terragrunt").Exists() && !l.pick("opentofu").Exists()
}

// grunt is where Terragrunt's settings are.
func (l layerSettings) grunt(name string) []string {
	if l.isV04() {
		return []string{"terraform", "terragrunt", name}
	}
	return []string{"terragrunt", name}
}

// chosen is the engine, and the name of the settings of the one that plans; false when neither is enabled, with which
// burrito runs nothing.
func (l layerSettings) chosen() (e v1alpha1.Engine, settings string, ok bool) {
	tofu, terraform := l.pick("opentofu", "enabled").Bool(), l.pick("terraform", "enabled").Bool()
	if l.layer.At("opentofu", "enabled").Bool() {
		terraform = false
	}
	if l.layer.At("terraform", "enabled").Bool() {
		tofu = false
	}
	if l.isV04() {
		terraform, tofu = true, false
	}
	settings, e.Name = "opentofu", v1alpha1.EngineOpenTofu
	if terraform {
		settings, e.Name = "terraform", v1alpha1.EngineTerraform
	}
	e.Version = l.pick(settings, "version").Text()
	if l.pick(l.grunt("enabled")...).Bool() {
		e = v1alpha1.Engine{
			Name: v1alpha1.EngineTerragrunt, Version: l.pick(l.grunt("version")...).Text(),
			Wrapped: &v1alpha1.WrappedEngine{Name: e.Name, Version: e.Version},
		}
	}
	return e, settings, tofu || terraform
}

// counts returns true if a setting decides an engine that plans with these settings.
func (l layerSettings) counts(e v1alpha1.Engine, settings string, names []string) bool {
	if names[0] == "terragrunt" || len(names) == 3 {
		return e.Name == v1alpha1.EngineTerragrunt && len(names) == len(l.grunt(""))
	}
	return names[0] == settings
}

// engine sets the engine of the Stack where its layer differs from the Repository that it reads from, which is nil when
// that is not in the input.
func (l layerSettings) engine(s *v1alpha1.StackSpec, from *convert.Repository) {
	o := l.layer.Object
	e, settings, ok := l.chosen()
	where := "spec.engine"
	switch {
	case !ok && l.repo.Object == nil:
		where = "spec.engine: nothing, so that it is the Repository's engine"
	case !ok:
		s.Engine = e
		o.Note(manifest.Ignored, "spec.opentofu.enabled",
			"neither engine is enabled, with which burrito runs nothing: spec.engine.name is OpenTofu")
	case from != nil && equality.Semantic.DeepEqual(from.Repository.EngineFor(&v1alpha1.Stack{}), e):
		where = "spec.engine of Repository " + from.Name
	default:
		s.Engine = e
		l.noteOldTerragrunt(e)
	}
	for _, names := range engineFields {
		f := l.layer.At(names...)
		switch {
		case l.counts(e, settings, names):
			f.Became("%s", where)
		case names[0] == "terragrunt" || len(names) == 3:
			f.NotNeeded("Terragrunt is not enabled")
		default:
			f.NotNeeded("the engine is %s", planner(e).Name)
		}
	}
	if ok && planner(e).Version == "" {
		o.Note(manifest.Became, "spec."+settings+".version", "no version is set: it is that of the code's version "+
			"files, or of its required_version, as with burrito")
	}
}

// planner is the engine that plans, with the version that is asked of it.
func planner(e v1alpha1.Engine) v1alpha1.WrappedEngine {
	if e.Wrapped != nil {
		return *e.Wrapped
	}
	return v1alpha1.WrappedEngine{Name: e.Name, Version: e.Version}
}
