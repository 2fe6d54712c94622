data "terraform_remote_state" "x" {
  backend = "local"
  config  = { path = "missing.tfstate" }
}
