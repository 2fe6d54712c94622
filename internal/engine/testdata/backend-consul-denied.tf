# answer: GET 403 rpc error making call: rpc error making call: ACL not found
terraform {
  backend "consul" {
    address = "SERVER"
    path    = "states/net"
  }
}
resource "terraform_data" "x" {}
