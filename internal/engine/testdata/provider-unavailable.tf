# registry
# answer: GET 400 no
terraform {
  required_providers {
    x = { source = "registry.test/a/x" }
  }
}
resource "x_y" "z" {}
