terraform {
  backend "kubernetes" {
    secret_suffix = "net"
  }
}
resource "terraform_data" "x" {}
