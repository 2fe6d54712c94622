package releases

// Terragrunt does for the tests what Terragrunt 1.0.0 does with a folder: it asks git for the root of the repository
// where the source does, copies the source and then the folder into a folder of its cache, and runs the engine there.
// Of a dependency it takes the one mocked output for the one input that names it, as Terragrunt does while the other
// unit has no state.
const Terragrunt = `#!/bin/sh
if [ "$1" = --version ]; then echo terragrunt version v1.0.0; exit; fi
[ "$1" = run ] || exit 64
shift
while [ "$1" != -- ]; do
  case $1 in
  --tf-path=*) engine=${1#*=} ;;
  --download-dir=*) cache=${1#*=} ;;
  --non-interactive|--no-color|--no-auto-init|--no-auto-retry|--tf-forward-stdout|--log-level=error|--log-custom-format=*) ;;
  *) echo "flag provided but not defined: $1" >&2; exit 1 ;;
  esac
  shift
done
shift
if grep -q '^foo' terragrunt.hcl; then
  printf 'Error: Unsupported block type\n  on ./terragrunt.hcl line 1:\n   1: foo {}\nBlocks of type "foo" are not expected here.\n' >&2
  exit 1
fi
source=$(sed -n 's/^ *source *= *"\(.*\)"$/\1/p' terragrunt.hcl)
case $source in
'${get_repo_root()}'*)
  top=$(git rev-parse --show-toplevel) || exit 1
  source=$top${source#*\}}
  ;;
esac
include=$(sed -n 's/^ *path *= *find_in_parent_folders("\(.*\)")$/\1/p' terragrunt.hcl) config=terragrunt.hcl
if [ -n "$include" ]; then
  config=../$include
  until [ -e "$config" ] || [ "$config" = "../../../../../$include" ]; do config=../$config; done
fi
if grep -q '^dependency ' terragrunt.hcl; then
  unit=$(sed -n 's/^ *config_path *= *"\(.*\)"$/\1/p' terragrunt.hcl)
  [ -e "$unit/terragrunt.hcl" ] || { echo "Error: there is no unit $unit" >&2; exit 1; }
  mock=$(sed -n 's/^ *mock_outputs *= *{ *\([a-z_]*\) *= *"\(.*\)" *}$/\1=\2/p' terragrunt.hcl)
  input=$(sed -n "s/^inputs *= *{ *\\([a-z_]*\\) *= *dependency\\.[a-z_]*\\.outputs\\.${mock%%=*} *}\$/\\1/p" terragrunt.hcl)
  [ -n "$input" ] || { echo "Error: no input takes ${mock%%=*} from $unit" >&2; exit 1; }
  export "TF_VAR_$input=${mock#*=}"
fi
backend=$(sed -n 's/^ *backend *= *"\(.*\)"$/\1/p' "$config")
ran=$cache/one/two
mkdir -p "$ran"
[ -z "$source" ] || cp "$source"/* "$ran"
cp ./*.hcl ./*.tf "$ran"
[ ! -e .terraform.lock.hcl ] || cp .terraform.lock.hcl "$ran"
if [ -n "$backend" ] && grep -q '^ *generate' "$config"; then
  printf 'terraform {\n  backend "%s" {}\n}\n' "$backend" >"$ran/backend.tf"
fi
if [ -n "$backend" ] && [ "$1" = init ]; then
  set -- "$@" -backend-config=bucket=states
fi
here=$PWD code=0
if [ "$1" = apply ] && grep -q '^dies' terragrunt.hcl; then
  cd "$ran" && { "$engine" "$@" & } && until [ -e pid ]; do sleep 0.05; done
  kill -9 $$
fi
if [ "$1" != apply ] || ! grep -q '^exclude' terragrunt.hcl; then
  cd "$ran" && "$engine" "$@"
  code=$?
fi
[ "$1" != init ] || [ ! -e .terraform.lock.hcl ] || cp .terraform.lock.hcl "$here"
if [ $code != 0 ] && [ "$1" = apply ] && grep -q '^errors' "$here/terragrunt.hcl"; then exit 0; fi
exit $code
`
