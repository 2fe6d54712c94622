# apply
# answer: LOCK 502 later
terraform {
  backend "http" {
    address        = "SERVER/state"
    lock_address   = "SERVER/state"
    unlock_address = "SERVER/state"
    retry_max      = 0
  }
}
resource "terraform_data" "x" {}
