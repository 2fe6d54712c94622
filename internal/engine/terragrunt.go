package engine

import _ "embed"

// Terragrunt is https://terragrunt.gruntwork.io, from version 1.0 on, which creates a root module from a terragrunt.hcl
// and runs another engine on it. All options are flags of `run`, never variables: an older Terragrunt fails on unknown
// flags, but would ignore a variable and, for example, apply the same plan twice.
//
// get_repo_root, and the functions like it, ask git. The tags are one small answer: the list of releases is many pages
// of megabytes, and GitHub answers only sixty requests an hour. Releases are signed since 0.98.0.
var Terragrunt = Engine{
	name: "Terragrunt", program: "terragrunt", version: []string{"--version"},
	Traits: Traits{
		RootFile: "terragrunt.hcl", AsksGit: true, ChecksumsWithoutVersion: true,
		BackendBlock: "remote_state or the backend block", PullState: "terragrunt run -- state pull",
	},
	Release: Release{
		Folder:     "terragrunt",
		Index:      "https://api.github.com/repos/gruntwork-io/terragrunt/git/matching-refs/tags/v",
		Base:       "https://github.com/gruntwork-io/terragrunt/releases/download/v{version}",
		Archive:    "terragrunt_{os}_{arch}",
		Sums:       "SHA256SUMS",
		Signatures: []string{"SHA256SUMS.gpgsig"},
		Key:        gruntworkKey,
	},
	wrap: &wrap{
		// The output of the engine is passed on as it is; of Terragrunt's own messages only the errors are.
		args: func(path, cache string) []string {
			return []string{
				"run", "--non-interactive", "--no-color", "--no-auto-init", "--no-auto-retry",
				"--log-level=error", "--log-custom-format=%msg(path=relative)", "--tf-forward-stdout",
				"--tf-path=" + path, "--download-dir=" + cache, "--",
			}
		},
		env: func(path, cache string) []string {
			return []string{"TG_NON_INTERACTIVE=true", "TG_NO_AUTO_RETRY=true", "TG_TF_PATH=" + path,
				"TG_DOWNLOAD_DIR=" + cache}
		},
	},
}

// gruntworkKey is Gruntwork's: https://gruntwork.io/.well-known/pgp-key.txt, and the Go module
// github.com/gruntwork-io/terragrunt v1.0.0, KEYS. It does not expire.
//
// 68C8 0F86 DF98 E710 C0F2 2E2E 5777 74AC A847 CC49
//
//go:embed keys/gruntwork.asc
var gruntworkKey string
