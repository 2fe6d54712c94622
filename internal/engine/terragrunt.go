package engine

import _ "embed"

// Terragrunt is https://terragrunt.gruntwork.io, from version 1.0 on, which creates a root module from a terragrunt.hcl
// and runs another engine on it. All options are flags of `run`, never variables: an older Terragrunt fails on unknown
// flags, but would ignore a variable and, for example, apply the same plan twice.
type Terragrunt struct {
	// Engine is what it runs, and Path that one's program.
	Engine Engine
	Path   string
	// Cache is the folder in which it puts root modules together.
	Cache string
}

// Name for messages.
func (Terragrunt) Name() string { return "Terragrunt" }

// Program is the command's name.
func (Terragrunt) Program() string { return "terragrunt" }

// Version asks for the version of Terragrunt itself.
func (Terragrunt) Version() []string { return []string{"--version"} }

// Traits of Terragrunt: get_repo_root, and the functions like it, ask git.
func (Terragrunt) Traits() Traits {
	return Traits{
		Wraps: true, RootFile: "terragrunt.hcl", AsksGit: true, ChecksumsWithoutVersion: true,
		BackendBlock: "remote_state or the backend block", PullState: "terragrunt run -- state pull",
	}
}

// Release of Terragrunt. The tags are one small answer: the list of releases is many pages of megabytes, and GitHub
// answers only sixty requests an hour. Releases are signed since 0.98.0.
func (Terragrunt) Release() Release {
	return Release{
		Folder:     "terragrunt",
		Index:      "https://api.github.com/repos/gruntwork-io/terragrunt/git/matching-refs/tags/v",
		Base:       "https://github.com/gruntwork-io/terragrunt/releases/download/v{version}",
		Archive:    "terragrunt_{os}_{arch}",
		Sums:       "SHA256SUMS",
		Signatures: []string{"SHA256SUMS.gpgsig"},
		Key:        gruntworkKey,
	}
}

// gruntworkKey is Gruntwork's: https://gruntwork.io/.well-known/pgp-key.txt, and the Go module
// github.com/gruntwork-io/terragrunt v1.0.0, KEYS. It does not expire.
//
// 68C8 0F86 DF98 E710 C0F2 2E2E 5777 74AC A847 CC49
//
//go:embed keys/gruntwork.asc
var gruntworkKey string

// Around implements Wrapper.
func (Terragrunt) Around(under Engine, path, cache string) Wrapper {
	return Terragrunt{Engine: under, Path: path, Cache: cache}
}

// PrintsEvents is as the engine below does.
func (t Terragrunt) PrintsEvents(step Step) bool { return t.Engine.PrintsEvents(step) }

// Environment implements Wrapper.
func (t Terragrunt) Environment() []string {
	return []string{"TG_NON_INTERACTIVE=true", "TG_NO_AUTO_RETRY=true", "TG_TF_PATH=" + t.Path, "TG_DOWNLOAD_DIR=" + t.Cache}
}

// Args puts Terragrunt before the arguments of the engine below. It runs only that command: no init of its own, which
// would upgrade nothing but still choose, and above all no retry of a command that failed, since a plan is applied once.
// The output of the engine is passed on as it is; of Terragrunt's own messages only the errors are.
func (t Terragrunt) Args(c Command) []string {
	if apply, ok := c.(Apply); ok {
		apply.Version = "" // it is Terragrunt's own
		c = apply
	}
	return append([]string{
		"run", "--non-interactive", "--no-color", "--no-auto-init", "--no-auto-retry",
		"--log-level=error", "--log-custom-format=%msg(path=relative)", "--tf-forward-stdout",
		"--tf-path=" + t.Path, "--download-dir=" + t.Cache, "--",
	}, t.Engine.Args(c)...)
}
