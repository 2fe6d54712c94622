# answer: GET 503 later
terraform {
  backend "http" {
    address        = "SERVER/state"
    lock_address   = "SERVER/state"
    unlock_address = "SERVER/state"
    retry_max      = 0
  }
}
resource "terraform_data" "x" {}
