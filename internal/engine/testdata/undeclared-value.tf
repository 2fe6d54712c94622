# file: a.tfvars=unknown = 1
resource "terraform_data" "x" {}
