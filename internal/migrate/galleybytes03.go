package migrate

import (
	"slices"

	"cairn.dev/cairn/api/v1alpha1"
)

// terraform-operator v0.3 has the same version of its API as those up to v0.9, with other fields. It applied only what spec.applyOn... says; a field
// that is absent is false there, and a plan then waited for an action in a ConfigMap. Versions after it do not read these fields and apply everything.

// old03 says where v0.3 has what, if the object is one of it.
func (g *galley) old03() {
	spec := g.at("spec")
	g.sources = spec.at("sources")
	for _, name := range []string{"applyOnCreate", "applyOnUpdate", "applyOnDelete", "prerunScript", "postrunScript", "sources"} {
		g.of03 = g.of03 || spec.at(name).there()
	}
	module := spec.at("terraformModule")
	if _, isMap := module.value.(map[string]any); isMap {
		g.of03, g.source = true, module.at("address")
		module.at("extras").ignored("of an address of code nothing reads them")
	}
}

// applyOn is what may be applied without being asked for.
func (g *galley) applyOn() {
	spec := g.at("spec")
	create, update, remove := spec.at("applyOnCreate"), spec.at("applyOnUpdate"), spec.at("applyOnDelete")
	waits := false
	if !create.truth() && !update.truth() && !remove.truth() {
		g.s.Apply, waits = v1alpha1.ApplyManual, true
	}
	for _, a := range []struct {
		field
		kinds []v1alpha1.ChangeKind
		text  string
	}{
		{create, []v1alpha1.ChangeKind{v1alpha1.ChangeCreate}, "spec.requireApprovalFor Create. There only the first plan of the object waited, here each plan that creates something does: take it out where the object was applied already"},
		{update, []v1alpha1.ChangeKind{v1alpha1.ChangeCreate, v1alpha1.ChangeUpdate, v1alpha1.ChangeReplace, v1alpha1.ChangeDelete},
			"spec.requireApprovalFor Create, Update, Replace and Delete. A plan that only changes outputs does not wait; the destroy of a deleted Stack does, as a Delete"},
		{remove, []v1alpha1.ChangeKind{v1alpha1.ChangeStackDeletion}, "spec.requireApprovalFor StackDeletion"},
	} {
		how := "false"
		if !a.there() {
			how = "absent, which is false"
		}
		switch {
		case a.truth():
			a.became("spec.apply Automatic")
		case waits:
			g.note(Became, a.path, "%s: spec.apply Manual, since the others are too; cairn approve, in place of an action in a ConfigMap", how)
		default:
			g.s.RequireApprovalFor = appendMissing(g.s.RequireApprovalFor, a.kinds...)
			g.note(Became, a.path, "%s: %s; cairn approve, in place of an action in a ConfigMap", how, a.text)
		}
	}
}

// appendMissing adds what is not in a list yet.
func appendMissing(list []v1alpha1.ChangeKind, kinds ...v1alpha1.ChangeKind) []v1alpha1.ChangeKind {
	for _, kind := range kinds {
		if !slices.Contains(list, kind) {
			list = append(list, kind)
		}
	}
	return list
}

// scripts03 are the two scripts around the engine's commands.
func (g *galley) scripts03() {
	const beside = "the script runs as user 65532 in the runner's image now: what it calls has to be there; docs/hooks.md has what it is told"
	if before := g.at("spec", "prerunScript"); before.text() != "" {
		g.s.Hooks = append(g.s.Hooks, v1alpha1.Hook{Step: "init", When: v1alpha1.HookBefore, Script: before.text()})
		before.became("spec.hooks before init: for applies and destroys, as there")
		before.todo(beside)
	} else {
		before.ignored("it is empty")
	}
	if after := g.at("spec", "postrunScript"); after.text() != "" {
		g.s.Hooks = append(g.s.Hooks, v1alpha1.Hook{Step: "apply", When: v1alpha1.HookAfter, Script: after.text()})
		after.became("spec.hooks after apply: there it ran after a plan without changes too, which applies nothing here")
		after.todo("hooks run for applies and destroys: this one was not for destroys; let it end at once if CAIRN_OPERATION is Destroy and that matters")
		after.todo(beside)
	} else {
		after.ignored("it is empty")
	}
}
