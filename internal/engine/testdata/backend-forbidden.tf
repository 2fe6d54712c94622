# answer: GET 403 no
terraform {
  backend "http" {
    address        = "SERVER/state"
    lock_address   = "SERVER/state"
    unlock_address = "SERVER/state"
    retry_max      = 0
  }
}
resource "terraform_data" "x" {}
