# apply
# answer: LOCK 200
# answer: UNLOCK 200
# answer: POST 500 no room
terraform {
  backend "http" {
    address        = "SERVER/state"
    lock_address   = "SERVER/state"
    unlock_address = "SERVER/state"
    retry_max      = 0
  }
}
resource "terraform_data" "x" {}
