# init: -backend-config=nonsense=1
terraform {
  backend "local" {}
}
