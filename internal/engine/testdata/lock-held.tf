# apply
# answer: LOCK 423 {"ID":"8d4f5661","Operation":"OperationTypeApply","Who":"somebody@else","Version":"1.12.6","Created":"2026-01-02T03:04:05Z","Path":""}
terraform {
  backend "http" {
    address        = "SERVER/state"
    lock_address   = "SERVER/state"
    unlock_address = "SERVER/state"
    retry_max      = 0
  }
}
resource "terraform_data" "x" {}
