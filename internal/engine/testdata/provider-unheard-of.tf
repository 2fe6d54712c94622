# registry
# answer: GET 404 no
terraform {
  required_providers {
    x = { source = "registry.test/a/x" }
  }
}
resource "x_y" "z" {}
