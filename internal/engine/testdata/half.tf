# before: resource "terraform_data" "a" { input = 1 }
# apply
# beside: other.tfstate={"version":4,"terraform_version":"1.5.7","serial":1,"lineage":"x","outputs":{},"resources":[]}
resource "terraform_data" "a" { input = 2 }
resource "terraform_data" "b" {}
data "terraform_remote_state" "read" {
  backend    = "local"
  config     = { path = "other.tfstate" }
  depends_on = [terraform_data.b]
}
resource "terraform_data" "c" {
  depends_on = [terraform_data.a, data.terraform_remote_state.read]
  provisioner "local-exec" { command = "exit 3" }
}
resource "terraform_data" "d" { depends_on = [terraform_data.c] }
